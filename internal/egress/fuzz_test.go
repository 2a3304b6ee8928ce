package egress_test

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/toolgate/toolgate/internal/egress"
)

func mustParse(tb testing.TB, s string) *url.URL {
	tb.Helper()
	u, err := url.Parse(s)
	if err != nil {
		tb.Fatal(err)
	}
	return u
}

// FuzzGate sends a stream of bytes through the gate in front of net/http, in
// one piece and byte by byte. However it comes, the same requests must come
// out, and each must be one that net/http also reads at that place of the bare
// stream: the gate may refuse, but never shift where a request begins.
func FuzzGate(f *testing.F) {
	for _, s := range []string{
		"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
		"\r\n\r\nGET http://a/ HTTP/1.0\r\n\r\nGET http://b/ HTTP/1.0\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nT: 1\r\n\r\nGET http://b/ HTTP/1.1\r\nHost: b\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n00\r\n\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
		"POST http://a/ HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET",
		"GET http://a/ HTTP/1.1\r\nHost: a\r\nX: 1\r\n folded\r\n\r\n",
		"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01", "\x05\x01\x00", "GET / HTTP/1.1\nHost: a\n\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		whole := egress.Gate(bytes.NewReader(stream))
		bytewise := egress.Gate(iotest.OneByteReader(bytes.NewReader(stream)))
		if len(whole) != len(bytewise) {
			t.Fatalf("in one piece %v, byte by byte %v", whole, bytewise)
		}
		bare := bufio.NewReader(bytes.NewReader(stream))
		for i, seen := range whole {
			if seen != bytewise[i] {
				t.Fatalf("in one piece %v, byte by byte %v", whole, bytewise)
			}
			for {
				if b, err := bare.Peek(2); err != nil || string(b) != "\r\n" {
					break
				}
				_, _ = bare.Discard(2)
			}
			req, err := http.ReadRequest(bare)
			if err != nil {
				t.Fatalf("request %d is %v, but net/http: %v", i, seen, err)
			}
			n, _ := io.Copy(io.Discard, req.Body)
			if req.Method != seen.Method || req.RequestURI != seen.Target || int(n) != seen.Body {
				t.Fatalf("request %d is %v, but net/http reads %s %q with %d bytes", i, seen, req.Method, req.RequestURI, n)
			}
			if strings.ContainsAny(seen.Target, " \t\r\n\x00") {
				t.Fatalf("target %q", seen.Target)
			}
		}
	})
}
