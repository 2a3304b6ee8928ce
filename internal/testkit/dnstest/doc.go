// Package dnstest is a DNS server on loopback that says what a test tells it
// to, over UDP and TCP on the same port. It can be slow, silent, wrong,
// truncated, forged, or of another opinion the second time it is asked, and it
// keeps a record of every question.
//
// It has a handler of its own: nothing is registered with the global mux of
// the DNS library. A name that no test scripted does not exist (NXDOMAIN).
//
//	srv := dnstest.New(t)
//	srv.Addrs("www.example.com", "127.1.0.1", "fd00::1")
//	srv.Script("rebind.example.com", dnstest.Any,
//		dnstest.Reply{Addrs: []string{"127.1.0.1"}},
//		dnstest.Reply{Addrs: []string{"127.0.0.1"}},
//	)
//	resolver, err := pin.NewResolver(pin.Options{Servers: []string{srv.Addr()}})
package dnstest
