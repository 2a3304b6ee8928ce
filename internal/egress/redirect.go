package egress

import (
	"net/http"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// followable asks about every place that resp sends the client to. False:
// x.decision refuses one of them, and resp must not be passed on. That the
// client would be judged when it follows is not enough: it may follow past the
// proxy (report U23).
func (p *Proxy) followable(x *exchange, r *http.Request, resp *http.Response) bool {
	var targets []string
	if resp.StatusCode/100 == 3 {
		targets = append(targets, resp.Header["Location"]...)
	}
	for _, line := range resp.Header["Refresh"] {
		if target, ok := refreshTarget(line); ok {
			targets = append(targets, target)
		}
	}
	from := x.decision.Vetted.Endpoint
	for _, target := range targets {
		req := x.req
		req.From = &from
		url, ok := resolve(from, target)
		req.Resource = decision.Resource{Kind: decision.KindURL, ID: url}
		if !ok {
			x.redirected(r, &req)
			return false
		}
		d := p.o.Decider.Decide(r.Context(), &req)
		if !d.Allowed() {
			x.decision = d
			return false
		}
	}
	return true
}

// redirected refuses a redirect whose target cannot be read in one way.
func (x *exchange) redirected(r *http.Request, req *decision.Request) {
	asked := x.req
	x.req = *req
	x.p.own(r.Context(), x, decision.URLRedirect, "the target cannot be read in one certain way: "+req.Resource.ID)
	x.req = asked
}

// resolve returns the absolute URL that a reference in an answer from base
// means (RFC 3986, section 5.2), in the text in which it is written: whoever
// judges it must see what the client sees. Only the authority matters here, so
// paths are not merged. False: clients read it differently.
func resolve(base decision.Endpoint, ref string) (string, bool) {
	ref = strings.Trim(ref, " \t")
	for i := range len(ref) {
		if ref[i] < ' ' || ref[i] == 0x7f {
			return ref, false // browsers drop tabs and line ends, others do not
		}
	}
	before, _, _ := strings.Cut(ref, "#")
	before, _, _ = strings.Cut(before, "?")
	if strings.Contains(before, `\`) {
		return ref, false // a slash to browsers
	}
	if scheme, _, found := strings.Cut(before, ":"); found && !strings.Contains(scheme, "/") {
		return escape(ref), true // absolute, or to be refused as what it is
	}
	if strings.HasPrefix(ref, "//") {
		return escape(base.Scheme + ":" + ref), true
	}
	if !strings.HasPrefix(ref, "/") {
		ref = "/" + ref
	}
	return escape(base.Scheme + "://" + base.Authority() + ref), true
}

// escape percent-encodes spaces and bytes beyond ASCII behind the authority, as
// clients do before they ask again. The authority stays as it is written.
func escape(ref string) string {
	start := 0
	if i := strings.Index(ref, "//"); i >= 0 {
		start = i + 2
	}
	end := strings.IndexAny(ref[start:], "/?#")
	if end < 0 {
		return ref
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.WriteString(ref[:start+end])
	for _, c := range []byte(ref[start+end:]) {
		if c == ' ' || c >= 0x80 {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// refreshTarget returns where a Refresh field leads (HTML, "shared declarative
// refresh steps"). False: it names no place, so the same one is loaded again.
func refreshTarget(line string) (string, bool) {
	const blank = " \t\n\f\r"
	rest := strings.TrimLeft(strings.Trim(line, blank), "0123456789.")
	rest = strings.TrimLeft(rest, blank)
	if strings.HasPrefix(rest, ";") || strings.HasPrefix(rest, ",") {
		rest = strings.TrimLeft(rest[1:], blank)
	}
	if len(rest) >= 3 && strings.EqualFold(rest[:3], "url") {
		if value, ok := strings.CutPrefix(strings.TrimLeft(rest[3:], blank), "="); ok {
			rest = strings.TrimLeft(value, blank)
		}
	}
	if rest == "" {
		return "", false
	}
	if q := rest[0]; q == '"' || q == '\'' {
		rest, _, _ = strings.Cut(rest[1:], string(q))
	}
	return rest, rest != ""
}
