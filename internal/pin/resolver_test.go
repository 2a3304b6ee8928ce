package pin_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/testkit/dnstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const host = "www.example.com"

// newResolver returns a resolver that asks srv only.
func newResolver(tb testing.TB, srv *dnstest.Server, set func(*pin.Options)) *pin.Resolver {
	tb.Helper()
	o := pin.Options{Servers: []string{srv.Addr()}}
	if set != nil {
		set(&o)
	}
	r, err := pin.NewResolver(o)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func addrs(texts ...string) []netip.Addr {
	out := make([]netip.Addr, 0, len(texts))
	for _, text := range texts {
		out = append(out, netip.MustParseAddr(text))
	}
	return out
}

// sameSet compares without regard to order: the halves arrive as they come.
func sameSet(a, b []netip.Addr) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, netip.Addr.Compare)
	slices.SortFunc(b, netip.Addr.Compare)
	return slices.Equal(a, b)
}

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
		{name: "64 addresses are kept", a: dnstest.Reply{Addrs: manyAddrs(64)}, want: manyAddrs(64)},
		{name: "the 65th is dropped", a: dnstest.Reply{Addrs: manyAddrs(65)}, want: manyAddrs(64)},
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
			if !sameSet(a.Addrs, addrs(row.want...)) {
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

func TestNamesThatNoServerIsAskedFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", ".", "a..b", ".example.com", "127.0.0.1", "2130706433", "0x7f.1", "0x7f000001", "example.0x10", "1.2.3.04",
		"::1", "[::1]", "a b.example", "ex%61mple.com", `a\.b.com`, "bücher.example", "a/b.com", "user@example.com",
		"example.com..", strings.Repeat("a", 64) + ".com", strings.Repeat("a.", 127) + "com", "example.com\x00", "example.com:80",
	} {
		t.Run(fmt.Sprintf("%.40q", name), func(t *testing.T) {
			t.Parallel()
			srv := dnstest.New(t)
			_, err := newResolver(t, srv, nil).Lookup(t.Context(), name)
			var dnsErr *pin.DNSError
			if !errors.As(err, &dnsErr) || dnsErr.Kind != pin.KindName {
				t.Errorf("got %v, want kind %q", err, pin.KindName)
			}
			if asked := srv.Asked(); len(asked) != 0 {
				t.Errorf("asked %v", asked)
			}
		})
	}
}

func TestLocalhostIsAnsweredHere(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	for _, name := range []string{"localhost", "localhost.", "app.localhost", "A.B.LocalHost"} {
		srv.Addrs(name, "10.0.0.7") // a poisoned localhost
		a, err := newResolver(t, srv, nil).Lookup(t.Context(), name)
		if err != nil || !sameSet(a.Addrs, addrs("127.0.0.1", "::1")) || len(a.Chain) != 0 {
			t.Errorf("%s: %v, %v", name, a, err)
		}
	}
	if asked := srv.Asked(); len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
}

func TestStaticHosts(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Addrs("artifacts.corp.example", "192.0.2.66")
	r := newResolver(t, srv, func(o *pin.Options) {
		o.Hosts = map[string][]netip.Addr{"Artifacts.corp.example.": addrs("10.1.2.3", "10.1.2.3")}
	})
	a, err := r.Lookup(t.Context(), "artifacts.corp.example")
	if err != nil || !slices.Equal(a.Addrs, addrs("10.1.2.3")) || !a.Expires.After(time.Now()) {
		t.Errorf("got %v, %v", a, err)
	}
	if asked := srv.Asked(); len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
}

// refusal is an error with a reason, as a judge gives it.
type refusal struct{ decision.Reason }

func (r refusal) Error() string                   { return r.String() }
func (r refusal) DecisionReason() decision.Reason { return r.Reason }

