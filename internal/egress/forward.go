package egress

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/elazarl/goproxy"

	"github.com/toolgate/toolgate/internal/decision"
)

// maxAnswerHead bounds the head of an origin's answer.
const maxAnswerHead = 512 << 10

// errNotVetted is the end of every way to a dial that has no vetted value.
var errNotVetted = errors.New("egress: a dial without a vetted target")

// vettedKey is where the context of a request to an origin has the value that
// was vetted for it. A dial may outlive its request, so it is a copy.
type vettedKey struct{}

// newTransport returns the one transport to origins. It speaks plain HTTP/1.1
// only: what is encrypted goes through a tunnel and is not ours to speak.
func newTransport(o Options) *http.Transport {
	t := &http.Transport{
		Proxy: nil, // never from the environment
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			v, ok := ctx.Value(vettedKey{}).(decision.Vetted)
			if !ok {
				return nil, errNotVetted
			}
			return o.Dialer.Dial(ctx, v)
		},
		DialTLSContext:         func(context.Context, string, string) (net.Conn, error) { return nil, errNotVetted },
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableCompression:     true, // bytes stay as they are (report P23)
		MaxResponseHeaderBytes: maxAnswerHead,
		MaxIdleConns:           o.PoolSize,
		MaxIdleConnsPerHost:    o.PoolPerKey,
		IdleConnTimeout:        o.PoolIdle,
		ExpectContinueTimeout:  expectTimeout,
		Protocols:              new(http.Protocols),
	}
	t.Protocols.SetHTTP1(true)
	return t
}

// newRelay returns goproxy, which relays what was let in. It is made from the
// zero value: no preset of NewProxyHttpServer is in it.
func newRelay(p *Proxy) *goproxy.ProxyHttpServer {
	relay := &goproxy.ProxyHttpServer{
		Logger: logger{p.o.Logger},
		NonproxyHandler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			panic(http.ErrAbortHandler) // serveHTTP passes absolute URLs only
		}),
		Tr: p.transport,
		ConnectDial: func(string, string) (net.Conn, error) {
			return nil, errNotVetted
		},
		ConnectDialWithReq: func(*http.Request, string, string) (net.Conn, error) {
			return nil, errNotVetted // connect has dialled already
		},
		KeepAcceptEncoding: true,
	}
	relay.OnRequest().DoFunc(func(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		ctx.RoundTripper = goproxy.RoundTripperFunc(p.roundTrip)
		return r, nil
	})
	relay.OnRequest().HandleConnectFunc(func(host string, _ *goproxy.ProxyCtx) (*goproxy.ConnectAction, string) {
		return &goproxy.ConnectAction{Action: goproxy.ConnectHijack, Hijack: p.tunnel}, host
	})
	return relay
}

// logger takes what goproxy wants to say.
type logger struct{ log *slog.Logger }

