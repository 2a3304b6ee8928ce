package egress

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/elazarl/goproxy"
)

// Proxy is a forward proxy. It is safe for concurrent use.
type Proxy struct {
	o         Options
	via       string // our pseudonym in Via
	relay     *goproxy.ProxyHttpServer
	transport *http.Transport

	mu       sync.Mutex
	active   int // requests and tunnels
	draining bool
	closed   bool
	conns    map[*clientConn]struct{}
	idle     chan struct{}  // closed when draining and nothing is active
	gone     chan struct{}  // closed when Shutdown is at its end
	running  sync.WaitGroup // what active counts
}

// New checks o.
func New(o Options) (*Proxy, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	name := o.Name
	if name == "" {
		name = strings.ToLower(rand.Text()[:12])
	}
	p := &Proxy{
		o: o, via: viaName + "-" + name,
		conns: map[*clientConn]struct{}{},
		idle:  make(chan struct{}), gone: make(chan struct{}),
	}
	p.transport = newTransport(o)
	p.relay = newRelay(p)
	return p, nil
}

// connKey is where a request's context has its clientConn.
type connKey struct{}

// Serve takes connections from ln until ctx is done or Shutdown is at its end.
// Then everything is closed at once; to let requests and tunnels end, call
// Shutdown first. No goroutine and no connection outlives it. ln is closed.
func (p *Proxy) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{
		Handler:           http.HandlerFunc(p.serveHTTP),
		ReadHeaderTimeout: p.o.HeadTimeout,
		IdleTimeout:       p.o.IdleTimeout,
		MaxHeaderBytes:    p.o.MaxHead, // checked by clientConn; net/http adds slack
		ErrorLog:          slog.NewLogLogger(p.o.Logger.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
		ConnState: func(c net.Conn, s http.ConnState) {
			cc, ok := c.(*clientConn)
			switch {
			case !ok:
			case s == http.StateIdle:
				cc.idle()
			case s == http.StateHijacked:
				cc.raw.Store(true)
			}
		},
	}
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)

	served := make(chan error, 1)
	go func() { served <- srv.Serve(&listener{ln, p}) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	case <-p.gone:
	}
	_ = srv.Close()
	p.closeAll()
	p.running.Wait()
	p.transport.CloseIdleConnections()
	if err == nil {
		err = <-served
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("egress: %w", err)
}

// Shutdown refuses new requests and tunnels (limit_exceeded) and waits until
// those under way have ended, or until ctx is done. Then Serve closes what is
// left and returns. The error is ctx's if something was cut off.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.mu.Lock()
	if !p.draining && p.active == 0 {
		close(p.idle)
	}
	p.draining = true
	p.mu.Unlock()
	var err error
	select {
	case <-p.idle:
	case <-ctx.Done():
		err = ctx.Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
	default:
		close(p.gone)
	}
	return err
}

// enter counts a request in; false: there is no room, or the proxy drains.
func (p *Proxy) enter(mode string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draining || p.closed || p.active >= p.o.MaxActive {
		return false
	}
	p.active++
	p.running.Add(1)
	p.o.Observer.EgressActive(mode, 1)
	return true
}

// leave counts a request out.
func (p *Proxy) leave(mode string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.o.Observer.EgressActive(mode, -1)
	p.active--
	p.running.Done()
	if p.active == 0 && p.draining {
		close(p.idle)
	}
}

// closeAll closes every client connection. That ends what depends on it: a
// request's context is done, and a tunnel closes its other side.
func (p *Proxy) closeAll() {
	p.mu.Lock()
	p.closed = true
	conns := make([]net.Conn, 0, len(p.conns))
	for c := range p.conns {
		conns = append(conns, c)
	}
	p.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
	}
}

// forget drops a client connection that was closed.
func (p *Proxy) forget(c *clientConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.conns, c)
}

// listener hands net/http connections that are looked after.
type listener struct {
	net.Listener
	p *Proxy
}

// Accept implements net.Listener. A connection over the limit is closed at
// once: it must not take descriptors that the other listeners of the process
// need.
func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &clientConn{Conn: conn, p: l.p}
		switch kept, closed := l.p.keep(c); {
		case kept:
			return c, nil
		case closed:
			_ = conn.Close()
			return nil, net.ErrClosed
		}
		_ = conn.Close()
		l.p.o.Observer.EgressConnection(ModeHTTP, ResultLimit)
	}
}

// keep looks after a client connection, unless there are too many or the proxy
// is closed.
func (p *Proxy) keep(c *clientConn) (kept, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.conns) >= p.o.MaxConns {
		return false, p.closed
	}
	p.conns[c] = struct{}{}
	return true, false
}

// elapsed is the time since start.
func (p *Proxy) elapsed(start time.Time) time.Duration { return p.o.Now().Sub(start) }
