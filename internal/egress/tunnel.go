package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"

	"github.com/elazarl/goproxy"

	"github.com/toolgate/toolgate/internal/decision"
)

// connect dials for a CONNECT that was allowed and, once that worked, gives it
// to goproxy. Until then the client's connection is net/http's, so that a
// refusal leaves it usable.
func (p *Proxy) connect(x *exchange, w http.ResponseWriter, r *http.Request) {
	upstream, err := p.o.Dialer.Dial(r.Context(), x.decision.Vetted)
	if err != nil {
		p.o.Logger.Debug("egress: no tunnel", "error", err)
		reason, timeout := faultOf(err)
		p.own(r.Context(), x, reason, "")
		x.answer(w, x.refusal(timeout))
		return
	}
	defer upstream.Close() //nolint:errcheck // in the good case it is closed already
	x.upstream = upstream
	p.relay.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	x.addr = upstream.RemoteAddr().String()
	p.ended(r.Context(), x)
}

// tunnel takes a hijacked connection from goproxy and relays until both
// directions have ended. A silent tunnel may stay open for hours (report P19),
// and TCP keep-alive finds dead peers. Only where one side has said its last
// word, silence has a limit: from here, a client that has left looks the same,
// and an origin that never ends would hold the tunnel for ever.
func (p *Proxy) tunnel(r *http.Request, client net.Conn, _ *goproxy.ProxyCtx) {
	defer client.Close() //nolint:errcheck // nobody to tell
	x := exchangeOf(r.Context())
	conn, ok := client.(*clientConn)
	if !ok || x == nil || x.upstream == nil {
		return
	}
	line := "HTTP/1." + strconv.Itoa(min(r.ProtoMinor, 1)) + " 200 Connection established\r\n\r\n"
	if _, err := io.WriteString(conn.Conn, line); err != nil {
		return
	}
	x.sent, x.received = p.relayTunnel(conn, x.upstream)
}

// halfCloser is a connection whose directions end one by one.
type halfCloser interface{ CloseWrite() error }

// relayTunnel copies in both directions. The copies see the bare connections,
// so that the kernel can splice TCP to TCP without the bytes passing through
// here.
func (p *Proxy) relayTunnel(client *clientConn, upstream net.Conn) (sent, received int64) {
	var wg sync.WaitGroup
	wg.Go(func() { received = p.pump(client.Conn, upstream, nil) })
	early := client.buf
	client.buf = nil
	sent = p.pump(upstream, client.Conn, early)
	wg.Wait()
	return sent, received
}

// pump copies from src, and first early, to dst until src ends, and then ends
// dst's direction. If the way is broken, both connections are closed, which
// ends the other direction too.
func (p *Proxy) pump(dst, src net.Conn, early []byte) int64 {
	var total int64
	var err error
	if len(early) > 0 {
		var n int
		n, err = dst.Write(early)
		total = int64(n)
	}
	if err == nil {
		var n int64
		n, err = p.copyAll(dst, src)
		total += n
	}
	if half, ok := dst.(halfCloser); ok && err == nil {
		err = half.CloseWrite()
	} else if !ok {
		_ = dst.Close()
	}
	if err == nil {
		err = p.limitSilence(dst)
	}
	if err != nil {
		_ = dst.Close()
		_ = src.Close()
	}
	return total
}

// limitSilence bounds how long c, whose other direction has ended, may say
// nothing.
func (p *Proxy) limitSilence(c net.Conn) error {
	return c.SetReadDeadline(p.o.Now().Add(p.o.HalfClosed))
}

// copyAll copies from src to dst until src ends. The limit of limitSilence is
// for silence: where bytes came in the meantime it begins anew.
func (p *Proxy) copyAll(dst, src net.Conn) (int64, error) {
	for total := int64(0); ; {
		n, err := io.Copy(dst, src)
		total += n
		if n == 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return total, err
		}
		if err := p.limitSilence(src); err != nil {
			return total, err
		}
	}
}

// ended tells the log that a tunnel has ended.
func (p *Proxy) ended(ctx context.Context, x *exchange) {
	if p.o.Ends == nil {
		return
	}
	d := x.decision
	p.o.Ends.Record(context.WithoutCancel(ctx), &decision.Event{
		Time: x.start, Request: &x.req, Decision: &d, Duration: p.elapsed(x.start),
		Addr: x.addr, Sent: x.sent, Received: x.received,
	})
}
