package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// rawOrigin answers each connection with what script writes, after it has read
// one request head. It returns the port it listens on, at 127.1.0.1.
func rawOrigin(t *testing.T, script func(net.Conn, *http.Request)) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.1.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if req, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				script(conn, req)
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	addr, _ := ln.Addr().(*net.TCPAddr)
	return addr.Port
}

func says(text string) func(net.Conn, *http.Request) {
	return func(c net.Conn, _ *http.Request) { _, _ = io.WriteString(c, text) }
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{})
	wire := serve(t, newWorld()).dial(t)
	target := fmt.Sprintf("http://WWW.example.com.:%d//a%%2f^b/../c?q=1%%20&x=[y]#frag", origin.Port())
	wire.send(get(target,
		"Connection: close, X-Secret, keep-alive", "Connection:", "X-Secret: 1", "Keep-Alive: 5", "TE: trailers",
		"Proxy-Connection: keep-alive", basic("fetch_url", "permit"), "Proxy: http://evil.example", "Proxy-Foo: 1",
		"Upgrade: h2c", "HTTP2-Settings: AAA", "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Host: x", "Forwarded: for=x",
		"X-Upstream-Https-Proxy: http://10.0.0.1:1", "x-unix-socket: /var/run/docker.sock", "X-Toolgate-Tool: x",
		"Via: 1.0 first", "Authorization: Bearer mine", "Accept-Encoding: gzip, br", "Cookie: a=b"))
	if resp, _ := wire.answer("GET"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	got := origin.Seen()[0]
	want := http.Header{
		"Via": {"1.0 first", "1.1 toolgate-test"}, "Authorization": {"Bearer mine"},
		"Accept-Encoding": {"gzip, br"}, "Cookie": {"a=b"},
	}
	for name := range got.Header {
		if !slices.Equal(got.Header[name], want[name]) {
			t.Errorf("the origin saw %s: %q", name, got.Header[name])
		}
	}
	if len(got.Header) != len(want) {
		t.Errorf("the origin saw %v, want %v", got.Header, want)
	}
	if got.Host != fmt.Sprintf("www.example.com:%d", origin.Port()) || got.Proto != "HTTP/1.1" {
		t.Errorf("Host %q, %s", got.Host, got.Proto)
	}
	if !strings.HasPrefix(got.Target, "//a%2f") || !strings.HasSuffix(got.Target, "/../c?q=1%20&x=[y]") {
		t.Errorf("target %q", got.Target)
	}
}

func TestTargetGoesOnAsItIs(t *testing.T) {
	t.Parallel()
	port := rawOrigin(t, func(c net.Conn, r *http.Request) {
		_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(r.RequestURI), r.RequestURI)
	})
	proxy := serve(t, newWorld())
	for _, row := range []struct{ edge, method, rest, want string }{
		{"no path", "GET", "", "/"},
		{"a query without a path", "GET", "?q", "/?q"},
		{"an empty query", "GET", "/?", "/?"},
		{"a fragment is for the client", "GET", "/a#b?c", "/a"},
		{"bytes that a URL library would escape", "GET", "/a^b|c\"<>`{}", "/a^b|c\"<>`{}"},
		{"percent-encoding of all kinds", "GET", "/%41%2F%2f%00", "/%41%2F%2f%00"},
		{"dots", "GET", "/../a/./b//c", "/../a/./b//c"},
		{"a URL in the path", "GET", "/http://127.0.0.1/", "/http://127.0.0.1/"},
		{"two slashes, and bytes that are escaped behind them", "GET", "//a%2f^/..?^", "//a%2f%5E/..?^"},
		{"two slashes", "GET", "//127.0.0.1/x?y", "//127.0.0.1/x?y"},
		{"OPTIONS for the server as a whole", "OPTIONS", "", "*"},
		{"OPTIONS for the root", "OPTIONS", "/", "/"},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			wire := proxy.dial(t)
			wire.send(fmt.Sprintf("%s http://www.example.com:%d%s HTTP/1.1\r\nHost: a\r\n\r\n", row.method, port, row.rest))
			if resp, got := wire.answer(row.method); got != row.want {
				t.Errorf("%q became %q, want %q (%s)", row.rest, got, row.want, resp.Status)
			}
		})
	}
}

