package egress

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
)

// Resolve is what a redirect's target is taken for.
func Resolve(base decision.Endpoint, ref string) (string, bool) { return resolve(base, ref) }

// Seen is a request as the gate in front of net/http lets it through.
type Seen struct {
	Method, Target string
	Body           int // bytes of content
}

// Gate runs stream through a clientConn and returns what net/http's parser
// reads behind it, request by request.
func Gate(stream io.Reader) []Seen {
	p := &Proxy{o: Options{MaxHead: 4 << 10, Now: time.Now, HeadTimeout: time.Minute, Observer: nobody{}, Recorder: decision.Recorders{}, Logger: slog.New(slog.DiscardHandler)}}
	c := &clientConn{Conn: streamConn{Reader: stream}, p: p}
	br := bufio.NewReader(c)
	var out []Seen
	for {
		req, err := http.ReadRequest(br)
		if err != nil {
			return out
		}
		n, err := io.Copy(io.Discard, req.Body)
		out = append(out, Seen{req.Method, req.RequestURI, int(n)})
		if err != nil || req.Method == http.MethodConnect {
			return out
		}
		c.idle()
	}
}

// streamConn is a connection that says stream and hears nothing.
type streamConn struct{ io.Reader }

func (streamConn) Write(b []byte) (int, error)      { return len(b), nil }
func (streamConn) Close() error                     { return nil }
func (streamConn) LocalAddr() net.Addr              { return nil }
func (streamConn) RemoteAddr() net.Addr             { return nil }
func (streamConn) SetDeadline(time.Time) error      { return nil }
func (streamConn) SetReadDeadline(time.Time) error  { return nil }
func (streamConn) SetWriteDeadline(time.Time) error { return nil }
