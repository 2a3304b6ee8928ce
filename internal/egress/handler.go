package egress

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
)

// exchange is one request on its way through.
type exchange struct {
	p        *Proxy
	conn     *clientConn
	w        http.ResponseWriter
	mode     string
	start    time.Time
	id       Identity
	req      decision.Request
	decision decision.Decision

	result         string
	sent, received int64
	broken         bool   // the origin's answer broke off in its middle
	addr           string // the peer
	info           informationalState
	upstream       net.Conn      // of a CONNECT
	socket         *upgradedBody // of a WebSocket
	body           *sentBody     // the request's content; nil for none
}

// exchangeKey is where a request's context has its exchange.
type exchangeKey struct{}

// exchangeOf returns the exchange of a request that was let in.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// serveHTTP judges one request and then relays it. goproxy sees only what was
// allowed.
func (p *Proxy) serveHTTP(w http.ResponseWriter, r *http.Request) {
	conn, ok := r.Context().Value(connKey{}).(*clientConn)
	if !ok || conn.over.Load() {
		panic(http.ErrAbortHandler) // not one of Serve's, or past its last request: nothing was checked
	}
	conn.handling.Store(true)
	x := &exchange{p: p, conn: conn, w: w, mode: modeOf(r.Method), start: p.o.Now(), result: ResultOK}
	x.req = question(r.Method, r.RequestURI)
	if !p.enter(x.mode) {
		p.own(r.Context(), x, decision.LimitExceeded, "")
		x.refuse(w)
		p.o.Observer.EgressConnection(x.mode, x.result)
		return
	}
	defer p.leave(x.mode)
	defer x.report()
	if !p.admit(r.Context(), x, r.Method, r.Header["Proxy-Authorization"], r.Header["Via"]) {
		x.refuse(w)
		return
	}
	if x.mode == ModeConnect {
		p.connect(x, w, r)
		return
	}
	p.forward(x, w, r)
}

// report tells the observer how an exchange came out.
func (x *exchange) report() {
	x.p.o.Observer.EgressConnection(x.mode, x.result)
	if x.sent > 0 || x.received > 0 {
		x.p.o.Observer.EgressBytes(x.sent, x.received)
	}
}

func modeOf(method string) string {
	if method == http.MethodConnect {
		return ModeConnect
	}
	return ModeHTTP
}

// question is what the decision point is asked about a target, so far.
func question(method, target string) decision.Request {
	form := decision.FormURL
	if method == http.MethodConnect {
		form = decision.FormAuthority
	}
	return decision.Request{
		Action:   "fetch",
		Resource: decision.Resource{Kind: decision.KindURL, ID: target, Form: form},
	}
}

// admit asks all there is to ask about a request. False: x.decision refuses it.
func (p *Proxy) admit(ctx context.Context, x *exchange, method string, auth, via []string) bool {
	if fault := formFault(method, x.req.Resource.ID); fault != "" {
		return p.own(ctx, x, decision.ProtocolInvalid, fault)
	}
	id, ok := p.identify(auth)
	if !ok {
		return p.own(ctx, x, decision.NoIdentity, "")
	}
	x.identity(id)
	if p.isLoop(via) {
		return p.own(ctx, x, decision.ProxyLoop, "")
	}
	x.decision = p.o.Decider.Decide(ctx, &x.req)
	if !x.decision.Allowed() {
		return false
	}
	v := x.decision.Vetted
	if len(v.Addrs) == 0 || v.Endpoint.Port == 0 || v.Endpoint.Host == "" {
		return p.own(ctx, x, decision.InternalError, "allowed, but nothing was vetted")
	}
	if x.mode == ModeHTTP && v.Endpoint.Scheme != "http" {
		return p.own(ctx, x, decision.ProtocolInvalid, "the scheme is not http")
	}
	return true
}

// identity fills in who asks.
func (x *exchange) identity(id Identity) {
	x.id = id
	x.req.Agent, x.req.Tool, x.req.Proven, x.req.Version = id.Agent, id.Tool, id.Proven, id.Version
	x.req.Facts.Run = id.Run
}

// own refuses x for a reason of the proxy's own and has it recorded. It
// returns false, as admit does for a refusal.
func (p *Proxy) own(ctx context.Context, x *exchange, r decision.Reason, detail string) bool {
	d := decision.Refuse(r, decision.GuardURL, detail)
	if r.Class() == decision.ClassURL {
		d.Layer = decision.LayerURL
	}
	d.AgentVersion, d.Revision = x.decision.AgentVersion, x.decision.Revision
	p.o.Recorder.Record(ctx, &decision.Event{
		Time: p.o.Now(), Request: &x.req, Decision: &d, Duration: p.elapsed(x.start),
	})
	d.Effect = decision.Deny // whatever a recorder did
	x.decision = d
	return false
}

// formFault says what is wrong with the form of a request (RFC 9112, section
// 3.2); empty for the two that a forward proxy takes. What the target means is
// not looked at here: that is the decision point's work.
func formFault(method, target string) string {
	if method == http.MethodConnect {
		return ""
	}
	scheme, _, found := strings.Cut(target, ":")
	switch {
	case target == "*":
		return "asterisk form: this is a forward proxy"
	case strings.HasPrefix(target, "/"):
		return "origin form: this is a forward proxy"
	case !found, !strings.Contains(target, "/"):
		return "not an absolute URL"
	case strings.EqualFold(scheme, "https"), strings.EqualFold(scheme, "wss"):
		return "an absolute " + strings.ToLower(scheme) + " URL: use CONNECT"
	case strings.EqualFold(scheme, "ws"):
		return "an absolute ws URL: write http and Upgrade: websocket"
	}
	return ""
}

// identify returns who a request speaks for (contracts, section 5).
func (p *Proxy) identify(auth []string) (Identity, bool) {
	if len(auth) == 0 {
		return p.o.Identifier.Anonymous()
	}
	if len(auth) > 1 {
		return Identity{}, false
	}
	scheme, text, _ := strings.Cut(auth[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return Identity{}, false
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return Identity{}, false
	}
	user, password, found := strings.Cut(string(plain), ":")
	if !found {
		return Identity{}, false
	}
	return p.o.Identifier.Identify(user, password)
}