func TestAnswerHeaders(t *testing.T) {
	t.Parallel()
	port := rawOrigin(t, says("HTTP/1.1 403 Forbidden (toolgate: url_private)\r\nContent-Length: 2\r\n"+
		"Connection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nProxy-Authenticate: Basic\r\nProxy-Connection: close\r\n"+
		"X-Toolgate-Reason: url_private\r\nx-toolgate-decision: 1\r\n"+
		"Proxy-Status: cdn; error=http_request_denied; details=\"a, toolgate; b\", ToolGate; error=destination_ip_prohibited\r\n"+
		"Proxy-Status: \"toolgate\"; x, last\r\nUpgrade: h2c\r\nETag: \"x\"\r\n\r\nno"))
	wire := serve(t, newWorld()).dial(t)
	wire.send(get(fmt.Sprintf("http://www.example.com:%d/", port)))
	resp, body := wire.answer("GET")
	resp.Header.Del("Date")
	want := http.Header{
		"Content-Length": {"2"}, "Etag": {`"x"`},
		"Proxy-Status": {`cdn; error=http_request_denied; details="a, toolgate; b", last`},
	}
	if fmt.Sprint(resp.Header) != fmt.Sprint(want) {
		t.Errorf("the client saw %v, want %v", resp.Header, want)
	}
	if resp.Status != "403 Forbidden" || body != "no" {
		t.Errorf("an origin spoke in our name: %s %q", resp.Status, body)
	}
}

func TestFidelity(t *testing.T) {
	t.Parallel()
	zipped := "\x1f\x8b\x08not really"
	for _, row := range []struct {
		edge, method, answer, body string
		check                      func(*http.Response) bool
	}{
		{"compressed bytes stay", "GET", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 13\r\n\r\n" + zipped, zipped, func(r *http.Response) bool {
			return r.Header.Get("Content-Encoding") == "gzip" && r.ContentLength == int64(len(zipped)) && r.Header["Content-Type"] == nil
		}},
		{"until the end of the connection", "GET", "HTTP/1.0 200 OK\r\n\r\nold", "old", func(r *http.Response) bool {
			return slices.Equal(r.TransferEncoding, []string{"chunked"})
		}},
		{"HEAD keeps the length", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "", func(r *http.Response) bool {
			return r.ContentLength == 5
		}},
		{"204", "GET", "HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", "", func(r *http.Response) bool { return r.Header.Get("X") == "y" }},
		{"304", "GET", "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n", "", func(r *http.Response) bool { return r.StatusCode == 304 }},
		{"a code that nobody knows", "GET", "HTTP/1.1 299 Odd\r\nContent-Length: 0\r\n\r\n", "", func(r *http.Response) bool { return r.StatusCode == 299 }},
		{
			"trailers", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Toolgate-Reason\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\nX-Toolgate-Reason: x\r\n\r\n", "ok",
			func(r *http.Response) bool { return fmt.Sprint(r.Trailer) == "map[X-Sum:[7]]" },
		},
		{"two cookies", "GET", "HTTP/1.1 200 OK\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nContent-Length: 0\r\n\r\n", "", func(r *http.Response) bool {
			return slices.Equal(r.Header["Set-Cookie"], []string{"a", "b"})
		}},
		{"a 101 that nobody asked for", "GET", "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", "refused", func(r *http.Response) bool {
			return r.StatusCode == 502 && r.Header.Get("X-Toolgate-Reason") == "connect_failed"
		}},
		{"no HTTP", "GET", "SSH-2.0-x\r\n", "refused", func(r *http.Response) bool { return r.StatusCode == 502 }},
		{"no answer at all", "GET", "", "refused", func(r *http.Response) bool { return r.StatusCode == 502 }},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			wire := serve(t, newWorld()).dial(t)
			wire.send(fmt.Sprintf("%s http://www.example.com:%d/ HTTP/1.1\r\nHost: a\r\n\r\n", row.method, rawOrigin(t, says(row.answer))))
			resp, body := wire.answer(row.method)
			if row.body == "refused" {
				wantRefusal(t, resp, body)
			} else if body != row.body {
				t.Errorf("body %q", body)
			}
			if !row.check(resp) {
				t.Errorf("%s %v %v %v", resp.Status, resp.Header, resp.TransferEncoding, resp.Trailer)
			}
		})
	}
}

// TestABrokenAnswerIsSeenToBeBroken: the end of half an answer must not look
// like the end of it.
func TestABrokenAnswerIsSeenToBeBroken(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello",
	} {
		client := serve(t, newWorld()).client(t, nil)
		resp, err := client.Get(fmt.Sprintf("http://www.example.com:%d/", rawOrigin(t, says(answer))))
		if err != nil {
			continue // broken before its head was on its way
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err == nil || !strings.HasPrefix("hello", string(body)) {
			t.Errorf("%q, %v: want an error", body, err)
		}
	}
}

