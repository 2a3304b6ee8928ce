package urlguard_test

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// guard returns a guard with the default ports.
func guard(t testing.TB, r urlguard.Rules) *urlguard.Guard {
	t.Helper()
	table, err := ipclass.New()
	if err != nil {
		t.Fatal(err)
	}
	if r.Ports == nil {
		r.Ports = []uint16{80, 443, 8080, 8443}
	}
	g, err := urlguard.New(r, table)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// reason is what the guard says of a URL before any name is looked up.
func reason(g *urlguard.Guard, c urlguard.Caller, raw string) decision.Reason {
	e, f := urlguard.ParseURL(raw)
	if !f.OK() {
		return g.Fault(f).Reason
	}
	return g.Before(c, e).Reason
}

func fetch() urlguard.Caller { return urlguard.Caller{Agent: "a", Tool: "fetch_url", Proven: true} }

func browser() urlguard.Caller {
	return urlguard.Caller{Agent: "a", Tool: "browser_open", Browser: true, Proven: true}
}

// urlTable is how each spelling is judged for a fetch tool: the seeds of the
// fuzzer too.
var urlTable = []struct {
	url  string
	want decision.Reason
	edge string
}{
	{"http://example.com/", decision.URLOK, "plain"},
	{"https://EXAMPLE.com./x", decision.URLOK, "case and one final dot are only spelling"},
	{"http://example.com", decision.URLOK, "no path"},
	{"http://example.com?q=1", decision.URLOK, "query right after the host"},
	{"https://example.com/docs#section", decision.URLOK, "an ordinary fragment"},
	{"https://example.com:8443/x", decision.URLOK, "a permitted port"},
	{"https://example.com/http://127.0.0.1/", decision.URLOK, "an address in the path is data"},
	{"https://example.com/?u=http://u@127.0.0.1/", decision.URLOK, "an address in the query is data"},
	{"https://127.0.0.1.example.com/", decision.URLOK, "numbers in front of a name"},
	{"https://localhost.example.com/", decision.URLOK, "localhost as an ordinary label"},
	{"https://internal.example.com/", decision.URLOK, "internal as an ordinary label"},
	{"https://notmetadata.goog.example/", decision.URLOK, "metadata name inside another"},
	{"https://mymetadata.goog/", decision.URLOK, "a longer label than the metadata name"},
	{"https://my_bucket.s3.amazonaws.com/k", decision.URLOK, "underscore"},
	{"https://r3---sn-x.example.com/", decision.URLOK, "hyphens in the third and fourth place"},
	{"https://xn--mnchen-3ya.de/", decision.URLOK, "an A-label"},
	{"https://münchen.de/", decision.URLOK, "the same name as people write it"},
	{"https://MÜNCHEN.de/", decision.URLOK, "and in capitals"},
	{"https://例え.テスト.jp/", decision.URLOK, "another script"},
	{"https://1e100.net/", decision.URLOK, "a digit in front"},
	{"https://fd00.example.com/", decision.URLOK, "a label that looks hexadecimal"},
	{"wss://example.com/socket", decision.URLOK, "websocket"},
	{"HTTP://example.com/", decision.URLOK, "the scheme in capitals"},
	{"https://1.1.1.1/", decision.URLOK, "a public literal"},
	{"https://[2606:4700:4700:0:0:0:0:1111]/", decision.URLOK, "a public literal, written out"},
	{"https://[::ffff:1.1.1.1]/", decision.URLOK, "mapped public"},

	{"http://127.0.0.1/", decision.URLLoopback, "loopback"},
	{"http://127.0.0.1:22/", decision.URLLoopback, "the address speaks before the port"},
	{"http://[::1]/", decision.URLLoopback, "IPv6 loopback"},
	{"http://[::ffff:127.0.0.1]/", decision.URLLoopback, "mapped loopback"},
	{"http://[::ffff:7f00:1]/", decision.URLLoopback, "mapped loopback in hexadecimal"},
	{"http://localhost/", decision.URLLoopback, "by name"},
	{"http://LocalHost./", decision.URLLoopback, "by name, another spelling"},
	{"http://a.b.localhost/", decision.URLLoopback, "below localhost"},
	{"http://localhost.localdomain/", decision.URLLoopback, "a hosts-file name"},
	{"http://2130706433/", decision.URLLoopback, "decimal"},
	{"http://0x7f.1/", decision.URLLoopback, "hexadecimal, short"},
	{"http://0x7f000001/", decision.URLLoopback, "hexadecimal"},
	{"http://0177.0.0.1/", decision.URLLoopback, "octal"},
	{"http://017700000001/", decision.URLLoopback, "octal, one number"},
	{"http://127.1/", decision.URLLoopback, "short"},
	{"http://127.0.0.1./", decision.URLLoopback, "final dot"},
	{"http://①②⑦.⓪.⓪.①/", decision.URLLoopback, "circled digits"},
	{"http://１２７．０．０．１/", decision.URLLoopback, "full-width digits and dots"},
	{"http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", decision.URLLoopback, "circled letters"},
	{"http://local\u00adhost/", decision.URLLoopback, "a soft hyphen is dropped"},
	{"http://local\u200bhost/", decision.URLLoopback, "a zero-width space"},
	{"http://127%2e0%2e0%2e1/", decision.URLLoopback, "percent-escapes"},
	{"http://%6c%6f%63%61%6c%68%6f%73%74/", decision.URLLoopback, "percent-escaped localhost"},
	{"http://[::1%25lo]/", decision.URLLoopback, "a zone"},
	{"http://[127.0.0.1]/", decision.URLLoopback, "brackets around IPv4"},
	{"http://::1/", decision.URLLoopback, "IPv6 without brackets"},
	{"http://0/", decision.URLReserved, "zero"},
	{"http://0.0.0.0/", decision.URLReserved, "unspecified"},
	{"http://[::]/", decision.URLReserved, "unspecified, IPv6"},
	{"http://10.0.0.1/", decision.URLPrivate, "private"},
	{"http://192.168.010.1/", decision.URLPrivate, "an octal part"},
	{"http://169.254.1.1/", decision.URLLinkLocal, "link-local"},
	{"http://169.254.169.254/", decision.URLMetadata, "metadata"},
	{"http://2852039166/", decision.URLMetadata, "metadata in decimal"},
	{"http://169.254.43518/", decision.URLMetadata, "metadata in three parts"},
	{"http://0251.0376.0251.0376/", decision.URLMetadata, "metadata in octal"},
	{"http://metadata.google.internal/", decision.URLMetadata, "metadata by name"},
	{"http://METADATA.google.INTERNAL./", decision.URLMetadata, "another spelling"},
	{"http://foo.metadata.google.internal/", decision.URLMetadata, "below the name"},
	{"http://metadata.google.internal。/", decision.URLMetadata, "an ideographic dot"},
	{"http://metadata/", decision.URLMetadata, "the short name"},
	{"http://100.64.0.1/", decision.URLCGNAT, "shared space"},
	{"http://224.0.0.1/", decision.URLMulticast, "multicast"},
	{"http://240.0.0.1/", decision.URLReserved, "class E"},
	{"http://[64:ff9b::7f00:1]/", decision.URLEmbeddedV4, "NAT64 around loopback"},
	{"http://[2002:7f00:1::]/", decision.URLEmbeddedV4, "6to4 around loopback"},
	{"http://[fe80::1%25eth0]/", decision.URLLinkLocal, "link-local with a zone"},
	{"http://db.corp.internal/", decision.URLInternal, "private-use domain"},
	{"http://printer.local/", decision.URLInternal, "multicast DNS"},
	{"http://intranet/", decision.URLInternal, "one label"},
	{"http://kubernetes.default.svc/", decision.URLInternal, "cluster name"},
	{"http://host.docker.internal/", decision.URLInternal, "gateway name"},
	{"http://abc.onion/", decision.URLInternal, "must not reach DNS"},
	{"http://1.0.0.127.in-addr.arpa/", decision.URLInternal, "reverse tree"},

	{"http://0x08080808/", decision.HostInvalid, "a public address in hexadecimal"},
	{"http://010.8.8.8/", decision.HostInvalid, "an octal part of a public address"},
	{"http://256.256.256.256/", decision.HostInvalid, "no address, yet all numbers"},
	{"http://1.2.3.4.5/", decision.HostInvalid, "five numbers"},
	{"http://example.0x1/", decision.HostInvalid, "ends in a number"},
	{"http://ｅｘａｍｐｌｅ.com/", decision.HostInvalid, "full-width letters"},
	{"http://exam\u00adple.com/", decision.HostInvalid, "a soft hyphen in a public name"},
	{"http://example。com/", decision.HostInvalid, "an ideographic dot in a public name"},
	{"http://example.com../", decision.HostInvalid, "an empty label"},
	{"http://.example.com/", decision.HostInvalid, "an empty label in front"},
	{"http://./", decision.HostInvalid, "only a dot"},
	{"http://xn--/", decision.HostInvalid, "an empty A-label"},
	{"http://xn--a-ecp.ru\u202e/", decision.HostInvalid, "bidi control"},
	{"http://exa%6dple.com/", decision.HostInvalid, "a percent-escape in a public name"},
	{"http://example.com%40127.0.0.1/", decision.HostInvalid, "an escaped at-sign"},
	{"http://[[::1]]/", decision.HostInvalid, "double brackets"},
	{"http://[v1.fe80]/", decision.HostInvalid, "a future version"},
	{"http://[::1/", decision.HostInvalid, "no closing bracket"},
	{"http://[example.com]/", decision.HostInvalid, "brackets around a name"},
	{"http://[::1]x/", decision.HostInvalid, "text behind the bracket"},
	{"http://127.0.0.1:80:8080/", decision.HostInvalid, "two ports"},
	{"http:///127.0.0.1/", decision.HostInvalid, "no host"},
	{"http://:80/", decision.HostInvalid, "only a port"},
	{"http://" + strings.Repeat("a", 64) + ".com/", decision.HostInvalid, "a label of 64"},
	{"http://" + strings.Repeat("a.", 127) + "com/", decision.HostInvalid, "a name over 253"},

	{"http:/127.0.0.1/", decision.URLInvalid, "one slash"},
	{"http:127.0.0.1", decision.URLInvalid, "no slash"},
	{"example.com", decision.URLInvalid, "no scheme"},
	{"//example.com/", decision.URLInvalid, "no scheme, two slashes"},
	{"", decision.URLInvalid, "empty"},
	{" http://example.com/", decision.URLInvalid, "a space in front"},
	{"http://exa mple.com/", decision.URLInvalid, "a space in the host"},
	{"http://exam\nple.com/", decision.URLInvalid, "a line break that some parsers delete"},
	{"http://exam\tple.com/", decision.URLInvalid, "a tab that some parsers delete"},
	{"http://example.com\x00.allowed.com/", decision.URLInvalid, "NUL"},
	{"http://example.com\\@127.0.0.1/", decision.URLUserinfo, "a backslash, then an at-sign"},
	{"http://127.0.0.1\\.example.com/", decision.URLInvalid, "a backslash that some read as a slash"},
	{"http://example.com#@127.0.0.1/", decision.URLInvalid, "an at-sign right behind #"},
	{"http://127.0.0.1?@example.com/", decision.URLInvalid, "an at-sign right behind ?"},
	{"http://\xff.com/", decision.URLInvalid, "not UTF-8"},
	{"http://example.com@127.0.0.1/", decision.URLUserinfo, "a decoy in front"},
	{"http://a@b@127.0.0.1/", decision.URLUserinfo, "two at-signs"},
	{"http://user:pw@example.com/", decision.URLUserinfo, "credentials"},
	{"file:///etc/passwd", decision.URLScheme, "file"},
	{"gopher://127.0.0.1:6379/_INFO", decision.URLScheme, "gopher"},
	{"javascript:alert(1)", decision.URLScheme, "javascript"},
	{"view-source:http://example.com/", decision.URLScheme, "a wrapper"},
	{"localhost:3000", decision.URLScheme, "a host that reads as a scheme"},
	{"http://example.com:0/", decision.URLPort, "port zero"},
	{"http://example.com:65536/", decision.URLPort, "too large"},
	{"http://example.com:+80/", decision.URLPort, "a sign"},
	{"http://example.com:080/", decision.URLPort, "a leading zero"},
	{"http://example.com:/", decision.URLPort, "an empty port"},
	{"http://example.com:８０/", decision.URLPort, "full-width digits"},
	{"http://example.com:22/", decision.URLPort, "not a permitted port"},
}

func TestParseAndBefore(t *testing.T) {
	t.Parallel()
	g := guard(t, urlguard.Rules{})
	for _, row := range urlTable {
		if got := reason(g, fetch(), row.url); got != row.want {
			t.Errorf("%q (%s): %v, want %v", row.url, row.edge, got, row.want)
		}
	}
}

func TestAuthority(t *testing.T) {
	t.Parallel()
	g := guard(t, urlguard.Rules{})
	for _, row := range []struct {
		text string
		want decision.Reason
		edge string
	}{
		{"www.example.com:443", decision.URLOK, "ordinary"},
		{"WWW.example.com.:443", decision.URLOK, "case and final dot"},
		{"1.1.1.1:443", decision.URLOK, "literal"},
		{"[2606:4700::1111]:443", decision.URLOK, "IPv6 literal"},
		{"", decision.URLInvalid, "empty"},
		{":443", decision.HostInvalid, "no host, which some dial as loopback"},
		{"*", decision.HostInvalid, "asterisk"},
		{"www.example.com", decision.URLPort, "no port"},
		{"www.example.com:", decision.URLPort, "empty port"},
		{"www.example.com:0", decision.URLPort, "port zero"},
		{"www.example.com:+443", decision.URLPort, "signed"},
		{"www.example.com:22", decision.URLPort, "a port that is not permitted"},
		{"user@www.example.com:443", decision.URLUserinfo, "userinfo"},
		{"http://www.example.com:443", decision.URLInvalid, "a URL"},
		{"www.example.com:443/x", decision.URLInvalid, "a path"},
		{"127.0.0.1:443:443", decision.HostInvalid, "two ports"},
		{"127.1:443", decision.URLLoopback, "short loopback"},
		{"[::1]:443", decision.URLLoopback, "IPv6 loopback"},
		{"[127.0.0.1]:443", decision.URLLoopback, "brackets around IPv4"},
		{"[www.example.com]:443", decision.HostInvalid, "brackets around a name"},
		{"169.254.169.254:80", decision.URLMetadata, "metadata"},
	} {
		e, f := urlguard.ParseAuthority(row.text)
		got := g.Fault(f).Reason
		if f.OK() {
			got = g.Before(fetch(), e).Reason
		}
		if got != row.want {
			t.Errorf("%q (%s): %v, want %v", row.text, row.edge, got, row.want)
		}
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	t.Parallel()
	if (urlguard.Fault{}).OK() {
		t.Error("the zero Fault is no fault")
	}
	e, _ := urlguard.ParseURL("http://example.com/")
	if r := (*urlguard.Guard)(nil).Before(fetch(), e).Reason; r.Allows() {
		t.Errorf("a nil guard says %v", r)
	}
	if r := (*urlguard.Guard)(nil).Addrs(fetch(), e, nil, []netip.Addr{netip.MustParseAddr("8.8.8.8")}).Reason; r.Allows() {
		t.Errorf("a nil guard says %v", r)
	}
	if r := guard(t, urlguard.Rules{}).Before(fetch(), decision.Endpoint{Port: 80}).Reason; r.Allows() {
		t.Errorf("an endpoint without a host: %v", r)
	}
}

// TestCanonicalIsStable: parsing a canonical spelling gives the same endpoint.
func TestCanonicalIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z_][a-zA-Z0-9_]{0,8}`), 2, 5).Draw(t, "labels")
		raw := "https://" + strings.Join(labels, ".") + rapid.SampledFrom([]string{"", "."}).Draw(t, "dot") + "/"
		e, f := urlguard.ParseURL(raw)
		if !f.OK() {
			t.Fatalf("%q: %v %q", raw, f.Reason, f.Detail)
		}
		again, f := urlguard.ParseURL(e.Scheme + "://" + e.Authority())
		if !f.OK() || again != e {
			t.Fatalf("%q -> %+v -> %+v (%v)", raw, e, again, f.Reason)
		}
	})
}

func FuzzParseURL(f *testing.F) {
	for _, row := range urlTable {
		f.Add(row.url)
	}
	g := guard(f, urlguard.Rules{})
	f.Fuzz(func(t *testing.T, raw string) {
		e, fault := urlguard.ParseURL(raw)
		if !fault.OK() {
			if r := g.Fault(fault).Reason; r.Allows() {
				t.Fatalf("%q: a fault with reason %v", raw, r)
			}
			return
		}
		checkEndpoint(t, raw, e)
		// The standard library must read the same host where it reads the text.
		u, err := url.Parse(raw)
		if err != nil {
			return
		}
		if u.User != nil {
			t.Fatalf("%q: credentials were let through", raw)
		}
		checkSameHost(t, raw, u.Hostname(), e)
	})
}

func FuzzParseAuthority(f *testing.F) {
	for _, s := range []string{"example.com:443", "[::1]:80", "127.1:1", ":443", "a:b:c", "[::ffff:1.2.3.4]:443"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, fault := urlguard.ParseAuthority(raw)
		if fault.OK() {
			checkEndpoint(t, raw, e)
		}
	})
}

// checkEndpoint fails when an accepted endpoint is not canonical.
func checkEndpoint(t *testing.T, raw string, e decision.Endpoint) {
	t.Helper()
	if e.Host == "" || e.Port == 0 || strings.ContainsAny(e.Host, " %@\\/?#[]") || e.Host != strings.ToLower(e.Host) {
		t.Fatalf("%q: endpoint %+v is not canonical", raw, e)
	}
	for _, c := range e.Host {
		if c <= ' ' || c >= 0x7f {
			t.Fatalf("%q: host %q is not printable ASCII", raw, e.Host)
		}
	}
	if a, err := netip.ParseAddr(e.Host); (err == nil) != e.Addr.IsValid() || err == nil && a != e.Addr {
		t.Fatalf("%q: host %q and address %v differ", raw, e.Host, e.Addr)
	}
	again, f := urlguard.ParseAuthority(e.Authority())
	again.Scheme = e.Scheme
	if !f.OK() || again != e {
		t.Fatalf("%q: %q reads back as %+v (%v)", raw, e.Authority(), again, f.Reason)
	}
}

// checkSameHost compares with another parser's host: equal, or another
// spelling of the same name or address.
func checkSameHost(t *testing.T, raw, other string, e decision.Endpoint) {
	t.Helper()
	if a, err := netip.ParseAddr(other); err == nil {
		if a.Unmap() != e.Addr {
			t.Fatalf("%q: another parser dials %v, this one %+v", raw, a, e)
		}
		return
	}
	if strings.TrimSuffix(strings.ToLower(other), ".") != e.Host && !strings.Contains(e.Host, "xn--") {
		t.Fatalf("%q: another parser dials %q, this one %q", raw, other, e.Host)
	}
}
