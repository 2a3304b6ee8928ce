package ipclass_test

import (
	"net/netip"
	"testing"

	"github.com/toolgate/toolgate/internal/ipclass"
)

func table(t testing.TB, extra ...ipclass.Row) *ipclass.Table {
	t.Helper()
	tab, err := ipclass.New(extra...)
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tab := table(t)
	for _, row := range []struct {
		addr string
		want ipclass.Class
		edge string
	}{
		{"0.0.0.0", ipclass.Reserved, "unspecified, which connects to this machine"},
		{"0.255.255.255", ipclass.Reserved, "last of 0/8"},
		{"1.0.0.0", ipclass.Global, "just above 0/8"},
		{"9.255.255.255", ipclass.Global, "just below 10/8"},
		{"10.0.0.0", ipclass.Private, "first of 10/8"},
		{"10.255.255.255", ipclass.Private, "last of 10/8"},
		{"11.0.0.0", ipclass.Global, "just above 10/8"},
		{"100.63.255.255", ipclass.Global, "just below shared space"},
		{"100.64.0.0", ipclass.CGNAT, "first of shared space"},
		{"100.100.100.200", ipclass.Metadata, "metadata inside shared space"},
		{"100.127.255.255", ipclass.CGNAT, "last of shared space"},
		{"100.128.0.0", ipclass.Global, "just above shared space"},
		{"126.255.255.255", ipclass.Global, "just below loopback"},
		{"127.0.0.0", ipclass.Loopback, "first of loopback"},
		{"127.255.255.255", ipclass.Loopback, "last of loopback"},
		{"128.0.0.0", ipclass.Global, "just above loopback"},
		{"168.63.129.15", ipclass.Global, "neighbour of a platform address"},
		{"168.63.129.16", ipclass.Metadata, "a platform address in no registry"},
		{"169.253.255.255", ipclass.Global, "just below link-local"},
		{"169.254.0.0", ipclass.LinkLocal, "first of link-local"},
		{"169.254.169.254", ipclass.Metadata, "metadata inside link-local"},
		{"169.255.0.0", ipclass.Global, "just above link-local"},
		{"172.15.255.255", ipclass.Global, "just below 172.16/12"},
		{"172.16.0.0", ipclass.Private, "first of 172.16/12"},
		{"172.31.255.255", ipclass.Private, "last of 172.16/12"},
		{"172.32.0.0", ipclass.Global, "just above 172.16/12"},
		{"192.0.0.9", ipclass.Reserved, "anycast that the registry calls reachable"},
		{"192.0.0.192", ipclass.Metadata, "metadata inside protocol assignments"},
		{"192.0.1.0", ipclass.Global, "between two blocks"},
		{"192.0.2.1", ipclass.Reserved, "documentation"},
		{"192.88.99.1", ipclass.Reserved, "deprecated relay anycast"},
		{"192.167.255.255", ipclass.Global, "just below 192.168/16"},
		{"192.168.0.1", ipclass.Private, "192.168/16"},
		{"198.17.255.255", ipclass.Global, "just below benchmarking"},
		{"198.18.0.0", ipclass.Reserved, "benchmarking"},
		{"198.20.0.0", ipclass.Global, "just above benchmarking"},
		{"223.255.255.255", ipclass.Global, "just below multicast"},
		{"224.0.0.0", ipclass.Multicast, "first of multicast"},
		{"239.255.255.255", ipclass.Multicast, "last of multicast"},
		{"240.0.0.0", ipclass.Reserved, "class E"},
		{"255.255.255.255", ipclass.Reserved, "broadcast"},

		{"::", ipclass.Reserved, "unspecified"},
		{"::1", ipclass.Loopback, "loopback"},
		{"::2", ipclass.EmbeddedV4, "IPv4-compatible, just above loopback"},
		{"::127.0.0.1", ipclass.EmbeddedV4, "compatible loopback never counts as loopback"},
		{"::169.254.169.254", ipclass.Metadata, "compatible metadata"},
		{"::ffff:127.0.0.1", ipclass.Loopback, "mapped is the IPv4 address itself"},
		{"::ffff:8.8.8.8", ipclass.Global, "mapped public"},
		{"::ffff:10.0.0.1", ipclass.Private, "mapped private"},
		{"::ffff:0:127.0.0.1", ipclass.EmbeddedV4, "translated"},
		{"64:ff9b::808:808", ipclass.Global, "NAT64 around a public address"},
		{"64:ff9b::7f00:1", ipclass.EmbeddedV4, "NAT64 around loopback"},
		{"64:ff9b::a00:1", ipclass.EmbeddedV4, "NAT64 around a private address"},
		{"64:ff9b::a9fe:a9fe", ipclass.Metadata, "NAT64 around metadata"},
		{"64:ff9b:1::808:808", ipclass.EmbeddedV4, "local NAT64 cannot be decoded"},
		{"100::1", ipclass.Reserved, "discard-only"},
		{"100:0:0:1::1", ipclass.Reserved, "dummy prefix"},
		{"200::1", ipclass.Reserved, "overlay network"},
		{"1fff:ffff::1", ipclass.Reserved, "just below 2000::/3"},
		{"2001::1", ipclass.EmbeddedV4, "Teredo"},
		{"2001:0:4136:e378:8000:63bf:5601:5601", ipclass.Metadata, "Teredo with inverted metadata"},
		{"2001:1ff:ffff::1", ipclass.Reserved, "last of protocol assignments"},
		{"2001:200::1", ipclass.Global, "just above protocol assignments"},
		{"2001:db8::1", ipclass.Reserved, "documentation"},
		{"2001:4860:4860::8888", ipclass.Global, "public"},
		{"2001:4860::5efe:a9fe:a9fe", ipclass.Metadata, "ISATAP around metadata"},
		{"2001:4860::200:5efe:a00:1", ipclass.EmbeddedV4, "ISATAP, universal bit set, around a private address"},
		{"2001:4860::5efe:808:808", ipclass.Global, "ISATAP around a public address"},
		{"2002:7f00:1::", ipclass.EmbeddedV4, "6to4 around loopback"},
		{"2002:808:808::1", ipclass.EmbeddedV4, "6to4 around a public address"},
		{"2003::1", ipclass.Global, "just above 6to4"},
		{"3fff:fff:ffff::1", ipclass.Reserved, "last of the newer documentation block"},
		{"3fff:1000::1", ipclass.Global, "just above it"},
		{"4000::1", ipclass.Reserved, "just above 2000::/3"},
		{"5f00::1", ipclass.Reserved, "segment identifiers"},
		{"fc00::1", ipclass.Private, "unique-local"},
		{"fd00:ec2::254", ipclass.Metadata, "metadata inside unique-local"},
		{"fe80::1", ipclass.LinkLocal, "link-local"},
		{"febf::1", ipclass.LinkLocal, "last of link-local"},
		{"fec0::1", ipclass.Private, "site-local"},
		{"ff02::1", ipclass.Multicast, "multicast"},
		{"2606:4700::1%eth0", ipclass.LinkLocal, "a zone binds an address to a link"},
	} {
		if got, r := tab.Lookup(netip.MustParseAddr(row.addr)); got != row.want {
			t.Errorf("%s (%s) = %v by %q, want %v", row.addr, row.edge, got, r.Name, row.want)
		}
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	t.Parallel()
	public := netip.MustParseAddr("8.8.8.8")
	if c, _ := (*ipclass.Table)(nil).Lookup(public); c != ipclass.Reserved {
		t.Errorf("nil table: %v", c)
	}
	if c, _ := new(ipclass.Table).Lookup(public); c != ipclass.Reserved {
		t.Errorf("zero table: %v", c)
	}
	if c, _ := table(t).Lookup(netip.Addr{}); c != ipclass.Reserved {
		t.Errorf("zero address: %v", c)
	}
}

func TestExtraRowsWin(t *testing.T) {
	t.Parallel()
	tab := table(t, ipclass.Row{Prefix: netip.MustParsePrefix("127.1.0.0/16"), Name: "test world", Class: ipclass.Global})
	for addr, want := range map[string]ipclass.Class{
		"127.1.2.3": ipclass.Global, "::ffff:127.1.2.3": ipclass.Global,
		"127.0.0.1": ipclass.Loopback, "127.2.0.0": ipclass.Loopback,
	} {
		if got, _ := tab.Lookup(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s = %v, want %v", addr, got, want)
		}
	}
}

// TestNeverMilderThanNetip walks the whole IPv4 space in steps and compares with the standard library: whatever net/netip knows to be special
// is never Global here.
func TestNeverMilderThanNetip(t *testing.T) {
	t.Parallel()
	tab := table(t)
	for n := uint32(0); n < 1<<24; n += 251 {
		a := netip.AddrFrom4([4]byte{byte(n >> 16), byte(n >> 8), byte(n), 1})
		special := a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified()
		if c, _ := tab.Lookup(a); special && c == ipclass.Global {
			t.Fatalf("%s is Global", a)
		}
	}
}

func TestRowsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]netip.Prefix{
		"no prefix at all":    {},
		"host bits":           netip.MustParsePrefix("255.0.0.0/7"),
		"a mapped IPv4 block": netip.MustParsePrefix("::ffff:127.1.0.0/112"),
		"host bits in IPv6":   netip.MustParsePrefix("2001:db8::1/32"),
	} {
		if _, err := ipclass.New(ipclass.Row{Prefix: p, Class: ipclass.Global}); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func BenchmarkLookup(b *testing.B) {
	tab := table(b)
	for name, text := range map[string]string{
		"public v4": "93.184.216.34", "crowded byte": "192.200.0.1", "public v6": "2606:4700::1111", "nat64": "64:ff9b::808:808",
	} {
		a := netip.MustParseAddr(text)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				tab.Lookup(a)
			}
		})
	}
}
