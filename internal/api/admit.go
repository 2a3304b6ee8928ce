package api

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/netip"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// scheme is the authentication scheme with the blank that follows it.
const scheme = "Bearer "

// admit reports whether r may ask at all, and answers it when not. On TCP a
// request must be addressed to a name of ours, so that a page in a browser
// cannot reach the API through a name that it rebinds; must not come from a
// page at all; and must show the token.
func (a *API) admit(w http.ResponseWriter, r *http.Request) bool {
	if a.socket {
		return true
	}
	if !a.ours(r.Host) {
		a.problem(w, http.StatusMisdirectedRequest, decision.BadRequest,
			"the Host header is not an address or a configured name of this listener")
		return false
	}
	if _, browser := r.Header["Origin"]; browser {
		a.problem(w, http.StatusForbidden, decision.BadRequest, "requests from web pages (with an Origin header) are not answered")
		return false
	}
	shown := r.Header["Authorization"]
	if len(shown) == 1 && len(shown[0]) > len(scheme) && strings.EqualFold(shown[0][:len(scheme)], scheme) {
		sum := sha256.Sum256([]byte(shown[0][len(scheme):]))
		if subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1 {
			return true
		}
	}
	challenge, detail := `Bearer realm="toolgate"`, "send the API token: Authorization: Bearer TOKEN"
	if len(shown) > 0 {
		// RFC 6750, section 3.1.
		challenge, detail = challenge+`, error="invalid_token"`, "the API token is not the right one"
	}
	w.Header().Set("WWW-Authenticate", challenge)
	a.problem(w, http.StatusUnauthorized, decision.NoIdentity, detail)
	return false
}

// ours reports whether host, a Host header, is one under which the listener
// may be addressed.
func (a *API) ours(host string) bool {
	name, port := host, ""
	switch end := strings.IndexByte(host, ']'); {
	case strings.HasPrefix(host, "[") && end > 0:
		name, port = host[1:end], host[end+1:]
		if addr, err := netip.ParseAddr(name); err != nil || !addr.Is6() || addr.Zone() != "" {
			return false
		}
		return isPort(port)
	default:
		if colon := strings.IndexByte(host, ':'); colon >= 0 {
			name, port = host[:colon], host[colon:]
		}
	}
	if !isPort(port) {
		return false
	}
	if addr, err := netip.ParseAddr(name); err == nil {
		return addr.Is4()
	}
	if strings.EqualFold(name, "localhost") {
		return true
	}
	for _, h := range a.hosts {
		if name != "" && strings.EqualFold(name, h) {
			return true
		}
	}
	return false
}

// isPort reports whether s is empty or a colon and digits.
func isPort(s string) bool {
	if s == "" {
		return true
	}
	if s[0] != ':' || len(s) > len(":65535") {
		return false
	}
	return strings.Trim(s[1:], "0123456789") == ""
}
