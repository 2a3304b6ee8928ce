package egress_test

import (
	"context"
	"errors"
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

func TestShutdown(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		edge string
		ends bool // the tunnel ends by itself in time
	}{{"all ends in time", true}, {"time is up", false}} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			at, conns := peer(t)
			world := newWorld()
			proxy := serve(t, world)
			tunnel, idle := proxy.dial(t), proxy.dial(t)
			tunnel.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
			_, _ = tunnel.answer("CONNECT")
			far := <-conns
			defer far.Close()
			idle.send("GET /ready HTTP/1.1\r\nHost: a\r\n\r\n")
			_, _ = idle.answer("GET") // a connection that is known and open
			idle = proxy.dial(t)

			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			stopped := make(chan error, 1)
			go func() { stopped <- proxy.Shutdown(ctx) }()
			eventually(t, "new requests are refused", func() bool {
				wire := proxy.dial(t)
				wire.send(get("http://"+at+"/", "Connection: close"))
				resp, body := wire.answer("GET")
				if resp.StatusCode == 503 {
					wantRefusal(t, resp, body)
				} else {
					_ = (<-conns).Close()
				}
				return resp.StatusCode == 503 && resp.Header.Get("X-Toolgate-Reason") == "limit_exceeded"
			})
			idle.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
			if resp, _ := idle.answer("GET"); resp.StatusCode != 503 {
				t.Errorf("a new tunnel while draining: %s", resp.Status)
			}
			tunnel.send("still there")
			if _, err := io.ReadFull(far, make([]byte, 11)); err != nil {
				t.Fatalf("the open tunnel: %v", err)
			}
			select {
			case err := <-stopped:
				t.Fatalf("Shutdown did not wait: %v", err)
			case err := <-proxy.done:
				t.Fatalf("Serve did not wait: %v", err)
			default:
			}
			if row.ends {
				_ = tunnel.CloseWrite()
				_ = far.Close()
			} else {
				cancel()
			}
			if err := <-stopped; row.ends != (err == nil) {
				t.Errorf("Shutdown: %v", err)
			}
			err := <-proxy.done
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
			proxy.done <- nil // for the cleanup
			if !tunnel.ended() || !idle.ended() {
				t.Error("a connection stays open")
			}
			if c, err := net.DialTimeout("tcp", proxy.addr, time.Second); err == nil {
				_ = c.Close()
				t.Error("the listener is still there")
			}
			if n := world.underway("connect") + world.underway("http"); n != 0 {
				t.Errorf("%d still active", n)
			}
		})
	}
}

// TestStopNow: when its context is done, Serve leaves nothing behind, whatever
// is under way. goleak looks after the rest.
func TestStopNow(t *testing.T) {
	t.Parallel()
	events := make(chan string)
	origin := origintest.New(t, origintest.Options{Handler: origintest.Events(events)})
	at, conns := peer(t)
	world := newWorld()
	proxy := serve(t, world)
	tunnel := proxy.dial(t)
	tunnel.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
	_, _ = tunnel.answer("CONNECT")
	far := <-conns
	stream := proxy.dial(t)
	stream.send(get(origin.URL("www.example.com", "/")))
	eventually(t, "the stream is open", func() bool { return len(origin.Seen()) == 1 })
	half := proxy.dial(t)
	half.send("GET http://www.exam")
	proxy.stop()
	if err := <-proxy.done; err != nil {
		t.Errorf("Serve: %v", err)
	}
	proxy.done <- nil // for the cleanup
	defer far.Close()
	_, err := far.Read(make([]byte, 1))
	var timeout net.Error
	if err == nil || errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the tunnel's far side is open: %v", err)
	}
	if !tunnel.ended() || !half.ended() {
		t.Error("a connection stays open")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	at, conns := peer(t)
	world := newWorld()
	proxy := serve(t, world, func(o *egress.Options) { o.MaxActive = 2 })
	var held []*wire
	for range 2 {
		wire := proxy.dial(t)
		wire.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
		_, _ = wire.answer("CONNECT")
		defer (<-conns).Close()
		held = append(held, wire)
	}
	third := proxy.dial(t)
	third.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
	resp, body := third.answer("GET")
	wantRefusal(t, resp, body)
	if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
	eventually(t, "the limit is counted", func() bool { return world.counted("connect limit") == 1 })
	_ = held[0].SetLinger(0)
	_ = held[0].Close()
	eventually(t, "there is room again", func() bool {
		third.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, err := http.ReadResponse(third.r, &http.Request{Method: "CONNECT"})
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != 200 {
			_, _ = io.Copy(io.Discard, resp.Body)
		}
		return resp.StatusCode == 200
	})
	defer (<-conns).Close()
}

// TestSlowHeads: whoever sends a head drop by drop is let go, on a new
// connection and on one that was good before.
func TestSlowHeads(t *testing.T) {
	t.Parallel()
	proxy := serve(t, newWorld(), func(o *egress.Options) { o.HeadTimeout = 50 * time.Millisecond })
	for _, before := range []string{"", "CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: a\r\n\r\n"} {
		wire := proxy.dial(t)
		if before != "" {
			wire.send(before)
			_, _ = wire.answer("GET")
		}
		wire.send("GET http://")
		if !wire.ended() {
			t.Errorf("after %q: a slow head is waited for", before)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	world := newWorld()
	good := egress.Options{
		Decider: world, Recorder: world, Identifier: world,
		Dialer: dialer(func() (net.Conn, error) { return nil, errors.New("x") }),
	}
	if _, err := egress.New(good); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(*egress.Options){
		"no decider":    func(o *egress.Options) { o.Decider = nil },
		"no recorder":   func(o *egress.Options) { o.Recorder = nil },
		"no identifier": func(o *egress.Options) { o.Identifier = nil },
		"no dialer":     func(o *egress.Options) { o.Dialer = nil },
		"times":         func(o *egress.Options) { o.IdleTimeout = -1 },
		"limits":        func(o *egress.Options) { o.MaxActive = -1 },
		"Via":           func(o *egress.Options) { o.Name = "a b" },
	} {
		o := good
		change(&o)
		if _, err := egress.New(o); err == nil || !strings.HasPrefix(err.Error(), "egress: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

var _ decision.Recorder = ends{}
