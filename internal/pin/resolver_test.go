package pin_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
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
		if err != nil || !slices.Equal(a.Addrs, addrs("127.0.0.1", "::1")) || len(a.Chain) != 0 {
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
		"negative limit":     {MaxLookups: -1},
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

func TestTooManyLookups(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Script("slow.example.com", dnstest.Any, dnstest.Reply{Silent: true})
	srv.Addrs(host, "192.0.2.1")
	r := newResolver(t, srv, func(o *pin.Options) { o.MaxLookups, o.Timeout = 1, 400*time.Millisecond })
	slow, leave := context.WithCancel(t.Context())
	defer leave()
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = r.Lookup(slow, "slow.example.com") })
	for srv.AskedFor("slow.example.com", dnstest.Any) == 0 {
		runtime.Gosched()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := r.Lookup(ctx, host)
	var dnsErr *pin.DNSError
	if !errors.As(err, &dnsErr) || dnsErr.Kind != pin.KindTimeout || srv.AskedFor(host, dnstest.Any) != 0 {
		t.Errorf("beyond the limit: %v; asked %v", err, srv.Asked())
	}
	leave()
	wg.Wait()
	if _, err := r.Lookup(t.Context(), host); err != nil {
		t.Errorf("after the first has left: %v", err)
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