func TestRefusedNamesAreNotAskedFor(t *testing.T) {
	t.Parallel()
	refuse := func(o *pin.Options) {
		o.Names = func(name string) error {
			if strings.HasSuffix(name, ".internal") {
				return refusal{decision.URLMetadata}
			}
			return nil
		}
	}
	check := func(t *testing.T, err error, kind pin.Kind, reason decision.Reason) {
		t.Helper()
		var dnsErr *pin.DNSError
		if !errors.As(err, &dnsErr) || dnsErr.Kind != kind || pin.ReasonOf(err) != reason {
			t.Errorf("got %v with reason %s, want kind %q and %s", err, pin.ReasonOf(err), kind, reason)
		}
	}
	t.Run("the name itself", func(t *testing.T) {
		t.Parallel()
		srv := dnstest.New(t)
		_, err := newResolver(t, srv, refuse).Lookup(t.Context(), "Secret.Internal")
		check(t, err, pin.KindName, decision.URLMetadata)
		if asked := srv.Asked(); len(asked) != 0 {
			t.Errorf("asked %v", asked)
		}
	})
	t.Run("an alias that the server did not follow", func(t *testing.T) {
		t.Parallel()
		srv := dnstest.New(t)
		srv.Script(host, dnstest.Any, dnstest.Reply{CNAME: []string{"metadata.internal"}, CutChain: true, NoSOA: true})
		_, err := newResolver(t, srv, refuse).Lookup(t.Context(), host)
		check(t, err, pin.KindName, decision.URLMetadata)
		var dnsErr *pin.DNSError
		if errors.As(err, &dnsErr) && !slices.Equal(dnsErr.Chain, []string{"metadata.internal"}) {
			t.Errorf("chain %q", dnsErr.Chain)
		}
		if srv.AskedFor("metadata.internal", dnstest.Any) != 0 {
			t.Errorf("asked %v", srv.Asked())
		}
	})
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

func TestNextServerIsAsked(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		first dnstest.Reply
		ok    bool
	}{
		{"when the first is silent", dnstest.Reply{Silent: true}, true},
		{"when the first fails", dnstest.Reply{Rcode: dns.RcodeServerFailure}, true},
		{"when the first refuses", dnstest.Reply{Rcode: dns.RcodeRefused}, true},
		{"but not when the first says that the name does not exist", dnstest.Reply{Rcode: dns.RcodeNameError}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			first, second := dnstest.New(t), dnstest.New(t)
			first.Script(host, dnstest.Any, row.first)
			second.Addrs(host, "192.0.2.1")
			r := newResolver(t, first, func(o *pin.Options) {
				o.Servers = append(o.Servers, second.Addr())
				o.Timeout = time.Second
			})
			_, err := r.Lookup(t.Context(), host)
			if (err == nil) != row.ok {
				t.Errorf("got %v; second server was asked %v", err, second.Asked())
			}
		})
	}
	t.Run("when nobody listens at the first", func(t *testing.T) {
		t.Parallel()
		srv := dnstest.New(t)
		srv.Addrs(host, "192.0.2.1")
		r := newResolver(t, srv, func(o *pin.Options) { o.Servers = []string{"127.0.0.1:1", srv.Addr()} })
		if _, err := r.Lookup(t.Context(), host); err != nil {
			t.Error(err)
		}
		r = newResolver(t, srv, func(o *pin.Options) { o.Servers = []string{"127.0.0.1:1"} })
		_, err := r.Lookup(t.Context(), host)
		var dnsErr *pin.DNSError
		if !errors.As(err, &dnsErr) || dnsErr.Kind != pin.KindNetwork {
			t.Errorf("got %v, want kind network", err)
		}
	})
}

