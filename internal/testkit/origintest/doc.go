// Package origintest is the far side of the egress proxy in tests: HTTP and
// HTTPS origins on loopback that record what they saw, and traps that fail the
// test when anything connects to them.
//
// # The test world
//
// Tests use no network but loopback, and toolgate refuses loopback. So a test
// presents a part of it as public: it builds the address classes with one row
// more, and lets its own DNS server (package dnstest) answer with addresses of
// that range:
//
//	table, err := ipclass.New(ipclass.Row{
//		Prefix: netip.MustParsePrefix("127.1.0.0/16"), Class: ipclass.Global,
//	})
//	dns := dnstest.New(t)
//	dns.Addrs("www.example.com", "127.1.0.1")              // a public host
//	dns.Addrs("evil.example.com", "127.0.0.1")             // a name that points inside
//	origin := origintest.New(t, origintest.Options{Addr: "127.1.0.1"})
//	origintest.Trap(t, "127.0.0.1:0")                      // must never be reached
//
// The row can be given by Go code only. Nothing in a configuration file, the
// API or the environment reaches it, so the product cannot be talked into the
// test world. All other loopback addresses keep their class and are refused.
//
// Linux answers on all of 127.0.0.0/8 without set-up; other systems need the
// addresses added to their loopback interface.
package origintest
