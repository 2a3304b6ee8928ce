package egress

import (
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// viaName is what toolgate calls itself in Via. Without the name of a process
// behind it, it is taken for ourselves too.
const viaName = "toolgate"

// isHopByHop reports whether a field is meant for one connection only (RFC
// 9110, section 7.6.1), or is one that only a proxy may say. Names are in
// canonical form.
func isHopByHop(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings":
		return true
	case "Proxy-Status":
		return false
	}
	// Proxy itself is no field, but becomes HTTP_PROXY in a CGI program.
	return name == "Proxy" || strings.HasPrefix(name, "Proxy-")
}

// isOurs reports whether a field is one by which toolgate speaks.
func isOurs(name string) bool { return strings.HasPrefix(name, "X-Toolgate-") }

// isSteering reports whether a request's field would tell somebody else where
// the request comes from or should go. A client is not believed (issue 4,
// points 3 and 10 of the field study).
func isSteering(name string) bool {
	switch name {
	case "Forwarded", "X-Real-Ip", "X-Upstream-Https-Proxy", "X-Unix-Socket", "X-Tool-Class":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// dropListed removes the fields that Connection names.
func dropListed(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = textproto.TrimString(name); name != "" {
				h.Del(name)
			}
		}
	}
}

// cleanRequest leaves in h what goes to the origin, and adds Via.
func cleanRequest(h http.Header, via string, minor int) {
	dropListed(h)
	for name := range h {
		if isHopByHop(name) || isSteering(name) || isOurs(name) || name == "Proxy-Status" {
			delete(h, name)
		}
	}
	h.Add("Via", "1."+strconv.Itoa(minor)+" "+via)
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = []string{""} // else net/http would name itself
	}
}

// cleanResponse leaves in h what goes to the client. An origin cannot speak in
// toolgate's name.
func cleanResponse(h http.Header) {
	dropListed(h)
	for name := range h {
		if isHopByHop(name) || isOurs(name) {
			delete(h, name)
		}
	}
	if lines, ok := h["Proxy-Status"]; ok {
		if rest := othersStatus(lines); rest != "" {
			h["Proxy-Status"] = []string{rest}
		} else {
			delete(h, "Proxy-Status")
		}
	}
}

// cleanTrailer leaves in a trailer section what may be passed on.
func cleanTrailer(h http.Header) {
	for name := range h {
		if isHopByHop(name) || isOurs(name) || name == "Proxy-Status" {
			delete(h, name)
		}
	}
}

// othersStatus returns the members of Proxy-Status (a list, RFC 9651, section
// 3.1) that are not toolgate's.
func othersStatus(lines []string) string {
	var kept []string
	for _, member := range splitList(strings.Join(lines, ",")) {
		name, _, _ := strings.Cut(member, ";")
		name = strings.Trim(textproto.TrimString(name), `"`)
		if name != "" && !strings.EqualFold(name, proxyName) {
			kept = append(kept, textproto.TrimString(member))
		}
	}
	return strings.Join(kept, ", ")
}

// splitList splits at the commas that are not inside quotes.
func splitList(s string) []string {
	var out []string
	quoted, start := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quoted:
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ',' && !quoted:
			out = append(out, s[start:i])
			start = i + 1
		}
	}
	return append(out, s[start:])
}

// isLoop reports whether a request has been through this process before.
func (p *Proxy) isLoop(via []string) bool {
	for _, line := range via {
		for hop := range strings.SplitSeq(line, ",") {
			fields := strings.Fields(hop)
			if len(fields) >= 2 && (strings.EqualFold(fields[1], viaName) || strings.EqualFold(fields[1], p.via)) {
				return true
			}
		}
	}
	return false
}

// isUpgrade reports whether r asks for a WebSocket and nothing else.
func isUpgrade(r *http.Request) bool {
	return r.ProtoAtLeast(1, 1) && r.Method == http.MethodGet && r.ContentLength == 0 && isWebSocket(r.Header)
}

func isWebSocket(h http.Header) bool {
	up := h["Upgrade"]
	return len(up) == 1 && strings.EqualFold(textproto.TrimString(up[0]), "websocket") && hasToken(h["Connection"], "upgrade")
}

func hasToken(lines []string, token string) bool {
	for _, line := range lines {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(textproto.TrimString(t), token) {
				return true
			}
		}
	}
	return false
}