func TestResolvConf(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	file := filepath.Join(t.TempDir(), "resolv.conf")
	text := "# nameserver 192.0.2.1\nsearch corp.example\noptions ndots:5\nnameserver not-an-address\nnameserver 127.0.0.53\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name    string
		servers []string
		file    string
		want    []string
		err     string
	}{
		{name: "nameserver lines only", file: file, want: []string{"127.0.0.53:53"}},
		{name: "system beside an address", servers: []string{srv.Addr(), "system"}, file: file, want: []string{srv.Addr(), "127.0.0.53:53"}},
		{name: "one twice", servers: []string{srv.Addr(), srv.Addr()}, want: []string{srv.Addr()}},
		{name: "no file means this machine, as for the C library", file: file + ".none", want: []string{"127.0.0.1:53"}},
		{name: "a folder is an error", file: filepath.Dir(file), err: "system resolver"},
		{name: "a name is no server", servers: []string{"dns.example:53"}, err: "IP:port"},
		{name: "no port", servers: []string{"192.0.2.1"}, err: "IP:port"},
		{name: "port zero", servers: []string{"192.0.2.1:0"}, err: "IP:port"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			r, err := pin.NewResolver(pin.Options{Servers: row.servers, ResolvConf: row.file})
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("got %v, want an error with %q", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := pin.Servers(r); !slices.Equal(got, row.want) {
				t.Errorf("servers %q, want %q", got, row.want)
			}
		})
	}
}

func TestResolverOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]pin.Options{
		"negative time":      {Timeout: -1},
		"negative size":      {MaxPins: -1},
		"host is no name":    {Hosts: map[string][]netip.Addr{"a b": addrs("192.0.2.1")}},
		"host is localhost":  {Hosts: map[string][]netip.Addr{"x.localhost": addrs("192.0.2.1")}},
		"host without any":   {Hosts: map[string][]netip.Addr{"a.example": nil}},
		"host given twice":   {Hosts: map[string][]netip.Addr{"a.example": addrs("192.0.2.1"), "A.example.": addrs("192.0.2.1")}},
		"address with zone":  {Hosts: map[string][]netip.Addr{"a.example": addrs("fe80::1%eth0")}},
		"address of nothing": {Hosts: map[string][]netip.Addr{"a.example": {netip.Addr{}}}},
	} {
		o.Servers = []string{"192.0.2.1:53"}
		if _, err := pin.NewResolver(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// counter is an Observer.
type counter struct {
	mu      sync.Mutex
	queries map[string]int
	pins    int
}

func (c *counter) DNSQuery(qtype, result string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queries == nil {
		c.queries = map[string]int{}
	}
	c.queries[qtype+" "+result]++
}

func (c *counter) DNSPins(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pins = n
}

func TestObserver(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Addrs(host, "192.0.2.1")
	c := &counter{}
	r := newResolver(t, srv, func(o *pin.Options) { o.Observer = c })
	for _, name := range []string{host, host, "none.example.com"} {
		_, _ = r.Lookup(t.Context(), name)
	}
	for k, want := range map[string]int{"A ok": 1, "AAAA ok": 1, "A nxdomain": 1, "AAAA nxdomain": 1} {
		if c.queries[k] != want {
			t.Errorf("%s: %d, want %d", k, c.queries[k], want)
		}
	}
	if len(c.queries) != 4 || c.pins != 1 {
		t.Errorf("counted %v and %d pins", c.queries, c.pins)
	}
	for k := range c.queries {
		if _, result, _ := strings.Cut(k, " "); !slices.Contains(pin.Results(), result) {
			t.Errorf("result %q is not in the closed list", result)
		}
	}
}

func TestCallerGoesAway(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Script(host, dnstest.Any, dnstest.Reply{Silent: true})
	r := newResolver(t, srv, nil)
	for _, row := range []struct {
		name string
		ctx  func() (context.Context, context.CancelFunc)
		kind pin.Kind
	}{
		{"cancelled", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx, cancel
		}, pin.KindCanceled},
		{"deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 20*time.Millisecond)
		}, pin.KindTimeout},
	} {
		ctx, cancel := row.ctx()
		_, err := r.Lookup(ctx, host)
		cancel()
		var dnsErr *pin.DNSError
		if !errors.As(err, &dnsErr) || dnsErr.Kind != row.kind || dnsErr.Host != host {
			t.Errorf("%s: %v, want kind %q", row.name, err, row.kind)
		}
	}
}
