package urlguard

import (
	"fmt"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// Pattern matches hosts: one name ("api.example.org"), the names below one
// ("*.example.com", which is not example.com itself), or one address literal;
// with ":port" only that port. The zero value matches nothing.
type Pattern struct {
	text string
	host string // without "*."
	wild bool
	port uint16 // 0: any port that egress.ports permits
}

// ParsePattern reads a pattern. A wildcard stands for whole labels and only in
// front; what is not canonical is an error that says how to write it.
func ParsePattern(s string) (Pattern, error) {
	p := Pattern{text: s}
	rest := s
	if after, ok := strings.CutPrefix(s, "*."); ok {
		p.wild, rest = true, after
	}
	if strings.Contains(rest, "*") {
		return Pattern{}, fmt.Errorf("pattern %q: write a host, or *. in front of a domain; * stands nowhere else", s)
	}
	if strings.Contains(rest, "/") {
		return Pattern{}, fmt.Errorf("pattern %q: write a host without scheme and path", s)
	}
	if strings.Contains(rest, "@") {
		return Pattern{}, fmt.Errorf("pattern %q: write a host without credentials", s)
	}
	host, port, f := splitPort(rest)
	if !f.ok {
		return Pattern{}, fmt.Errorf("pattern %q: write host or host:port, IPv6 in brackets", s)
	}
	var e decision.Endpoint
	if f = parseHost(host, &e); !f.ok {
		return Pattern{}, fmt.Errorf("pattern %q: %q is not a host in its canonical spelling", s, host)
	}
	if port != "" || strings.HasSuffix(rest, ":") {
		n, ok := parsePort(port)
		if !ok {
			return Pattern{}, fmt.Errorf("pattern %q: port %q is not a number from 1 to 65535", s, port)
		}
		p.port = n
	}
	if p.wild && (e.Addr.IsValid() || !strings.Contains(e.Host, ".") && e.Host != "localhost") {
		return Pattern{}, fmt.Errorf("pattern %q: a wildcard needs a domain of two labels below it, as in *.example.com", s)
	}
	p.host = e.Host
	return p, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// Port returns the port that the pattern names, 0 for none.
func (p Pattern) Port() uint16 { return p.port }

// Wildcard returns the domain below which the pattern matches; false for a
// pattern that names one host.
func (p Pattern) Wildcard() (string, bool) { return p.host, p.wild }

// Match reports whether e is a host, and a port where one is named, of p.
func (p Pattern) Match(e decision.Endpoint) bool {
	if p.host == "" || p.port != 0 && p.port != e.Port {
		return false
	}
	if !p.wild {
		return e.Host == p.host
	}
	rest, ok := strings.CutSuffix(e.Host, p.host)
	return ok && !e.Addr.IsValid() && len(rest) > 1 && rest[len(rest)-1] == '.'
}
