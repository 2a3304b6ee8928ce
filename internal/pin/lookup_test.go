package pin_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/testkit/dnstest"
)

// manyAddrs returns n addresses.
func manyAddrs(n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf("198.18.%d.%d", i/250, i%250+1))
	}
	return out
}

func TestLookupFinds(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		ask   string // empty: host
		a     dnstest.Reply
		aaaa  dnstest.Reply
		want  []string
		chain []string
	}{
		{name: "one IPv4 address", a: dnstest.Reply{Addrs: []string{"192.0.2.1"}}, want: []string{"192.0.2.1"}},
		{name: "IPv6 only: no IPv4 answer is no error", aaaa: dnstest.Reply{Addrs: []string{"2001:db8::1"}}, want: []string{"2001:db8::1"}},
		{
			name: "both families, internal ones too: judging is not done here",
			a:    dnstest.Reply{Addrs: []string{"192.0.2.1", "10.0.0.1"}}, aaaa: dnstest.Reply{Addrs: []string{"::1"}},
			want: []string{"192.0.2.1", "10.0.0.1", "::1"},
		},
		{
			name: "a mapped address stays as it is written, for the judge to see",
			aaaa: dnstest.Reply{Addrs: []string{"::ffff:127.0.0.1"}}, want: []string{"::ffff:127.0.0.1"},
		},
		{
			name: "IPv6 only behind a truncated answer: asked again over TCP",
			aaaa: dnstest.Reply{Addrs: []string{"2001:db8::1"}, Truncate: true}, want: []string{"2001:db8::1"},
		},
		{
			name: "duplicates are removed",
			a:    dnstest.Reply{Addrs: []string{"192.0.2.1", "192.0.2.1"}}, want: []string{"192.0.2.1"},
		},
		{
			name: "512 addresses are kept, and so all of them are judged",
			a:    dnstest.Reply{Addrs: manyAddrs(511), Truncate: true},
			aaaa: dnstest.Reply{Addrs: []string{"::1"}}, want: append(manyAddrs(511), "::1"),
		},
		{
			name: "a chain is followed inside the answer, and told",
			a:    dnstest.Reply{CNAME: []string{"A.example.net", "b.example.org"}, Addrs: []string{"192.0.2.1"}},
			want: []string{"192.0.2.1"}, chain: []string{"a.example.net", "b.example.org"},
		},
		{
			name: "aliases of either family are told",
			a:    dnstest.Reply{CNAME: []string{"v4.example.net"}, Addrs: []string{"192.0.2.1"}},
			aaaa: dnstest.Reply{CNAME: []string{"v6.example.net"}, NoSOA: false},
			want: []string{"192.0.2.1"}, chain: []string{"v4.example.net", "v6.example.net"},
		},
		{
			name: "a chain of eight is the longest",
			a:    dnstest.Reply{CNAME: aliases(8), Addrs: []string{"192.0.2.1"}},
			want: []string{"192.0.2.1"}, chain: aliases(8),
		},
		{
			name: "records that nobody asked for are not believed",
			a: dnstest.Reply{Addrs: []string{"192.0.2.1"}, Extra: []string{
				"other.example.com. 60 IN A 10.0.0.9",      // of another name
				"www.example.com. 60 IN AAAA fd00::9",      // of another type
				"www.example.com. 60 CH A 10.0.0.9",        // of another class
				"www.example.com. 60 IN TXT \"10.0.0.9\"",  // text
				"stray.example.com. 60 IN CNAME x.example", // an alias of something else
			}},
			want: []string{"192.0.2.1"},
		},
		{
			name: "an address beside an alias is not of the end of the chain",
			a: dnstest.Reply{
				CNAME: []string{"a.example.net"}, Addrs: []string{"192.0.2.1"},
				Extra: []string{"www.example.com. 60 IN A 10.0.0.9"},
			},
			want: []string{"192.0.2.1"}, chain: []string{"a.example.net"},
		},
		{
			name: "the same alias twice is one alias",
			a: dnstest.Reply{
				CNAME: []string{"a.example.net"}, Addrs: []string{"192.0.2.1"},
				Extra: []string{"www.example.com. 60 IN CNAME A.example.net."},
			},
			want: []string{"192.0.2.1"}, chain: []string{"a.example.net"},
		},
		{
			name: "NXDOMAIN for one family only, as broken servers say it", aaaa: dnstest.Reply{Rcode: dns.RcodeNameError},
			a: dnstest.Reply{Addrs: []string{"192.0.2.1"}}, want: []string{"192.0.2.1"},
		},
		{
			name: "half an answer: SERVFAIL for AAAA", aaaa: dnstest.Reply{Rcode: dns.RcodeServerFailure},
			a: dnstest.Reply{Addrs: []string{"192.0.2.1"}}, want: []string{"192.0.2.1"},
		},
		{
			name: "half an answer: A is dropped", a: dnstest.Reply{Silent: true},
			aaaa: dnstest.Reply{Addrs: []string{"2001:db8::1"}}, want: []string{"2001:db8::1"},
		},
		{
			name: "forged answers before the right one are passed over",
			a:    dnstest.Reply{Addrs: []string{"192.0.2.1"}, ForgeFirst: 3}, want: []string{"192.0.2.1"},
		},
		{
			name: "a flood of forged answers: asked again over TCP",
			a:    dnstest.Reply{Addrs: []string{"192.0.2.1"}, ForgeFirst: 8}, want: []string{"192.0.2.1"},
		},
		{
			name: "a server that does not know EDNS", a: dnstest.Reply{Addrs: []string{"192.0.2.1"}, RefuseEDNS: true},
			aaaa: dnstest.Reply{RefuseEDNS: true}, want: []string{"192.0.2.1"},
		},
		{
			name: "case and final dot do not change a name", ask: "WWW.example.COM.",
			a: dnstest.Reply{Addrs: []string{"192.0.2.1"}}, want: []string{"192.0.2.1"},
		},
		{
			name: "HTTPS records are not asked for",
			a:    dnstest.Reply{Addrs: []string{"192.0.2.1"}, Hints: &dnstest.Hints{IPv4: []string{"10.0.0.1"}, Port: 22}},
			want: []string{"192.0.2.1"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := dnstest.New(t)
			row.a.TTL, row.aaaa.TTL = 60, 60
			srv.Script(host, dnstest.A, row.a)
			srv.Script(host, dnstest.AAAA, row.aaaa)
			name := row.ask
			if name == "" {
				name = host
			}
			a, err := newResolver(t, srv, nil).Lookup(t.Context(), name)
			if err != nil {
				t.Fatalf("%v; asked %v", err, srv.Asked())
			}
			if !slices.Equal(a.Addrs, addrs(row.want...)) { // IPv4 first, whichever answer came first
				t.Errorf("addresses %v, want %v; asked %v", a.Addrs, row.want, srv.Asked())
			}
			slices.Sort(a.Chain)
			if !slices.Equal(a.Chain, row.chain) {
				t.Errorf("chain %q, want %q", a.Chain, row.chain)
			}
			for _, q := range srv.Asked() {
				if q.Name != host+"." || q.Type != dnstest.A && q.Type != dnstest.AAAA {
					t.Errorf("asked %v: only A and AAAA of the lower-case, fully qualified name may be", q)
				}
			}
		})
	}
}

