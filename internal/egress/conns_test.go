package egress_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/egress"
)

// TestConnectionsAreBounded: connections over the limit are closed at once and
// counted, and room that is given back is used again.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld()
	r := serve(t, w, func(o *egress.Options) { o.MaxConns = 2 })
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
		return conn
	}
	// answered reports whether a connection is served: a refusal is an answer.
	answered := func(conn net.Conn) bool {
		fmt.Fprint(conn, "GET http://private.example.com/ HTTP/1.1\r\nHost: private.example.com\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return true
	}
	first, second := dial(), dial()
	if !answered(first) || !answered(second) {
		t.Fatal("a connection within the limit is not served")
	}
	if answered(dial()) {
		t.Error("a third connection is served")
	}
	if w.counted("http limit") == 0 {
		t.Error("it was not counted")
	}
	_ = first.Close()
	ok := false
	for range 100 {
		if ok = answered(dial()); ok {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if !ok {
		t.Error("room that was given back is not used")
	}
}
