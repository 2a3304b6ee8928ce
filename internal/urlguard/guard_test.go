package urlguard_test

import (
	"net/netip"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/urlguard"
)

func pattern(t testing.TB, s string) urlguard.Pattern {
	t.Helper()
	p, err := urlguard.ParsePattern(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func patterns(t testing.TB, list ...string) []urlguard.Pattern {
	t.Helper()
	var out []urlguard.Pattern
	for _, s := range list {
		out = append(out, pattern(t, s))
	}
	return out
}

func endpoint(t testing.TB, raw string) decision.Endpoint {
	t.Helper()
	e, f := urlguard.ParseURL(raw)
	if !f.OK() {
		t.Fatalf("%q: %v %s", raw, f.Reason, f.Detail)
	}
	return e
}

func TestLoopbackException(t *testing.T) {
	t.Parallel()
	open := guard(t, urlguard.Rules{Loopback: true, Self: func(a netip.AddrPort) bool { return a.Port() == 8180 }})
	shut := guard(t, urlguard.Rules{})
	claimed := browser()
	claimed.Proven = false
	for _, row := range []struct {
		url    string
		guard  *urlguard.Guard
		caller urlguard.Caller
		want   decision.Reason
		edge   string
	}{
		{"http://localhost:5173/", open, browser(), decision.URLOK, "a development server on any port"},
		{"http://app.localhost/", open, browser(), decision.URLOK, "below localhost"},
		{"http://127.9.9.9:1/", open, browser(), decision.URLOK, "all of 127/8"},
		{"ws://[::1]:3000/", open, browser(), decision.URLOK, "IPv6"},
		{"http://[::ffff:127.0.0.1]/", open, browser(), decision.URLOK, "mapped is the same address"},
		{"http://localhost:5173/", shut, browser(), decision.URLLoopback, "without the variable"},
		{"http://localhost:5173/", open, fetch(), decision.URLLoopback, "another tool"},
		{"http://127.0.0.1/", open, fetch(), decision.URLLoopback, "another tool, literal"},
		{"http://localhost:5173/", open, claimed, decision.URLLoopback, "a tool that only claims to be the browser"},
		{"http://127.1:3000/", open, browser(), decision.URLLoopback, "a disguise earns nothing"},
		{"http://localhost:8180/", open, browser(), decision.URLOK, "a name: its address is judged later"},
		{"http://127.0.0.1:8180/", open, browser(), decision.URLSelf, "our own listener"},
		{"http://0.0.0.0:3000/", open, browser(), decision.URLReserved, "unspecified is not loopback"},
		{"http://[::]:3000/", open, browser(), decision.URLReserved, "unspecified, IPv6"},
		{"http://[::127.0.0.1]/", open, browser(), decision.URLEmbeddedV4, "compatible form"},
		{"http://[64:ff9b::7f00:1]/", open, browser(), decision.URLEmbeddedV4, "NAT64 around loopback"},
		{"http://10.0.0.1/", open, browser(), decision.URLPrivate, "only loopback opens"},
		{"http://169.254.169.254/", open, browser(), decision.URLMetadata, "never metadata"},
		{"http://localhost.localdomain/", open, browser(), decision.URLLoopback, "a hosts-file name is not localhost"},
	} {
		if got := reason(row.guard, row.caller, row.url); got != row.want {
			t.Errorf("%s (%s): %v, want %v", row.url, row.edge, got, row.want)
		}
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	g := guard(t, urlguard.Rules{Loopback: true, Self: func(a netip.AddrPort) bool { return a.Port() == 8180 }})
	for name, row := range map[string]struct {
		url    string
		caller urlguard.Caller
		chain  []string
		addrs  []string
		want   decision.Reason
	}{
		"public":                         {"https://example.com/", fetch(), nil, []string{"93.184.216.34", "2606:2800::1"}, decision.URLOK},
		"public behind an alias":         {"https://example.com/", fetch(), []string{"edge.example.net"}, []string{"93.184.216.34"}, decision.URLOK},
		"nothing":                        {"https://example.com/", fetch(), nil, nil, decision.DNSFailed},
		"one of two is private":          {"https://example.com/", fetch(), nil, []string{"93.184.216.34", "10.0.0.1"}, decision.URLPrivate},
		"metadata speaks before private": {"https://example.com/", fetch(), nil, []string{"10.0.0.1", "169.254.169.254"}, decision.URLMetadata},
		"alias to the metadata name":     {"https://example.com/", fetch(), []string{"metadata.google.internal"}, []string{"8.8.8.8"}, decision.URLMetadata},
		"alias into an internal domain":  {"https://example.com/", fetch(), []string{"db.internal"}, []string{"8.8.8.8"}, decision.URLInternal},
		"alias to localhost":             {"https://example.com/", browser(), []string{"localhost"}, []string{"127.0.0.1"}, decision.URLLoopback},
		"rebound to loopback, browser":   {"https://example.com/", browser(), nil, []string{"127.0.0.1"}, decision.URLLoopback},
		"localhost, browser":             {"http://localhost:3000/", browser(), nil, []string{"127.0.0.1", "::1"}, decision.URLOK},
		"localhost that leaves":          {"http://localhost:3000/", browser(), nil, []string{"10.0.0.7"}, decision.URLPrivate},
		"localhost at our own port":      {"http://localhost:8180/", browser(), nil, []string{"127.0.0.1"}, decision.URLSelf},
		"NAT64 around a public address":  {"https://example.com/", fetch(), nil, []string{"64:ff9b::5db8:d822"}, decision.URLOK},
		"NAT64 around metadata":          {"https://example.com/", fetch(), nil, []string{"64:ff9b::a9fe:a9fe"}, decision.URLMetadata},
		"documentation":                  {"https://example.com/", fetch(), nil, []string{"198.51.100.7"}, decision.URLReserved},
	} {
		var addrs []netip.Addr
		for _, a := range row.addrs {
			addrs = append(addrs, netip.MustParseAddr(a))
		}
		if got := g.Addrs(row.caller, endpoint(t, row.url), row.chain, addrs).Reason; got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}

func TestEgressRules(t *testing.T) {
	t.Parallel()
	at := decision.Position{File: "f", Line: 7, Col: 3}
	g := guard(t, urlguard.Rules{Rules: []urlguard.Rule{
		{Tools: []string{"fetch_url"}, Allow: patterns(t, "*.example.com", "api.example.org:9443"), Deny: patterns(t, "ads.example.com"), Pos: at},
		{Tools: []string{"fetch_url"}, Allow: patterns(t, "more.example.net")},
		{Tools: []string{"download_file"}, Allow: patterns(t, "files.example.com")},
		{Agents: []string{"other"}, Deny: patterns(t, "*.example.com")},
	}})
	unknown := urlguard.Caller{Agent: "a"}
	other := urlguard.Caller{Agent: "other", Tool: "fetch_url"}
	free := urlguard.Caller{Agent: "a", Tool: "web_search"}
	for _, row := range []struct {
		url    string
		caller urlguard.Caller
		want   decision.Reason
		edge   string
	}{
		{"https://www.example.com/", fetch(), decision.URLOK, "below the wildcard"},
		{"https://a.b.example.com/", fetch(), decision.URLOK, "two labels below"},
		{"https://example.com/", fetch(), decision.HostNotAllowed, "the wildcard's own domain is another"},
		{"https://notexample.com/", fetch(), decision.HostNotAllowed, "no label boundary"},
		{"https://www.example.com.evil.net/", fetch(), decision.HostNotAllowed, "a longer name"},
		{"https://ads.example.com/", fetch(), decision.HostDenied, "deny beats allow"},
		{"https://more.example.net/", fetch(), decision.URLOK, "a second rule for the same tool adds"},
		{"https://api.example.org:9443/", fetch(), decision.URLOK, "a rule may name a port"},
		{"https://api.example.org/", fetch(), decision.HostNotAllowed, "and means only that one"},
		{"https://www.example.com:9443/", fetch(), decision.URLPort, "a rule without a port opens none"},
		{"https://93.184.216.34/", fetch(), decision.HostNotAllowed, "a literal matches no name"},
		{"https://anything.example/", free, decision.URLOK, "no rule binds this tool"},
		{"https://www.example.com/", other, decision.HostDenied, "another agent's deny"},
		{"https://www.example.com/", unknown, decision.HostNotAllowed, "an unknown tool must match every list"},
		{"https://anything.example/", unknown, decision.HostNotAllowed, "an unknown tool is not free"},
	} {
		e := endpoint(t, row.url)
		if v := g.Before(row.caller, e); v.Reason != row.want {
			t.Errorf("%s for %+v (%s): %v, want %v", row.url, row.caller, row.edge, v.Reason, row.want)
		}
	}
	if v := g.Before(fetch(), endpoint(t, "https://ads.example.com/")); v.Rule != "ads.example.com" || v.Pos != at {
		t.Errorf("the refusal names rule %q at %v", v.Rule, v.Pos)
	}
}

func TestPrivateExceptions(t *testing.T) {
	t.Parallel()
	g := guard(t, urlguard.Rules{Private: []urlguard.Private{
		{Host: pattern(t, "artifacts.corp.example"), CIDR: netip.MustParsePrefix("10.1.2.0/24"), Ports: []uint16{9000}},
		{Host: pattern(t, "db.internal"), CIDR: netip.MustParsePrefix("10.0.0.0/8"), Ports: []uint16{443}},
		{Host: pattern(t, "10.7.7.7"), CIDR: netip.MustParsePrefix("10.7.7.7/32"), Ports: []uint16{443}},
		{Host: pattern(t, "wide.example"), CIDR: netip.MustParsePrefix("0.0.0.0/0"), Ports: []uint16{443}},
	}})
	claimed := fetch()
	claimed.Proven = false
	for name, row := range map[string]struct {
		url, addr string
		caller    urlguard.Caller
		want      decision.Reason
	}{
		"name, range and port":           {"http://artifacts.corp.example:9000/", "10.1.2.9", fetch(), decision.URLOK},
		"another port":                   {"https://artifacts.corp.example/", "10.1.2.9", fetch(), decision.URLPrivate},
		"outside the range":              {"http://artifacts.corp.example:9000/", "10.1.3.9", fetch(), decision.URLPrivate},
		"another name":                   {"https://other.corp.example/", "10.1.2.9", fetch(), decision.URLPrivate},
		"a tool that is not proven":      {"https://db.internal/", "10.1.2.9", claimed, decision.URLInternal},
		"an internal name, on purpose":   {"https://db.internal/", "10.1.2.9", fetch(), decision.URLOK},
		"a literal, on purpose":          {"https://10.7.7.7/", "10.7.7.7", fetch(), decision.URLOK},
		"never loopback":                 {"https://wide.example/", "127.0.0.1", fetch(), decision.URLLoopback},
		"never link-local":               {"https://wide.example/", "169.254.1.1", fetch(), decision.URLLinkLocal},
		"never metadata":                 {"https://wide.example/", "169.254.169.254", fetch(), decision.URLMetadata},
		"never metadata in shared space": {"https://wide.example/", "100.100.100.200", fetch(), decision.URLMetadata},
	} {
		e := endpoint(t, row.url)
		v := g.Before(row.caller, e)
		if v.Reason == decision.URLOK || v.Reason == decision.URLPort {
			v = g.Addrs(row.caller, e, nil, []netip.Addr{netip.MustParseAddr(row.addr)})
		}
		if v.Reason != row.want {
			t.Errorf("%s: %v, want %v", name, v.Reason, row.want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	table, err := ipclass.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := urlguard.New(urlguard.Rules{}, nil); err == nil {
		t.Error("no address table")
	}
	if _, err := urlguard.New(urlguard.Rules{Ports: []uint16{0}}, table); err == nil {
		t.Error("port 0")
	}
	if _, err := urlguard.New(urlguard.Rules{Private: []urlguard.Private{{}}}, table); err == nil {
		t.Error("an empty private exception")
	}
}

// patternTable: text, and whether it is accepted.
var patternTable = map[string]bool{
	"example.com": true, "*.example.com": true, "Example.COM.": true, "api.example.org:443": true, "1.1.1.1": true,
	"[2606:4700::1111]:443": true, "localhost": true, "*.localhost": true, "my_bucket.example.com": true,
	"": false, "*": false, "*.com": false, "*.": false, "*example.com": false, "a.*.com": false, "**.example.com": false,
	"http://example.com": false, "example.com/": false, "u@example.com": false, "example.com:": false,
	"example.com:0": false, "example.com:99999": false, "127.1": false, "*.1.1.1.1": false, "2606:4700::1111": false,
	"exa mple.com": false, "ｅxample.com": false, "example..com": false, "*.*.example.com": false,
}

func TestParsePattern(t *testing.T) {
	t.Parallel()
	for text, want := range patternTable {
		p, err := urlguard.ParsePattern(text)
		if (err == nil) != want {
			t.Errorf("ParsePattern(%q): %v, want accepted=%t", text, err, want)
		}
		if err != nil && p.Match(decision.Endpoint{Host: "example.com", Port: 443}) {
			t.Errorf("%q is refused and matches", text)
		}
	}
	if (urlguard.Pattern{}).Match(decision.Endpoint{}) {
		t.Error("the zero pattern matches the zero endpoint")
	}
}

func FuzzPattern(f *testing.F) {
	for text := range patternTable {
		f.Add(text, "www.example.com")
	}
	f.Fuzz(func(t *testing.T, text, host string) {
		p, err := urlguard.ParsePattern(text)
		if err != nil {
			return
		}
		e, fault := urlguard.ParseURL("https://" + host + "/")
		if !fault.OK() || !p.Match(e) {
			return
		}
		domain, wild := p.Wildcard()
		if !wild && e.Host != domain {
			t.Fatalf("%q matches %q", text, e.Host)
		}
		if wild && (len(e.Host) <= len(domain)+1 || e.Host[len(e.Host)-len(domain)-1:] != "."+domain) {
			t.Fatalf("%q matches %q without a label boundary", text, e.Host)
		}
	})
}

func BenchmarkParseURL(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		urlguard.ParseURL("https://www.example.com/some/path?with=query")
	}
}

func BenchmarkBefore(b *testing.B) {
	g := guard(b, urlguard.Rules{Rules: []urlguard.Rule{{Tools: []string{"fetch_url"}, Allow: patterns(b, "*.example.com")}}})
	e := endpoint(b, "https://www.example.com/")
	b.ReportAllocs()
	for b.Loop() {
		g.Before(fetch(), e)
	}
}

func BenchmarkAddrs(b *testing.B) {
	g := guard(b, urlguard.Rules{})
	e := endpoint(b, "https://www.example.com/")
	addrs := []netip.Addr{netip.MustParseAddr("93.184.216.34"), netip.MustParseAddr("2606:2800::1")}
	b.ReportAllocs()
	for b.Loop() {
		g.Addrs(fetch(), e, nil, addrs)
	}
}
