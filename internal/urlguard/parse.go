package urlguard

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/toolgate/toolgate/internal/decision"
)

// maxURL bounds the text of a URL, in bytes.
const maxURL = 16 << 10

// Fault says why a text is not a URL that may be judged further. Its zero value
// is a fault (url_invalid), so that a forgotten one refuses.
type Fault struct {
	ok     bool
	Reason decision.Reason // url_invalid, url_scheme, url_port, url_userinfo or host_invalid
	Detail string          // the offending token
	// Addr is what a host in a non-canonical spelling means as an address, and
	// Name what it means as a name. Guard.Fault turns them into the reason of
	// an internal target.
	Addr netip.Addr
	Name string
}

// OK reports whether there is no fault.
func (f Fault) OK() bool { return f.ok }

func fault(r decision.Reason, detail string) Fault { return Fault{Reason: r, Detail: detail} }

// ParseURL reads an absolute http, https, ws or wss URL (RFC 3986; where the
// WHATWG URL standard reads a text differently, the text is refused).
func ParseURL(raw string) (decision.Endpoint, Fault) {
	if len(raw) > maxURL {
		return decision.Endpoint{}, fault(decision.URLInvalid, "longer than 16 KiB")
	}
	if bad := badText(raw); bad != "" {
		return decision.Endpoint{}, fault(decision.URLInvalid, bad)
	}
	text, rest, found := strings.Cut(raw, ":")
	if !found || !isScheme(text) {
		return decision.Endpoint{}, fault(decision.URLInvalid, "no scheme in "+raw)
	}
	scheme, defaultPort := knownScheme(text)
	if scheme == "" {
		return decision.Endpoint{}, fault(decision.URLScheme, text)
	}
	rest, found = strings.CutPrefix(rest, "//")
	if !found {
		return decision.Endpoint{}, fault(decision.URLInvalid, "no // after the scheme")
	}
	authority, tail := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	// Some parsers look for the host behind a later at-sign.
	if strings.HasPrefix(tail, "#") || strings.HasPrefix(tail, "?") {
		before, _, _ := strings.Cut(tail, "/")
		if strings.Contains(before, "@") {
			return decision.Endpoint{}, fault(decision.URLInvalid, "an at-sign right after the host in "+raw)
		}
	}
	e, f := parseAuthority(authority, defaultPort)
	e.Scheme = scheme
	if !f.ok {
		return decision.Endpoint{}, f
	}
	return e, f
}

// ParseAuthority reads the target of a CONNECT: host:port, and nothing else
// (RFC 9110, section 9.3.6). The port must be written.
func ParseAuthority(raw string) (decision.Endpoint, Fault) {
	if len(raw) > maxURL {
		return decision.Endpoint{}, fault(decision.URLInvalid, "longer than 16 KiB")
	}
	if bad := badText(raw); bad != "" {
		return decision.Endpoint{}, fault(decision.URLInvalid, bad)
	}
	if raw == "" || strings.ContainsAny(raw, "/?#") {
		return decision.Endpoint{}, fault(decision.URLInvalid, "not host:port: "+raw)
	}
	return parseAuthority(raw, 0)
}

// badText names the first thing in a URL that no part of it may hold.
func badText(raw string) string {
	for i := range len(raw) {
		switch c := raw[i]; {
		case c < ' ' || c == 0x7f:
			return "a control character in " + raw
		case c == ' ':
			return "a space in " + raw
		}
	}
	if !utf8.ValidString(raw) {
		return "not UTF-8: " + raw
	}
	return ""
}

// isScheme reports whether s is a scheme name (RFC 3986, section 3.1).
func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		switch {
		case 'a' <= c && c <= 'z':
		case i > 0 && ('0' <= s[i] && s[i] <= '9' || s[i] == '+' || s[i] == '-' || s[i] == '.'):
		default:
			return false
		}
	}
	return s != ""
}

// knownScheme returns a scheme that may be dialled, in lower case, and its
// default port.
func knownScheme(s string) (string, uint16) {
	switch {
	case strings.EqualFold(s, "http"):
		return "http", 80
	case strings.EqualFold(s, "https"):
		return "https", 443
	case strings.EqualFold(s, "ws"):
		return "ws", 80
	case strings.EqualFold(s, "wss"):
		return "wss", 443
	}
	return "", 0
}

// parseAuthority reads host[:port]; without a default port, the port must be
// there.
func parseAuthority(s string, defaultPort uint16) (decision.Endpoint, Fault) {
	if strings.Contains(s, "@") {
		return decision.Endpoint{}, fault(decision.URLUserinfo, s[strings.LastIndexByte(s, '@')+1:])
	}
	if strings.Contains(s, `\`) {
		return decision.Endpoint{}, fault(decision.URLInvalid, "a backslash in "+s)
	}
	host, port, f := splitPort(s)
	if !f.ok {
		return decision.Endpoint{}, f
	}
	e := decision.Endpoint{Port: defaultPort}
	if f = parseHost(host, &e); !f.ok {
		return decision.Endpoint{}, f
	}
	if port == "" && !strings.HasSuffix(s, ":") && defaultPort != 0 {
		return e, f
	}
	n, ok := parsePort(port)
	if !ok {
		return decision.Endpoint{}, fault(decision.URLPort, "port "+port+" of "+s)
	}
	e.Port = n
	return e, f
}

// splitPort cuts host and port. Brackets belong to an IPv6 literal only.
func splitPort(s string) (host, port string, f Fault) {
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", fault(decision.HostInvalid, "no closing bracket in "+s)
		}
		rest := s[end+1:]
		if rest != "" && rest[0] != ':' {
			return "", "", fault(decision.HostInvalid, s)
		}
		return s[:end+1], strings.TrimPrefix(rest, ":"), Fault{ok: true}
	}
	host, port, _ = strings.Cut(s, ":")
	if strings.Contains(port, ":") { // two ports, or IPv6 without brackets
		f := fault(decision.HostInvalid, s)
		if a, err := netip.ParseAddr(s); err == nil {
			f.Addr = a
		}
		return "", "", f
	}
	return host, port, Fault{ok: true}
}

// parsePort reads a decimal port in its one spelling: 1 to 65535, no sign, no
// leading zero.
func parsePort(s string) (uint16, bool) {
	if s == "" || len(s) > 5 || s[0] == '0' {
		return 0, false
	}
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return uint16(n), n <= 65535
}