// Printf implements goproxy.Logger.
func (l logger) Printf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("goproxy", "text", strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

// forward relays an absolute-form request that was allowed.
func (p *Proxy) forward(x *exchange, w http.ResponseWriter, r *http.Request) {
	if r.Body != nil && r.Body != http.NoBody {
		// The origin may answer while the upload runs (report P22).
		_ = http.NewResponseController(w).EnableFullDuplex()
		x.body = newSentBody(r)
		defer x.endBody()
	}
	out, err := x.outgoing(r)
	if err != nil {
		p.own(r.Context(), x, decision.ProtocolInvalid, err.Error())
		x.refuse(w)
		return
	}
	p.relay.ServeHTTP(w, out)
	if x.body != nil {
		_ = http.NewResponseController(w).Flush()
		x.endBody()
	}
	if x.socket != nil {
		_ = x.conn.Close() // goproxy leaves it open
		x.sent, x.received = x.socket.sent.Load(), x.socket.received.Load()
		p.ended(r.Context(), x)
	}
	if x.broken {
		panic(http.ErrAbortHandler) // half an answer must not look like a whole one
	}
}

// endBody shuts the request's content. Where not all of it was read, no request
// may follow: in full duplex net/http goes on behind content that it could not
// read, and would take what is left of it for the next request.
func (x *exchange) endBody() {
	var all bool
	if x.sent, all = x.body.end(); !all {
		x.conn.last.Store(true)
	}
}

// outgoing makes the request that goes to the origin. Scheme, host and port
// come from the vetted endpoint; path and query are those of the target as it
// was received, byte for byte.
func (x *exchange) outgoing(r *http.Request) (*http.Request, error) {
	v := x.decision.Vetted
	rest := pathAndQuery(x.req.Resource.ID)
	u := &url.URL{Scheme: "http", Host: poolKey(x.id, v), Opaque: rest}
	switch {
	case strings.HasPrefix(rest, "//"):
		// Opaque text that begins with two slashes would be taken for another
		// authority.
		path, query, found := strings.Cut(rest, "?")
		u.Opaque, u.RawPath, u.RawQuery, u.ForceQuery = "", escapePath(path), query, found
		var err error
		if u.Path, err = url.PathUnescape(u.RawPath); err != nil {
			return nil, errors.New("the path cannot be passed on")
		}
	case r.Method == http.MethodOptions && rest == "/" && !strings.HasSuffix(x.req.Resource.ID, "/"):
		u.Opaque = "*" // RFC 9112, section 3.2.4
	}
	trace := &httptrace.ClientTrace{Got1xxResponse: x.informational}
	if x.p.o.Ends != nil {
		trace.GotConn = func(info httptrace.GotConnInfo) { x.addr = info.Conn.RemoteAddr().String() }
	}
	x.body.watch(trace)
	ctx := context.WithValue(context.WithValue(r.Context(), exchangeKey{}, x), vettedKey{}, v)
	ctx = httptrace.WithClientTrace(ctx, trace)
	out := r.WithContext(ctx)
	if x.body != nil {
		out.Body = x.body
	}
	out.URL, out.Host, out.RequestURI = u, hostField(v.Endpoint), ""
	upgrade := isUpgrade(r)
	cleanRequest(out.Header, x.p.via, r.ProtoMinor)
	cleanTrailer(out.Trailer)
	if upgrade {
		out.Header.Set("Connection", "Upgrade")
		out.Header.Set("Upgrade", "websocket")
	}
	out.Close = false // the client's wish is about its own connection
	return out, nil
}

// pathAndQuery returns what follows the authority of an absolute URL, without
// the fragment.
func pathAndQuery(target string) string {
	_, rest, _ := strings.Cut(target, "://")
	i := strings.IndexAny(rest, "/?#")
	if i < 0 {
		return "/"
	}
	rest, _, _ = strings.Cut(rest[i:], "#")
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return rest
}

// escapePath percent-encodes what net/url does not take in a RawPath, and
// leaves the rest as it is.
func escapePath(path string) string {
	const plain, hex = "-_.~$&+,/:;=@!'()*[]%", "0123456789ABCDEF"
	var b strings.Builder
	for _, c := range []byte(path) {
		if '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.Write([]byte{'%', hex[c>>4], hex[c&15]})
	}
	return b.String()
}

// hostField writes the Host field of a vetted endpoint.
func hostField(e decision.Endpoint) string {
	authority := e.Authority()
	if e.Port == 80 {
		return strings.TrimSuffix(authority, ":80")
	}
	return authority
}

// poolKey is the host that the transport believes to speak to. Connections are
// pooled by it, so it stands for everything in which two requests must agree
// to share one: who asks, for which endpoint, vetted for which addresses. A
// hash keeps it fit for a URL; nobody can choose a collision.
func poolKey(id Identity, v decision.Vetted) string {
	addrs := slices.Clone(v.Addrs)
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	key := make([]byte, 0, 256)
	for _, part := range []string{id.Agent, id.Tool, id.Version, id.Run, v.Endpoint.Scheme, v.Endpoint.Host} {
		key = strconv.AppendInt(key, int64(len(part)), 10)
		key = append(append(key, ':'), part...)
	}
	key = strconv.AppendBool(key, id.Proven)
	key = strconv.AppendUint(append(key, ' '), uint64(v.Endpoint.Port), 10)
	for _, a := range addrs {
		key = a.AppendTo(append(key, ' '))
	}
	sum := sha256.Sum256(key)
	return hex.EncodeToString(sum[:16])
}

// roundTrip sends a request and judges the answer. It returns no error: a
// fault becomes a refusal, so that goproxy has nothing of its own to say.
func (p *Proxy) roundTrip(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
	x := exchangeOf(r.Context())
	if x == nil {
		return nil, errNotVetted
	}
	resp, err := p.transport.RoundTrip(r)
	x.settled()
	if err != nil {
		return x.failed(r, err), nil
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return x.switched(r, resp), nil
	}
	cleanResponse(resp.Header)
	if !p.followable(x, r, resp) {
		_ = resp.Body.Close()
		return x.refused(r, false), nil
	}
	cleanTrailer(resp.Trailer)
	if _, ok := resp.Header["Content-Type"]; !ok {
		resp.Header["Content-Type"] = nil // else net/http guesses one
	}
	resp.Body = &receivedBody{ReadCloser: resp.Body, x: x, resp: resp}
	return resp, nil
}

// refused returns the refusal of x as an answer.
func (x *exchange) refused(r *http.Request, timeout bool) *http.Response {
	refusal := x.refusal(timeout)
	refusal.mark(x.conn, int(x.conn.head.minor))
	return refusal.response(r)
}

// failed turns an error of the transport into a refusal.
func (x *exchange) failed(r *http.Request, err error) *http.Response {
	x.p.o.Logger.Debug("egress: no answer", "error", err)
	if x.body.unreadable() {
		x.p.own(r.Context(), x, decision.ProtocolInvalid, "the content breaks off, or its chunks cannot be read")
		return x.refused(r, false)
	}
	reason, timeout := faultOf(err)
	x.p.own(r.Context(), x, reason, "")
	return x.refused(r, timeout)
}

// faultOf tells what an error of dial or transport means.
func faultOf(err error) (decision.Reason, bool) {
	var t interface{ Timeout() bool }
	timeout := errors.As(err, &t) && t.Timeout()
	var d interface{ DecisionReason() decision.Reason }
	if errors.As(err, &d) && !d.DecisionReason().Allows() {
		return d.DecisionReason(), timeout
	}
	if errors.Is(err, errNotVetted) {
		return decision.URLPinMismatch, false
	}
	return decision.ConnectFailed, timeout
}

// switched passes on the answer to a WebSocket upgrade, and no other.
func (x *exchange) switched(r *http.Request, resp *http.Response) *http.Response {
	rw, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || !isWebSocket(r.Header) || !isWebSocket(resp.Header) {
		_ = resp.Body.Close()
		x.p.own(r.Context(), x, decision.ConnectFailed, "")
		return x.refused(r, false)
	}
	cleanResponse(resp.Header)
	resp.Header.Set("Connection", "Upgrade")
	resp.Header.Set("Upgrade", "websocket")
	x.socket = &upgradedBody{rw: rw}
	resp.Body = x.socket
	return resp
}

// informationalState keeps 1xx answers of the origin, which come from another
// goroutine, away from a response that has begun.
type informationalState struct {
	mu   sync.Mutex
	done bool
}

func (x *exchange) settled() {
	x.info.mu.Lock()
	defer x.info.mu.Unlock()
	x.info.done = true
}

// informational passes a 1xx answer on. The 100 of the origin is not: net/http
// says it when the body is read.
func (x *exchange) informational(code int, header textproto.MIMEHeader) error {
	x.info.mu.Lock()
	defer x.info.mu.Unlock()
	if x.info.done || code == http.StatusContinue || x.conn.head.minor == 0 {
		return nil
	}
	h := x.w.Header()
	maps.Copy(h, header)
	cleanResponse(h)
	x.w.WriteHeader(code)
	clear(h)
	return nil
}