func TestEventsArriveAtOnce(t *testing.T) {
	t.Parallel()
	events := make(chan string)
	origin := origintest.New(t, origintest.Options{Handler: origintest.Events(events)})
	client := serve(t, newWorld()).client(t, nil)
	resp, err := client.Get(origin.URL("www.example.com", "/")) // the head comes before any event
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for _, text := range []string{"one", "two"} {
		events <- text
		if line, err := lines.ReadString('\n'); line != "data: "+text+"\n" {
			t.Fatalf("%q, %v", line, err)
		}
		_, _ = lines.ReadString('\n')
	}
	close(events)
	if rest, err := io.ReadAll(lines); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestBothWaysAtOnce: an answer runs while the upload does (report P22).
func TestBothWaysAtOnce(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := http.NewResponseController(w)
		_ = out.EnableFullDuplex()
		var b [64]byte
		for {
			n, err := r.Body.Read(b[:])
			_, _ = w.Write(b[:n])
			_ = out.Flush()
			if err != nil {
				return
			}
		}
	})})
	world := newWorld()
	client := serve(t, world).client(t, nil)
	pr, pw := io.Pipe()
	req, _ := http.NewRequest(http.MethodPost, origin.URL("www.example.com", "/"), pr)
	go func() { _, _ = io.WriteString(pw, "first") }()
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b [5]byte
	for _, text := range []string{"first", "secnd"} {
		if text != "first" {
			_, _ = io.WriteString(pw, text)
		}
		if _, err := io.ReadFull(resp.Body, b[:]); err != nil || string(b[:]) != text {
			t.Fatalf("%q, %v", b, err)
		}
	}
	_ = pw.Close()
	if rest, err := io.ReadAll(resp.Body); len(rest) > 0 || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	eventually(t, "the bytes are counted", func() bool {
		world.mu.Lock()
		defer world.mu.Unlock()
		return world.sent == 10 && world.received == 10
	})
}

func TestLargeBodies(t *testing.T) {
	t.Parallel()
	const size = 8 << 20
	blob := origintest.New(t, origintest.Options{Handler: origintest.Blob(size)})
	echo := origintest.New(t, origintest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		_, _ = io.Copy(sum, r.Body)
		_, _ = fmt.Fprintf(w, "%x", sum.Sum(nil))
	})})
	client := serve(t, newWorld()).client(t, nil)
	resp, err := client.Get(blob.URL("www.example.com", "/"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	if n != size || err != nil || resp.ContentLength != size {
		t.Errorf("download: %d bytes, %v", n, err)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	for _, body := range []io.Reader{bytes.NewReader(data), io.MultiReader(bytes.NewReader(data))} { // with length, chunked
		resp, err := client.Post(echo.URL("www.example.com", "/"), "", body)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if want := fmt.Sprintf("%x", sha256.Sum256(data)); string(got) != want {
			t.Errorf("upload: %s", got)
		}
	}
}

func TestExpectContinueAndHints(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.Header().Set("X-Toolgate-Reason", "x")
		w.WriteHeader(http.StatusEarlyHints)
		_, _ = io.Copy(w, r.Body)
	})})
	proxy := serve(t, newWorld())
	var hints []string
	ctx := httptrace.WithClientTrace(context.Background(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
			hints = append(hints, fmt.Sprint(code, h))
			return nil
		},
	})
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, origin.URL("www.example.com", "/yes"), strings.NewReader("body"))
	req.Header.Set("Expect", "100-continue")
	client := proxy.client(t, nil)
	tr, _ := client.Transport.(*http.Transport)
	tr.ExpectContinueTimeout = 20 * time.Second
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(body) != "body" || !slices.Contains(hints, "103 map[Link:[</style.css>]]") {
		t.Errorf("%q, hints %q", body, hints)
	}

	wire := proxy.dial(t)
	no := rawOrigin(t, says("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n"))
	wire.send(fmt.Sprintf("POST http://www.example.com:%d/ HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", no))
	if resp, _ := wire.answer("POST"); resp.StatusCode != 417 {
		t.Errorf("the origin's 417 came as %s", resp.Status)
	}
}

func TestWebSocket(t *testing.T) {
	t.Parallel()
	port := rawOrigin(t, func(c net.Conn, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Connection") != "Upgrade" || r.Header.Get("Sec-WebSocket-Key") != "k" {
			_, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Accept: y\r\n\r\n")
		_, _ = io.CopyN(c, c, 9)
	})
	world := newWorld()
	wire := serve(t, world).dial(t)
	// The first frame comes in the same write.
	wire.send(get(fmt.Sprintf("http://www.example.com:%d/ws", port), "Connection: keep-alive, Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: k") + "early")
	resp, err := http.ReadResponse(wire.r, nil)
	if err != nil || resp.StatusCode != 101 || resp.Header.Get("Sec-WebSocket-Accept") != "y" {
		t.Fatalf("%v %v", resp, err)
	}
	wire.send("late")
	var b [9]byte
	if _, err := io.ReadFull(wire.r, b[:]); err != nil || string(b[:]) != "earlylate" {
		t.Errorf("%q, %v", b, err)
	}
	if !wire.ended() {
		t.Error("the connection stays open")
	}
	eventually(t, "the end is told", func() bool {
		world.mu.Lock()
		defer world.mu.Unlock()
		return len(world.ended) == 1 && world.ended[0].Sent == 9 && world.ended[0].Received == 9 &&
			world.ended[0].Addr == fmt.Sprintf("127.1.0.1:%d", port)
	})
}
