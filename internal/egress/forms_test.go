package egress_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// TestHostileForms sends requests byte by byte as they are written here. None
// of those that are refused may reach the origin.
func TestHostileForms(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{})
	world := newWorld()
	proxy := serve(t, world)
	at := fmt.Sprintf("www.example.com:%d", origin.Port())
	u := "http://" + at + "/p"
	line := "GET " + u + " HTTP/1.1\r\n"
	for _, row := range []struct {
		edge   string
		text   string
		status int
		reason string
	}{
		{"absolute form", line + "Host: " + at + "\r\n\r\n", 200, ""},
		{"scheme in capitals", "GET HTTP://" + at + "/p HTTP/1.1\r\nHost: a\r\n\r\n", 200, ""},
		{"Host is a decoy and is not believed", line + "Host: 127.0.0.1\r\n\r\n", 200, ""},
		{"an empty line before the request", "\r\n" + line + "Host: a\r\n\r\n", 200, ""},
		{"HTTP/1.0 without Host", "GET " + u + " HTTP/1.0\r\n\r\n", 200, ""},
		{"origin form", "GET /p HTTP/1.1\r\nHost: " + at + "\r\n\r\n", 400, "protocol_invalid"},
		{"origin form with our own address", "GET /metrics HTTP/1.1\r\nHost: " + proxy.addr + "\r\n\r\n", 400, "protocol_invalid"},
		{"asterisk form", "OPTIONS * HTTP/1.1\r\nHost: " + at + "\r\n\r\n", 400, "protocol_invalid"},
		{"authority form without CONNECT", "GET " + at + " HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"absolute https", "GET https://" + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"absolute wss", "GET wss://" + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"absolute ws", "GET ws://" + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"another scheme", "GET ftp://" + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_scheme"},
		{"a file", "GET file:///etc/passwd HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_scheme"},
		{"one slash", "GET http:/" + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_invalid"},
		{"empty host", "GET http://:80/ HTTP/1.1\r\nHost: a\r\n\r\n", 403, "host_invalid"},
		{"no host at all", "GET http:///127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n", 403, "host_invalid"},
		{"user information", "GET http://u:p@" + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_userinfo"},
		{"what net/url cannot read is judged all the same", "GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n", 403, "host_invalid"},
		{"a percent sign alone in the host", "GET http://a%zz/ HTTP/1.1\r\nHost: a\r\n\r\n", 403, "host_invalid"},
		{"loopback", "GET http://127.0.0.1/ HTTP/1.1\r\nHost: www.example.com\r\n\r\n", 403, "url_loopback"},
		{"HTTP/1.0, loopback", "GET http://127.0.0.1/ HTTP/1.0\r\n\r\n", 403, "url_loopback"},

		{"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, "protocol_invalid"},
		{"HTTP/0.9", "GET " + u + "\r\n\r\n", 400, "protocol_invalid"},
		{"HTTP/1.2", "GET " + u + " HTTP/1.2\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"a TLS handshake", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "protocol_invalid"},
		{"a SOCKS5 handshake", "\x05\x01\x00", 400, "protocol_invalid"},
		{"two spaces in the request line", "GET  " + u + " HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"a space in the target", "GET " + u + " x HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"NUL in the target", "GET http://a\x00." + at + "/ HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"a method that is no token", "GE(T " + u + " HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},

		{"no Host in HTTP/1.1", line + "\r\n", 400, "protocol_invalid"},
		{"two Host fields", line + "Host: " + at + "\r\nHost: 127.0.0.1\r\n\r\n", 400, "protocol_invalid"},
		{"two equal Host fields", line + "Host: a\r\nhost: a\r\n\r\n", 400, "protocol_invalid"},
		{"a Host that net/http cannot read", line + "Host: a b\r\n\r\n", 400, "protocol_invalid"},
		{"Content-Length and Transfer-Encoding", line + "Host: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "protocol_invalid"},
		{"two lengths", line + "Host: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n1234", 400, "protocol_invalid"},
		{"one length twice", line + "Host: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n1234", 400, "protocol_invalid"},
		{"a list of lengths", line + "Host: a\r\nContent-Length: 4, 4\r\n\r\n1234", 400, "protocol_invalid"},
		{"a length with a sign", line + "Host: a\r\nContent-Length: +4\r\n\r\n1234", 400, "protocol_invalid"},
		{"a length beyond 63 bits", line + "Host: a\r\nContent-Length: 9999999999999999999\r\n\r\n", 400, "protocol_invalid"},
		{"another coding", line + "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, "protocol_invalid"},
		{"chunked twice", line + "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "protocol_invalid"},
		{"a coding behind a vertical tab", line + "Host: a\r\nTransfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400, "protocol_invalid"},
		{"chunked in HTTP/1.0", "POST " + u + " HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "protocol_invalid"},
		{"a folded field", line + "Host: a\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n", 400, "protocol_invalid"},
		{"a space before the colon", line + "Host: a\r\nContent-Length : 4\r\n\r\n1234", 400, "protocol_invalid"},
		{"a field without a name", line + "Host: a\r\n: x\r\n\r\n", 400, "protocol_invalid"},
		{"a bare line feed", line + "Host: a\nX: 1\r\n\r\n", 400, "protocol_invalid"},
		{"bare line feeds only", "GET " + u + " HTTP/1.1\nHost: a\n\n", 400, "protocol_invalid"},
		{"a bare carriage return in a value", line + "Host: a\r\nX: 1\r2\r\n\r\n", 400, "protocol_invalid"},
		{"NUL in a value", line + "Host: a\r\nX: 1\x002\r\n\r\n", 400, "protocol_invalid"},
		{"an expectation that nobody knows", line + "Host: a\r\nExpect: luck\r\nContent-Length: 1\r\n\r\n", 400, "protocol_invalid"},
		{"a head without end", line + "X: " + strings.Repeat("a", 70<<10), 431, "protocol_invalid"},

		{"our name in Via", line + "Host: a\r\nVia: 1.1 toolgate\r\n\r\n", 403, "proxy_loop"},
		{"our process in Via, among others", line + "Host: a\r\nVia: 1.0 x, HTTP/1.1 TOOLGATE-test (y)\r\n\r\n", 403, "proxy_loop"},
		{"another toolgate in Via", line + "Host: a\r\nVia: 1.1 toolgate-other, 1.1 toolgates\r\n\r\n", 200, ""},

		{"CONNECT to loopback", "CONNECT 127.0.0.1:443 HTTP/1.1\r\nHost: www.example.com\r\n\r\n", 403, "url_loopback"},
		{"CONNECT without a port", "CONNECT www.example.com HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_port"},
		{"CONNECT with an empty port", "CONNECT www.example.com: HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_port"},
		{"CONNECT with a signed port", "CONNECT www.example.com:+443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_port"},
		{"CONNECT to port 0", "CONNECT www.example.com:0 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_port"},
		{"CONNECT to nothing but a port", "CONNECT :443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "host_invalid"},
		{"CONNECT without a target", "CONNECT  HTTP/1.1\r\nHost: a\r\n\r\n", 400, "protocol_invalid"},
		{"CONNECT to an asterisk", "CONNECT * HTTP/1.1\r\nHost: a\r\n\r\n", 403, "host_invalid"},
		{"CONNECT to a URL", "CONNECT http://www.example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_invalid"},
		{"CONNECT to a path", "CONNECT /x:443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_invalid"},
		{"CONNECT with user information", "CONNECT u@www.example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_userinfo"},
		{"CONNECT with double brackets", "CONNECT [[::1]]:443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "host_invalid"},
		{"CONNECT with content", "CONNECT www.example.com:443 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 400, "protocol_invalid"},
		{"CONNECT in HTTP/1.0 without Host", "CONNECT 127.0.0.1:443 HTTP/1.0\r\n\r\n", 403, "url_loopback"},
		{"CONNECT through ourselves", "CONNECT www.example.com:443 HTTP/1.1\r\nHost: a\r\nVia: 1.1 toolgate-test\r\n\r\n", 403, "proxy_loop"},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			wire := proxy.dial(t)
			wire.send(row.text)
			method, _, _ := strings.Cut(row.text, " ")
			resp, body := wire.answer(method)
			if resp.StatusCode != row.status || resp.Header.Get("X-Toolgate-Reason") != row.reason {
				t.Fatalf("%s %v, want %d %s\n%s", resp.Status, resp.Header, row.status, row.reason, body)
			}
			if row.reason == "" {
				return
			}
			wantRefusal(t, resp, body)
		})
	}
	t.Cleanup(func() {
		for _, r := range origin.Seen() {
			if r.Target != "/p" {
				t.Errorf("the origin saw %s %s", r.Method, r.Target)
			}
		}
		for _, d := range world.refusals() {
			if d.ID == "" || d.Allowed() {
				t.Errorf("recorded %+v", d)
			}
		}
	})
}

// wantRefusal checks an answer against the contract (section 5).
func wantRefusal(tb testing.TB, resp *http.Response, body string) {
	tb.Helper()
	reason := resp.Header.Get("X-Toolgate-Reason")
	want := fmt.Sprintf("%d %s (toolgate: %s)", resp.StatusCode, http.StatusText(resp.StatusCode), reason)
	if resp.Status != want {
		tb.Errorf("status line %q, want %q", resp.Status, want)
	}
	if _, ok := decision.ParseReason(reason); !ok {
		tb.Errorf("%q is no reason", reason)
	}
	status := resp.Header.Get("Proxy-Status")
	if !strings.HasPrefix(status, "toolgate; error=") || !strings.HasSuffix(status, fmt.Sprintf("; details=%q", reason)) {
		tb.Errorf("Proxy-Status %q", status)
	}
	if resp.ContentLength != int64(len(body)) || len(resp.TransferEncoding) > 0 {
		tb.Errorf("length %d of %d bytes, %v", resp.ContentLength, len(body), resp.TransferEncoding)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "application/problem+json" {
		tb.Errorf("Content-Type %q", ct)
	}
	var problem struct {
		Type, Title, Detail, Instance, Reason string
		Status                                int
		Final                                 *bool
	}
	if err := json.Unmarshal([]byte(body), &problem); err != nil {
		tb.Fatalf("%v in %q", err, body)
	}
	if problem.Status != resp.StatusCode || problem.Reason != reason || problem.Final == nil || problem.Title == "" ||
		problem.Type == "" || problem.Detail == "" || problem.Instance == "" ||
		problem.Instance != resp.Header.Get("X-Toolgate-Decision") {
		tb.Errorf("problem %s", body)
	}
}
