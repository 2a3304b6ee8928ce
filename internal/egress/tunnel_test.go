package egress_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

func tlsFor(ca *origintest.CA) *tls.Config {
	return &tls.Config{RootCAs: ca.Pool(), MinVersion: tls.VersionTLS12}
}

type dialer func() (net.Conn, error)

func (d dialer) Dial(context.Context, decision.Vetted) (net.Conn, error) { return d() }

func withDialer(d dialer) func(*egress.Options) {
	return func(o *egress.Options) { o.Dialer = d }
}

// peer listens at 127.1.0.1 and hands its connections on.
func peer(t *testing.T) (string, chan *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.1.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := make(chan *net.TCPConn, 16)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			tcp, _ := conn.(*net.TCPConn)
			conns <- tcp
		}
	}()
	t.Cleanup(func() {
		_ = ln.Close()
		<-done
	})
	return "www.example.com:" + portOf(ln), conns
}

func TestConnect(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ edge, text, line string }{
		{"HTTP/1.1", "CONNECT AT HTTP/1.1\r\nHost: AT\r\n\r\n", "HTTP/1.1 200 Connection established"},
		{"HTTP/1.0 without Host, as Python sends it (report P38)", "CONNECT AT HTTP/1.0\r\n\r\n", "HTTP/1.0 200 Connection established"},
		{"Host is a decoy (report P39)", "CONNECT AT HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "HTTP/1.1 200 Connection established"},
		{"the first bytes come with the request", "CONNECT AT HTTP/1.1\r\nHost: a\r\n\r\n\x16\x03\x01early", "HTTP/1.1 200 Connection established"},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			at, conns := peer(t)
			world := newWorld()
			wire := serve(t, world).dial(t)
			wire.send(strings.ReplaceAll(row.text, "AT", at))
			line, err := wire.r.ReadString('\n')
			if err != nil || strings.TrimSpace(line) != row.line {
				t.Fatalf("%q, %v", line, err)
			}
			if line, _ = wire.r.ReadString('\n'); line != "\r\n" {
				t.Fatalf("a header in a 200: %q", line)
			}
			far := <-conns
			defer far.Close()
			wire.send("\n\x00ping")
			_, sent, _ := strings.Cut(row.text, "\r\n\r\n")
			sent += "\n\x00ping"
			got := make([]byte, len(sent))
			if _, err := io.ReadFull(far, got); err != nil || string(got) != sent {
				t.Fatalf("%q, %v", got, err)
			}
			// Half-close: the client has ended, the origin still speaks.
			_ = wire.CloseWrite()
			if rest, err := io.ReadAll(far); len(rest) > 0 || err != nil {
				t.Fatalf("%q, %v", rest, err)
			}
			_, _ = io.WriteString(far, "pong")
			_ = far.CloseWrite()
			if rest, err := io.ReadAll(wire.r); string(rest) != "pong" || err != nil {
				t.Fatalf("%q, %v", rest, err)
			}
			eventually(t, "the end is told", func() bool {
				world.mu.Lock()
				defer world.mu.Unlock()
				n := len(world.ended)
				return n > 0 && world.ended[n-1].Sent == int64(len(sent)) && world.ended[n-1].Received == 4 &&
					world.ended[n-1].Addr == far.LocalAddr().String() && world.ended[n-1].Decision.Allowed()
			})
			eventually(t, "nothing is active", func() bool {
				return world.underway("connect") == 0 && world.counted("connect ok") == 1
			})
		})
	}
}

// TestTunnelBreaks: whichever side resets, the other one learns of it.
func TestTunnelBreaks(t *testing.T) {
	t.Parallel()
	at, conns := peer(t)
	proxy := serve(t, newWorld())
	for _, side := range []string{"client", "origin"} {
		wire := proxy.dial(t)
		wire.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
		_, _ = wire.answer("CONNECT")
		far := <-conns
		breaks, stays := wire.TCPConn, far
		if side == "origin" {
			breaks, stays = far, wire.TCPConn
		}
		_ = breaks.SetLinger(0)
		_ = breaks.Close()
		if _, err := stays.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s reset: the other side reads on", side)
		}
		_ = stays.Close()
	}
}

// TestClientLeavesWhileDialling: its dial is given up.
func TestClientLeavesWhileDialling(t *testing.T) {
	t.Parallel()
	dialling, left := make(chan struct{}), make(chan struct{})
	world := newWorld()
	proxy := serve(t, world, func(o *egress.Options) {
		o.Dialer = waiting{dialling, left}
	})
	wire := proxy.dial(t)
	wire.send("CONNECT www.example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n")
	<-dialling
	_ = wire.Close()
	select {
	case <-left:
	case <-time.After(10 * time.Second):
		t.Error("the dial goes on")
	}
}

type waiting struct{ dialling, left chan struct{} }

func (w waiting) Dial(ctx context.Context, _ decision.Vetted) (net.Conn, error) {
	close(w.dialling)
	<-ctx.Done()
	close(w.left)
	return nil, ctx.Err()
}

func TestTLSThroughATunnel(t *testing.T) {
	t.Parallel()
	ca := origintest.NewCA(t)
	origin := origintest.New(t, origintest.Options{TLS: ca, Names: []string{"www.example.com"}, Handler: origintest.Blob(3 << 20)})
	client := serve(t, newWorld()).client(t, nil)
	tr, _ := client.Transport.(*http.Transport)
	tr.TLSClientConfig = tlsFor(ca)
	resp, err := client.Get(origin.URL("www.example.com", "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if n, err := io.Copy(io.Discard, resp.Body); n != 3<<20 || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	_, err = client.Get(origin.URL("private.example.com", "/"))
	if err == nil || !strings.Contains(err.Error(), "Forbidden (toolgate: url_private)") {
		t.Errorf("a refused CONNECT reads %v", err)
	}
}
