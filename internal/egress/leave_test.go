package egress_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// activity is how many requests or tunnels of mode are under way.
func (w *world) activity(mode string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active[mode]
}

// TestContentIsNeverARequest: what net/http leaves of content that it cannot
// read is not taken for a request, whose head nobody has checked.
func TestContentIsNeverARequest(t *testing.T) {
	t.Parallel()
	const hidden = "GET http://www.example.com:%d/hidden HTTP/1.1\nHost: a\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\r\n\r\n"
	for name, tc := range map[string]struct {
		before string // what stands before the hidden request, in its chunk's size line
		status int
	}{
		"a size of two words":       {"%x 5\r\n", 400},
		"blanks and an extension":   {"%x ;a=b\r\n", 400},
		"too much in extensions":    {strings.Repeat("1;"+strings.Repeat("a", 4000)+"\r\nx\r\n", 8) + "%x\r\n", 400},
		"a size with a bare LF":     {"%x\n", 400},
		"a size of too many digits": {"00000000000000000%x\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			origin := origintest.New(t, origintest.Options{})
			text := fmt.Sprintf(hidden, origin.Port())
			wire := serve(t, newWorld()).dial(t)
			wire.send(fmt.Sprintf("POST http://www.example.com:%d/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", origin.Port()) +
				fmt.Sprintf(tc.before, len(text)) + text + "\r\n0\r\n\r\n")
			resp, _ := wire.answer("POST")
			if resp.StatusCode != tc.status || resp.Header.Get("X-Toolgate-Reason") != "protocol_invalid" {
				t.Errorf("%s %q", resp.Status, resp.Header.Get("X-Toolgate-Reason"))
			}
			if !wire.ended() {
				t.Error("the connection stays open behind content that cannot be read")
			}
			for _, seen := range origin.Seen() {
				if seen.Target == "/hidden" {
					t.Error("content was served as a request")
				}
			}
		})
	}
	t.Run("the origin answers before the content is read", func(t *testing.T) {
		t.Parallel()
		port := rawOrigin(t, says("HTTP/1.1 204 No Content\r\n\r\n"))
		text := fmt.Sprintf(hidden, port)
		wire := serve(t, newWorld()).dial(t)
		wire.send(fmt.Sprintf("POST http://www.example.com:%d/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", port))
		if resp, _ := wire.answer("POST"); resp.StatusCode != 204 {
			t.Errorf("%s", resp.Status)
		}
		_, _ = wire.Write([]byte(fmt.Sprintf("%x 5\r\n", len(text)) + text + "\r\n0\r\n\r\n")) // the proxy may have closed
		if !wire.ended() {
			t.Error("the connection stays open")
		}
	})
}

// TestAClientThatLeavesIsNoticed: also behind bytes that it sent ahead.
func TestAClientThatLeavesIsNoticed(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]string{
		"nothing ahead": "", "one byte ahead": "G", "a request ahead": get("http://www.example.com/", "", ""),
		"more ahead than is kept": strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld()
			origin := origintest.New(t, origintest.Options{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
			})})
			wire := serve(t, w).dial(t)
			wire.send(get(fmt.Sprintf("http://www.example.com:%d/", origin.Port()), "", ""))
			eventually(t, "the request arrives", func() bool { return len(origin.Seen()) == 1 })
			_, _ = wire.Write([]byte(ahead)) // the proxy may not want all of it
			_ = wire.Close()
			eventually(t, "the request ends", func() bool { return w.activity(egress.ModeHTTP) == 0 })
		})
	}
}

// TestHalfATunnelEnds: where the client has ended its direction, which is all
// that is seen of one that has left, a silent origin does not hold the tunnel,
// and one that speaks does.
func TestHalfATunnelEnds(t *testing.T) {
	t.Parallel()
	const limit = 300 * time.Millisecond
	w := newWorld()
	at, conns := peer(t)
	wire := serve(t, w, func(o *egress.Options) { o.HalfClosed = limit }).dial(t)
	wire.send("CONNECT " + at + " HTTP/1.1\r\nHost: a\r\n\r\n")
	if resp, _ := wire.answer("CONNECT"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	origin := <-conns
	time.Sleep(2 * limit) // silence has no limit while both sides may speak
	_ = wire.CloseWrite()
	for range 12 { // longer than the limit in all
		time.Sleep(limit / 4)
		if _, err := origin.Write([]byte("x")); err != nil {
			t.Fatalf("cut off while it spoke: %v", err)
		}
	}
	if n := w.activity(egress.ModeConnect); n != 1 {
		t.Fatalf("%d tunnels while the origin speaks", n)
	}
	eventually(t, "the tunnel ends", func() bool { return w.activity(egress.ModeConnect) == 0 })
}
