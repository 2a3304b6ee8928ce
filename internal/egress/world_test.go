package egress_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/urlguard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is what lies around a proxy in a test: names, a policy in which
// 127.1.0.0/16 is public and the rest of loopback is not, tools with their
// credentials, and a record of all that was said.
type world struct {
	mu       sync.Mutex
	hosts    map[string][]netip.Addr
	asked    []decision.Request
	own      []decision.Decision
	ended    []decision.Event
	counts   map[string]int
	active   map[string]int
	anyone   bool
	decide   func(*decision.Request) (decision.Decision, bool)
	sent     int64
	received int64
}

func newWorld() *world {
	return &world{
		hosts: map[string][]netip.Addr{
			"www.example.com":     {netip.MustParseAddr("127.1.0.1")},
			"other.example.com":   {netip.MustParseAddr("127.1.0.1")},
			"private.example.com": {netip.MustParseAddr("10.9.8.7")},
		},
		counts: map[string]int{}, active: map[string]int{}, anyone: true,
	}
}

func (w *world) host(name string, addrs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hosts[name] = nil
	for _, a := range addrs {
		w.hosts[name] = append(w.hosts[name], netip.MustParseAddr(a))
	}
}

// Decide implements decision.Decider.
func (w *world) Decide(_ context.Context, req *decision.Request) decision.Decision {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, *req)
	d := w.judge(req)
	d.ID = fmt.Sprintf("decision-%d", len(w.asked))
	if req.From != nil && !d.Allowed() {
		d.Reason = decision.URLRedirect
	}
	return d
}

func (w *world) judge(req *decision.Request) decision.Decision {
	if w.decide != nil {
		if d, ok := w.decide(req); ok {
			return d
		}
	}
	parse := urlguard.ParseURL
	if req.Resource.Form == decision.FormAuthority {
		parse = urlguard.ParseAuthority
	}
	e, fault := parse(req.Resource.ID)
	if !fault.OK() {
		return decision.Decision{Reason: fault.Reason, Detail: fault.Detail}
	}
	addrs := w.hosts[e.Host]
	if e.Addr.IsValid() {
		addrs = []netip.Addr{e.Addr}
	}
	if len(addrs) == 0 {
		return decision.Decision{Reason: decision.DNSFailed, Detail: e.Host}
	}
	public := netip.MustParsePrefix("127.1.0.0/16")
	for _, a := range addrs {
		switch {
		case public.Contains(a):
		case a.IsLoopback() && req.Proven && req.Tool == "browser_open":
		case a.IsLoopback():
			return decision.Decision{Reason: decision.URLLoopback, Detail: a.String()}
		default:
			return decision.Decision{Reason: decision.URLPrivate, Detail: a.String(), Rule: "egress"}
		}
	}
	return decision.Decision{
		Effect: decision.Allow, Reason: decision.URLOK, Vetted: decision.Vetted{Endpoint: e, Addrs: addrs},
	}
}

// Identify implements egress.Identifier.
func (w *world) Identify(user, password string) (egress.Identity, bool) {
	return egress.Identity{Agent: "demo", Tool: user, Proven: password == "permit"}, password == "permit" || password == "run"
}

// Anonymous implements egress.Identifier.
func (w *world) Anonymous() (egress.Identity, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return egress.Identity{Agent: "demo", Tool: "fetch_url"}, w.anyone
}

// Record implements decision.Recorder, for the proxy's own refusals.
func (w *world) Record(_ context.Context, e *decision.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.Decision.ID = fmt.Sprintf("own-%d", len(w.own)+1)
	w.own = append(w.own, *e.Decision)
}

type ends struct{ *world }

// Record implements decision.Recorder, for tunnels that ended.
func (w ends) Record(_ context.Context, e *decision.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ev := *e
	w.ended = append(w.ended, ev)
}

// EgressConnection implements egress.Observer.
func (w *world) EgressConnection(mode, result string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[mode+" "+result]++
}

// counted returns how often a mode came out with a result.
func (w *world) counted(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[what]
}

// refusals returns what the proxy refused for reasons of its own.
func (w *world) refusals() []decision.Decision {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.own)
}

// questions returns what was asked.
func (w *world) questions() []decision.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.asked)
}

// underway returns how many of a mode are active.
func (w *world) underway(mode string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.active[mode]
}

// EgressActive implements egress.Observer.
func (w *world) EgressActive(mode string, delta int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active[mode] += delta
}

// EgressBytes implements egress.Observer.
func (w *world) EgressBytes(sent, received int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent += sent
	w.received += received
}

// running is a proxy that serves.
type running struct {
	*egress.Proxy
	addr string
	stop context.CancelFunc // ends Serve at once
	done chan error
}

// serve starts a proxy and stops it when the test ends.
func serve(tb testing.TB, w *world, change ...func(*egress.Options)) *running {
	tb.Helper()
	dialer, err := pin.NewDialer(pin.DialerOptions{Timeout: 5 * time.Second})
	if err != nil {
		tb.Fatal(err)
	}
	o := egress.Options{
		Decider: w, Recorder: w, Ends: ends{w}, Identifier: w, Dialer: dialer, Observer: w, Name: "test",
	}
	for _, f := range change {
		f(&o)
	}
	p, err := egress.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{Proxy: p, addr: ln.Addr().String(), stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- p.Serve(ctx, ln) }()
	tb.Cleanup(func() {
		cancel()
		if err := <-r.done; err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return r
}

// client returns a client that goes through r as user, or as nobody.
func (r *running) client(tb testing.TB, user *url.Userinfo) *http.Client {
	tb.Helper()
	tr := &http.Transport{
		Proxy:              http.ProxyURL(&url.URL{Scheme: "http", Host: r.addr, User: user}),
		DisableCompression: true,
	}
	tb.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport: tr, Timeout: 20 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// wire is a raw connection to the proxy.
type wire struct {
	*net.TCPConn
	tb testing.TB
	r  *bufio.Reader
}

func (r *running) dial(tb testing.TB) *wire {
	tb.Helper()
	conn, err := net.Dial("tcp", r.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	tcp, _ := conn.(*net.TCPConn)
	return &wire{TCPConn: tcp, tb: tb, r: bufio.NewReader(conn)}
}

func (w *wire) send(text string) {
	w.tb.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		w.tb.Fatal(err)
	}
}

// answer reads one answer and its body.
func (w *wire) answer(method string) (*http.Response, string) {
	w.tb.Helper()
	resp, err := http.ReadResponse(w.r, &http.Request{Method: method})
	if err != nil {
		w.tb.Fatalf("no answer: %v", err)
	}
	if method == http.MethodConnect && resp.StatusCode == 200 {
		return resp, ""
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.tb.Fatalf("body: %v", err)
	}
	return resp, string(body)
}

// ended reports whether the proxy closed the connection.
func (w *wire) ended() bool {
	w.tb.Helper()
	_ = w.SetReadDeadline(time.Now().Add(5 * time.Second))
	rest, err := io.ReadAll(w.r)
	if len(rest) > 0 {
		w.tb.Errorf("after the answer came %q", rest)
	}
	var t net.Error
	return !errors.As(err, &t) || !t.Timeout()
}

func get(target string, fields ...string) string {
	var b strings.Builder
	b.WriteString("GET " + target + " HTTP/1.1\r\nHost: www.example.com\r\n")
	for _, f := range fields {
		b.WriteString(f + "\r\n")
	}
	return b.String() + "\r\n"
}

// portOf returns the port that ln listens on.
func portOf(ln net.Listener) string {
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}

// eventually waits for what another goroutine brings about.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			tb.Fatalf("did not happen: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
