package origintest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// DefaultAddr is where an origin listens that was given no address. It is
// public in the test world.
const DefaultAddr = "127.1.0.1"

// maxRecorded bounds how much of a body is recorded.
const maxRecorded = 64 << 10

// Options configures an Origin. The zero value is a plain HTTP origin on a
// free port of DefaultAddr that answers 200.
type Options struct {
	Addr    string       // IP, or IP:port; a port of 0 or none picks a free one
	Handler http.Handler // nil: Hello
	TLS     *CA          // signs a certificate for Names and the address; nil: plain HTTP
	Names   []string     // of the certificate
}

// Request is what an origin saw of one request.
type Request struct {
	Method     string
	Target     string // the request target as it was on the wire
	Host       string
	Proto      string
	Header     http.Header
	Remote     netip.AddrPort
	ServerName string // TLS server name; empty without TLS
	Conn       int    // number of the connection, from 1: equal for requests that shared one
	Body       []byte // what the handler read of it, at most 64 KiB
}

// Origin is an HTTP server that records.
type Origin struct {
	addr netip.AddrPort
	tls  bool

	mu    sync.Mutex
	conns int
	seen  []*Request
}

type connKey struct{}

// New starts an origin and stops it when the test ends.
func New(tb testing.TB, o Options) *Origin {
	tb.Helper()
	ln := listen(tb, o.Addr)
	origin := &Origin{addr: addrPort(ln.Addr()), tls: o.TLS != nil}
	handler := o.Handler
	if handler == nil {
		handler = Hello()
	}
	srv := &http.Server{
		Handler: origin.record(handler),
		ConnContext: func(ctx context.Context, _ net.Conn) context.Context {
			origin.mu.Lock()
			defer origin.mu.Unlock()
			origin.conns++
			return context.WithValue(ctx, connKey{}, origin.conns)
		},
		ErrorLog: log.New(io.Discard, "", 0), // broken connections are what tests make
	}
	serve := srv.Serve
	if o.TLS != nil {
		names := append(slices.Clone(o.Names), origin.addr.Addr().String())
		srv.TLSConfig = &tls.Config{
			Certificates: []tls.Certificate{o.TLS.Certificate(tb, names...)}, MinVersion: tls.VersionTLS12,
		}
		serve = func(ln net.Listener) error { return srv.ServeTLS(ln, "", "") }
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := serve(ln); !errors.Is(err, http.ErrServerClosed) {
			tb.Errorf("origintest: %v", err)
		}
	})
	tb.Cleanup(func() {
		_ = srv.Close()
		wg.Wait()
	})
	return origin
}

// listen binds an IP or IP:port.
func listen(tb testing.TB, addr string) net.Listener {
	tb.Helper()
	if addr == "" {
		addr = DefaultAddr
	}
	if ip, err := netip.ParseAddr(addr); err == nil {
		addr = netip.AddrPortFrom(ip, 0).String()
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		tb.Fatalf("origintest: %v", err)
	}
	return ln
}

func addrPort(a net.Addr) netip.AddrPort {
	ap := netip.MustParseAddrPort(a.String())
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// Addr returns where the origin listens.
func (o *Origin) Addr() netip.AddrPort { return o.addr }

// Port returns the origin's port.
func (o *Origin) Port() uint16 { return o.addr.Port() }

// URL returns the URL of path on the origin under the name host; an empty host
// is the address itself.
func (o *Origin) URL(host, path string) string {
	scheme := "http://"
	if o.tls {
		scheme = "https://"
	}
	if host == "" {
		host = o.addr.Addr().String()
	}
	return scheme + net.JoinHostPort(host, strconv.Itoa(int(o.Port()))) + "/" + strings.TrimPrefix(path, "/")
}

// Connections returns how many connections were accepted, also those on which
// no request came. One that arrives right now may not be counted yet.
func (o *Origin) Connections() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.conns
}

// Seen returns a copy of what was recorded, in the order of arrival.
func (o *Origin) Seen() []Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	out := make([]Request, 0, len(o.seen))
	for _, r := range o.seen {
		c := *r
		c.Body = slices.Clone(r.Body)
		out = append(out, c)
	}
	return out
}

// record notes a request before next answers it.
func (o *Origin) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Request{
			Method: r.Method, Target: r.RequestURI, Host: r.Host, Proto: r.Proto, Header: r.Header.Clone(),
		}
		rec.Remote, _ = netip.ParseAddrPort(r.RemoteAddr)
		rec.Conn, _ = r.Context().Value(connKey{}).(int)
		if r.TLS != nil {
			rec.ServerName = r.TLS.ServerName
		}
		o.mu.Lock()
		o.seen = append(o.seen, rec)
		o.mu.Unlock()
		r.Body = &recordedBody{ReadCloser: r.Body, origin: o, rec: rec}
		next.ServeHTTP(w, r)
	})
}

// recordedBody copies what the handler reads. It reads nothing by itself, so
// that streaming and "Expect: 100-continue" stay as the handler wants them.
type recordedBody struct {
	io.ReadCloser
	origin *Origin
	rec    *Request
}

// Read implements io.Reader.
func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.origin.mu.Lock()
	defer b.origin.mu.Unlock()
	if room := maxRecorded - len(b.rec.Body); room > 0 {
		b.rec.Body = append(b.rec.Body, p[:min(n, room)]...)
	}
	return n, err
}