// aliases returns a chain of n names.
func aliases(n int) []string {
	out := make([]string, 0, n)
	for i := range n {
		out = append(out, fmt.Sprintf("alias%d.example.net", i))
	}
	return out
}

func TestLookupFails(t *testing.T) {
	t.Parallel()
	found := dnstest.Reply{Addrs: []string{"192.0.2.1"}, TTL: 60}
	for _, row := range []struct {
		name    string
		a, aaaa dnstest.Reply
		kind    pin.Kind
		chain   []string
	}{
		{name: "no such name", a: dnstest.Reply{Rcode: dns.RcodeNameError}, aaaa: dnstest.Reply{Rcode: dns.RcodeNameError}, kind: pin.KindNXDomain},
		{name: "a name without addresses", kind: pin.KindNoData},
		{name: "SERVFAIL", a: dnstest.Reply{Rcode: dns.RcodeServerFailure}, aaaa: dnstest.Reply{Rcode: dns.RcodeServerFailure}, kind: pin.KindServFail},
		{
			name: "SERVFAIL and NXDOMAIN: nobody knows that the name does not exist",
			a:    dnstest.Reply{Rcode: dns.RcodeServerFailure}, aaaa: dnstest.Reply{Rcode: dns.RcodeNameError}, kind: pin.KindServFail,
		},
		{name: "NODATA and silence", aaaa: dnstest.Reply{Silent: true}, kind: pin.KindTimeout},
		{name: "REFUSED", a: dnstest.Reply{Rcode: dns.RcodeRefused}, aaaa: dnstest.Reply{Rcode: dns.RcodeRefused}, kind: pin.KindRefused},
		{name: "a code that nobody knows", a: dnstest.Reply{Rcode: 14}, aaaa: dnstest.Reply{Rcode: 14}, kind: pin.KindServFail},
		{name: "silence", a: dnstest.Reply{Silent: true}, aaaa: dnstest.Reply{Silent: true}, kind: pin.KindTimeout},
		{
			name: "an answer that comes too late",
			a:    dnstest.Reply{Addrs: found.Addrs, Delay: time.Second}, aaaa: dnstest.Reply{Silent: true}, kind: pin.KindTimeout,
		},
		{name: "an answer with another id", a: dnstest.Reply{Addrs: found.Addrs, WrongID: true}, kind: pin.KindTimeout},
		{name: "an answer about another name", a: dnstest.Reply{Addrs: found.Addrs, WrongQuestion: true}, kind: pin.KindTimeout},
		{name: "a question instead of an answer", a: dnstest.Reply{Addrs: found.Addrs, NoResponseBit: true}, kind: pin.KindTimeout},
		{
			name: "an answer that cannot be read refuses the good half too",
			a:    found, aaaa: dnstest.Reply{Raw: []byte{0x84, 0, 0, 1, 0, 9, 0, 0, 0, 0, 3, 'w', 'w', 'w', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 3, 'c', 'o', 'm', 0, 0, 28, 0, 1, 0xc0}}, kind: pin.KindMalformed,
		},
		{name: "an alias of itself", a: dnstest.Reply{CNAME: []string{host}}, kind: pin.KindLoop},
		{name: "two aliases in a circle", a: dnstest.Reply{CNAME: []string{"a.example.net", host}}, kind: pin.KindLoop},
		{name: "a circle further down", a: dnstest.Reply{CNAME: []string{"a.example.net", "b.example.net", "a.example.net"}}, kind: pin.KindLoop},
		{name: "a circle in one half refuses the good half too", a: found, aaaa: dnstest.Reply{CNAME: []string{host}}, kind: pin.KindLoop},
		{name: "nine aliases", a: dnstest.Reply{CNAME: aliases(9), Addrs: found.Addrs}, kind: pin.KindLoop},
		{
			name: "an alias of two names",
			a:    dnstest.Reply{CNAME: []string{"a.example.net"}, Addrs: found.Addrs, Extra: []string{host + ". 60 IN CNAME b.example.net."}},
			kind: pin.KindMalformed,
		},
		{name: "an alias of an address", a: dnstest.Reply{CNAME: []string{"127.0.0.1"}, Addrs: found.Addrs}, kind: pin.KindMalformed},
		{name: "more addresses than can be judged", a: dnstest.Reply{Addrs: manyAddrs(513), Truncate: true}, kind: pin.KindMalformed},
		{name: "an alias of the root", a: dnstest.Reply{CNAME: []string{"."}, Addrs: found.Addrs}, kind: pin.KindMalformed},
		{name: "an alias with an escaped dot", a: dnstest.Reply{CNAME: []string{`a\.b.example.net`}, Addrs: found.Addrs}, kind: pin.KindMalformed},
		{
			name: "an alias of a name that does not exist: the judge can see it",
			a:    dnstest.Reply{CNAME: []string{"gone.internal"}, Rcode: dns.RcodeNameError},
			aaaa: dnstest.Reply{CNAME: []string{"gone.internal"}, Rcode: dns.RcodeNameError},
			kind: pin.KindNXDomain, chain: []string{"gone.internal"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := dnstest.New(t)
			srv.Script(host, dnstest.A, row.a)
			srv.Script(host, dnstest.AAAA, row.aaaa)
			r := newResolver(t, srv, func(o *pin.Options) { o.Timeout = 400 * time.Millisecond })
			a, err := r.Lookup(t.Context(), host)
			var dnsErr *pin.DNSError
			if !errors.As(err, &dnsErr) {
				t.Fatalf("got %v, %v; want a DNSError", a, err)
			}
			if dnsErr.Kind != row.kind || dnsErr.Host != host || pin.ReasonOf(err) != decision.DNSFailed {
				t.Errorf("%v: kind %q of %q with reason %s, want %q", err, dnsErr.Kind, dnsErr.Host, pin.ReasonOf(err), row.kind)
			}
			if row.chain != nil && !slices.Equal(dnsErr.Chain, row.chain) {
				t.Errorf("chain %q, want %q", dnsErr.Chain, row.chain)
			}
			if dnsErr.Timeout() != (row.kind == pin.KindTimeout) || len(a.Addrs) != 0 || r.Pins() != 0 {
				t.Errorf("timeout %t, addresses %v, %d pins", dnsErr.Timeout(), a.Addrs, r.Pins())
			}
		})
	}
}

