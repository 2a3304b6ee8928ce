package egress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

const (
	reasonHeader   = "X-Toolgate-Reason"
	decisionHeader = "X-Toolgate-Decision"
	statusHeader   = "Proxy-Status"
	proxyName      = "toolgate" // in Proxy-Status (RFC 9209, section 2)
	challenge      = `Basic realm="toolgate", charset="UTF-8"`
	problemType    = "https://github.com/toolgate/toolgate/blob/main/docs/reasons.md#"
	maxAsked       = 256
)

// refusal is an answer of the proxy's own (contracts, section 5). It names no
// address that the client did not send itself.
type refusal struct {
	status int
	reason decision.Reason
	header http.Header
	body   []byte
}

// problem is the body (RFC 9457).
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance,omitempty"`
	Reason   string `json:"reason"`
	Asked    string `json:"asked,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Final    bool   `json:"final"`
}

// newRefusal writes a refusal out. note adds words of our own on a malformed
// request.
func newRefusal(d *decision.Decision, asked, note string, status int, timeout bool) *refusal {
	r := &refusal{status: status, reason: d.Reason, header: http.Header{}}
	detail := d.UserText()
	if note != "" {
		detail = "Not usable: " + note + ". " + detail
	}
	body, err := json.Marshal(problem{
		Type: problemType + d.Reason.String(), Title: strings.TrimSuffix(d.Reason.Sentence(), "."),
		Status: status, Detail: detail, Instance: d.ID, Reason: d.Reason.String(),
		Asked: asked, Rule: d.Rule, Final: isFinal(d.Reason),
	})
	if err != nil { // strings and numbers: does not happen
		body = []byte(`{"reason":"` + d.Reason.String() + `"}`)
	}
	r.body = append(body, '\n')
	r.header.Set("Content-Type", "application/problem+json")
	r.header.Set("Content-Length", strconv.Itoa(len(r.body)))
	r.header.Set("Cache-Control", "no-store")
	r.header.Set(reasonHeader, d.Reason.String())
	r.header.Set(statusHeader, fmt.Sprintf("%s; error=%s; details=%q", proxyName, errorType(d.Reason, timeout), d.Reason))
	if d.ID != "" {
		r.header.Set(decisionHeader, d.ID)
	}
	switch status {
	case http.StatusProxyAuthRequired:
		r.header.Set("Proxy-Authenticate", challenge)
	case http.StatusServiceUnavailable:
		r.header.Set("Retry-After", "1")
	}
	return r
}

// statusOf returns the status code of a refusal for reason. A reason that is
// not about the network, the proxy or the form of a request is a 403.
func statusOf(r decision.Reason, timeout bool) int {
	switch r { //nolint:exhaustive // everything else is policy
	case decision.NoIdentity:
		return http.StatusProxyAuthRequired
	case decision.ProtocolInvalid, decision.BadRequest:
		return http.StatusBadRequest
	case decision.DNSFailed, decision.ConnectFailed:
		if timeout {
			return http.StatusGatewayTimeout
		}
		return http.StatusBadGateway
	case decision.LimitExceeded:
		return http.StatusServiceUnavailable
	case decision.InternalError:
		return http.StatusInternalServerError
	}
	return http.StatusForbidden
}

// errorType returns the proxy error type for reason (RFC 9209, section 2.3).
func errorType(r decision.Reason, timeout bool) string {
	switch r { //nolint:exhaustive // everything else is policy
	case decision.DNSFailed:
		if timeout {
			return "dns_timeout"
		}
		return "dns_error"
	case decision.ConnectFailed:
		if timeout {
			return "connection_timeout"
		}
		return "destination_unavailable"
	case decision.URLLoopback, decision.URLPrivate, decision.URLLinkLocal, decision.URLMetadata, decision.URLCGNAT,
		decision.URLMulticast, decision.URLReserved, decision.URLEmbeddedV4, decision.URLSelf, decision.URLPinMismatch:
		return "destination_ip_prohibited"
	case decision.ProxyLoop:
		return "proxy_loop_detected"
	case decision.ProtocolInvalid, decision.BadRequest, decision.URLInvalid, decision.HostInvalid:
		return "http_request_error"
	case decision.LimitExceeded:
		return "connection_limit_reached"
	case decision.InternalError:
		return "proxy_internal_error"
	}
	return "http_request_denied"
}

// resultOf returns the metric result of a refusal for reason.
func resultOf(r decision.Reason, timeout bool) string {
	switch r { //nolint:exhaustive // everything else is a denial
	case decision.DNSFailed:
		return ResultDNSError
	case decision.ConnectFailed:
		if timeout {
			return ResultTimeout
		}
		return ResultConnectError
	case decision.LimitExceeded:
		return ResultLimit
	}
	return ResultDenied
}

// isFinal reports whether asking again cannot help.
func isFinal(r decision.Reason) bool {
	s := statusOf(r, false)
	return s == http.StatusForbidden || r == decision.ProtocolInvalid
}

// statusText returns the status text with the code in it, which is all that
// most clients show of a refused CONNECT.
func (r *refusal) statusText() string {
	return http.StatusText(r.status) + " (" + proxyName + ": " + r.reason.String() + ")"
}

// mark makes conn put the code into the status line that net/http writes next.
func (r *refusal) mark(conn *clientConn, minor int) {
	start := "HTTP/1." + strconv.Itoa(min(minor, 1)) + " " + strconv.Itoa(r.status) + " "
	conn.line = []byte(start + http.StatusText(r.status) + "\r\n")
	conn.phrase = []byte(start + r.statusText() + "\r\n")
}

// bytes returns the whole answer for a connection that ends after it.
func (r *refusal) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\n", r.status, r.statusText())
	_ = r.header.Write(&b)
	b.WriteString("Connection: close\r\n\r\n")
	b.Write(r.body)
	return b.Bytes()
}

// response returns the answer as if an origin had given it.
func (r *refusal) response(req *http.Request) *http.Response {
	return &http.Response{
		StatusCode: r.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: r.header,
		Body: io.NopCloser(bytes.NewReader(r.body)), ContentLength: int64(len(r.body)), Request: req,
	}
}

// refusal settles how x came out, and writes its refusal.
func (x *exchange) refusal(timeout bool) *refusal {
	timeout = timeout || x.decision.Timeout
	return x.refusalAs(statusOf(x.decision.Reason, timeout), timeout)
}

func (x *exchange) refusalAs(status int, timeout bool) *refusal {
	x.result = resultOf(x.decision.Reason, timeout)
	note := ""
	if x.decision.Reason == decision.ProtocolInvalid {
		note = x.decision.Detail // words of ours
	}
	return newRefusal(&x.decision, asked(&x.req), note, status, timeout)
}

// refuse answers x with its refusal.
func (x *exchange) refuse(w http.ResponseWriter) { x.answer(w, x.refusal(false)) }

// answer writes r through net/http, which keeps the connection open.
func (x *exchange) answer(w http.ResponseWriter, r *refusal) {
	minor := 1
	if x.conn.head.minor == 0 {
		minor = 0
	}
	r.mark(x.conn, minor)
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body)
}

// asked is the target as it was received, without what may be secret in it:
// user information, query and fragment.
func asked(req *decision.Request) string {
	text := req.Resource.ID
	if i := strings.IndexAny(text, "?#"); i >= 0 {
		text = text[:i]
	}
	scheme, rest, found := strings.Cut(text, "://")
	if !found {
		scheme, rest = "", text
	}
	authority, path, _ := strings.Cut(rest, "/")
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		text = "…" + authority[i:] + "/" + path
		if found {
			text = scheme + "://" + text
		}
	}
	if len(text) > maxAsked {
		text = text[:maxAsked] + "…"
	}
	return strings.ToValidUTF8(text, "?")
}

// refuseHead records and returns the answer to a head that net/http is not
// shown.
func (p *Proxy) refuseHead(h head, fault headFault) []byte {
	x := &exchange{p: p, mode: modeOf(h.method), start: p.o.Now(), req: question(h.method, h.target)}
	p.own(context.Background(), x, decision.ProtocolInvalid, string(fault))
	status := http.StatusBadRequest
	if fault == faultSize {
		status = http.StatusRequestHeaderFieldsTooLarge
	}
	r := x.refusalAs(status, false)
	p.o.Observer.EgressConnection(x.mode, x.result)
	return r.bytes()
}

// refuseUnread records and returns the answer to a request whose framing is
// sound and which net/http could not read all the same: mostly, its target is
// no URL. The decision point says so in its own words.
func (p *Proxy) refuseUnread(h head) []byte {
	x := &exchange{p: p, mode: modeOf(h.method), start: p.o.Now(), req: question(h.method, h.target)}
	ctx := context.Background()
	if p.admit(ctx, x, h.method, h.auth, nil) {
		p.own(ctx, x, decision.ProtocolInvalid, "net/http cannot read the request")
	}
	r := x.refusal(false)
	p.o.Observer.EgressConnection(x.mode, x.result)
	return r.bytes()
}
