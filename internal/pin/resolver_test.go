package pin_test

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/testkit/dnstest"
)

// newResolver returns a resolver that asks srv only.
func newResolver(tb testing.TB, srv *dnstest.Server, set func(*pin.Options)) *pin.Resolver {
	tb.Helper()
	o := pin.Options{Servers: []string{srv.Addr()}, Timeout: 2 * time.Second}
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
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

func sorted(in []netip.Addr) []netip.Addr {
	out := slices.Clone(in)
	slices.SortFunc(out, netip.Addr.Compare)
	return out
}

func TestLookupSmoke(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Addrs("www.example.com", "127.1.0.1", "2001:db8::1")
	a, err := newResolver(t, srv, nil).Lookup(t.Context(), "www.example.com")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sorted(a.Addrs), addrs("127.1.0.1", "2001:db8::1")) {
		t.Errorf("addresses %v, asked %v", a.Addrs, srv.Asked())
	}
}