func TestCutChainsAreFollowed(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Script(host, dnstest.Any, dnstest.Reply{CNAME: []string{"a.example.net"}, CutChain: true, TTL: 60})
	srv.Script("a.example.net", dnstest.Any, dnstest.Reply{CNAME: []string{"b.example.net"}, CutChain: true, TTL: 5})
	srv.Addrs("b.example.net", "192.0.2.1")
	now := time.Unix(1000, 0)
	r := newResolver(t, srv, func(o *pin.Options) { o.Now = func() time.Time { return now } })
	a, err := r.Lookup(t.Context(), host)
	if err != nil || !slices.Equal(a.Addrs, addrs("192.0.2.1")) || !slices.Equal(a.Chain, []string{"a.example.net", "b.example.net"}) {
		t.Errorf("got %v, %v", a, err)
	}
	if want := now.Add(5 * time.Second); !a.Expires.Equal(want) {
		t.Errorf("expires %v, want the least TTL of the chain: %v", a.Expires, want)
	}

	srv.Script("b.example.net", dnstest.Any, dnstest.Reply{CNAME: []string{host}, CutChain: true})
	now = now.Add(time.Hour)
	_, err = r.Lookup(t.Context(), host)
	var dnsErr *pin.DNSError
	if !errors.As(err, &dnsErr) || dnsErr.Kind != pin.KindLoop {
		t.Errorf("a circle over three answers: %v", err)
	}
}
