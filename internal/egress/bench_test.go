package egress_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/elazarl/goproxy"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// bare is goproxy as it is for nobody's protection, with a tuned pool. It
// reaches every origin at 127.1.0.1.
func bare(b *testing.B) string {
	b.Helper()
	p := goproxy.NewProxyHttpServer()
	p.ConnectDial = nil
	dial := func(_, addr string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(addr)
		if err != nil {
			return nil, err
		}
		return net.Dial("tcp", "127.1.0.1:"+port)
	}
	p.Tr = &http.Transport{
		DialContext:         func(_ context.Context, network, addr string) (net.Conn, error) { return dial(network, addr) },
		MaxIdleConnsPerHost: 256,
	}
	p.ConnectDial = dial
	srv := httptest.NewServer(p)
	b.Cleanup(func() {
		srv.Close()
		p.Tr.CloseIdleConnections()
	})
	return srv.Listener.Addr().String()
}

// guarded is a toolgate proxy with a policy that costs next to nothing.
func guarded(b *testing.B) string {
	b.Helper()
	w := newWorld()
	w.decide = func(_ *decision.Request) (decision.Decision, bool) {
		w.asked = nil
		return decision.Decision{}, false
	}
	return serve(b, w, func(o *egress.Options) { o.Ends = nil }).addr
}

func BenchmarkHTTP(b *testing.B) {
	origin := origintest.New(b, origintest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, origintest.Greeting)
	})})
	request := fmt.Sprintf("GET http://www.example.com:%d/ HTTP/1.1\r\nHost: www.example.com\r\nUser-Agent: x\r\n\r\n", origin.Port())
	for name, start := range map[string]func(*testing.B) string{"bare": bare, "toolgate": guarded} {
		b.Run(name, func(b *testing.B) {
			conn, err := net.Dial("tcp", start(b))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			r := bufio.NewReader(conn)
			b.ReportAllocs()
			for b.Loop() {
				roundTrip(b, conn, r, request)
			}
		})
	}
}

func BenchmarkConnect(b *testing.B) {
	origin := origintest.New(b, origintest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, origintest.Greeting)
	})})
	connect := fmt.Sprintf("CONNECT www.example.com:%d HTTP/1.1\r\nHost: www.example.com\r\n\r\n", origin.Port())
	for name, start := range map[string]func(*testing.B) string{"bare": bare, "toolgate": guarded} {
		b.Run(name, func(b *testing.B) {
			addr := start(b)
			b.ReportAllocs()
			for b.Loop() {
				conn, err := net.Dial("tcp", addr)
				if err != nil {
					b.Fatal(err)
				}
				r := bufio.NewReader(conn)
				_, _ = io.WriteString(conn, connect)
				resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
				if err != nil || resp.StatusCode != 200 {
					b.Fatal(resp, err)
				}
				roundTrip(b, conn, r, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				_ = conn.Close()
			}
		})
	}
}

// BenchmarkTunnel is bulk through an open tunnel: the kernel should do it.
func BenchmarkTunnel(b *testing.B) {
	const size = 1 << 20
	origin := origintest.New(b, origintest.Options{Handler: origintest.Blob(size)})
	for name, start := range map[string]func(*testing.B) string{"bare": bare, "toolgate": guarded} {
		b.Run(name, func(b *testing.B) {
			conn, err := net.Dial("tcp", start(b))
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close()
			r := bufio.NewReaderSize(conn, 64<<10)
			_, _ = fmt.Fprintf(conn, "CONNECT www.example.com:%d HTTP/1.1\r\nHost: a\r\n\r\n", origin.Port())
			if _, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect}); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(size)
			for b.Loop() {
				roundTrip(b, conn, r, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
			}
		})
	}
}

func roundTrip(b *testing.B, w io.Writer, r *bufio.Reader, request string) {
	b.Helper()
	if _, err := io.WriteString(w, request); err != nil {
		b.Fatal(err)
	}
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		b.Fatal(err)
	}
	if _, err = io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
		b.Fatal(resp.Status, err)
	}
	_ = resp.Body.Close()
}
