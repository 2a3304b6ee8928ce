package pin_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/testkit/dnstest"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

func newDialer(tb testing.TB, o pin.DialerOptions) *pin.Dialer {
	tb.Helper()
	d, err := pin.NewDialer(o)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

func vetted(port uint16, texts ...string) decision.Vetted {
	return decision.Vetted{Endpoint: decision.Endpoint{Host: host, Port: port}, Addrs: addrs(texts...)}
}

// closedPort returns a port of 127.1.0.1 to 127.1.0.4 that nobody listens on.
func closedPort(t *testing.T) uint16 {
	t.Helper()
	ln, err := net.Listen("tcp", "127.1.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	return netip.MustParseAddrPort(ln.Addr().String()).Port()
}

func TestDialReachesTheVettedAddress(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{Addr: "127.1.0.2"})
	for _, row := range []struct {
		name  string
		addrs []string
	}{
		{"the only one", []string{"127.1.0.2"}},
		{"written as a mapped address", []string{"::ffff:127.1.0.2"}},
		{"after one that refuses", []string{"127.1.0.3", "127.1.0.2"}},
		{"after an IPv6 address without a route", []string{"127.1.0.2", "2001:db8::1"}},
		{"given twice", []string{"127.1.0.2", "::ffff:127.1.0.2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			d := newDialer(t, pin.DialerOptions{})
			conn, err := d.Dial(t.Context(), vetted(origin.Port(), row.addrs...))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close() }()
			if _, ok := conn.(*net.TCPConn); !ok {
				t.Errorf("a %T cannot be spliced", conn)
			}
			if got := conn.RemoteAddr().String(); got != origin.Addr().String() {
				t.Errorf("reached %s", got)
			}
		})
	}
}

func TestDialPassesASilentAddress(t *testing.T) {
	t.Parallel()
	full := fullListener(t)
	origin := origintest.New(t, origintest.Options{
		Addr: netip.AddrPortFrom(netip.MustParseAddr("127.1.0.2"), full.Port()).String(),
	})
	start := time.Now()
	conn, err := newDialer(t, pin.DialerOptions{Stagger: 20 * time.Millisecond}).
		Dial(t.Context(), vetted(full.Port(), "127.1.0.1", "127.1.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if took := time.Since(start); took > time.Second || conn.RemoteAddr().String() != origin.Addr().String() {
		t.Errorf("reached %s after %v", conn.RemoteAddr(), took)
	}
}

func TestDialRefuses(t *testing.T) {
	t.Parallel()
	trap := origintest.Trap(t, "127.0.0.1")
	port := trap.Port()
	literal := func(host string, texts ...string) decision.Vetted {
		v := vetted(port, texts...)
		v.Endpoint.Host, v.Endpoint.Addr = host, netip.MustParseAddr(host)
		return v
	}
	isTrap := func(ap netip.AddrPort) bool { return ap == trap }
	for _, row := range []struct {
		name string
		v    decision.Vetted
		o    pin.DialerOptions
		want decision.Reason
	}{
		{name: "the zero value", want: decision.URLPinMismatch},
		{name: "no address", v: vetted(port), want: decision.URLPinMismatch},
		{name: "no port", v: vetted(0, "127.0.0.1"), want: decision.URLPinMismatch},
		{name: "the zero address", v: decision.Vetted{Endpoint: decision.Endpoint{Port: port}, Addrs: make([]netip.Addr, 1)}, want: decision.URLPinMismatch},
		{name: "0.0.0.0, which is this machine to the kernel", v: vetted(port, "0.0.0.0"), want: decision.URLPinMismatch},
		{name: ":: likewise", v: vetted(port, "::"), want: decision.URLPinMismatch},
		{name: "0.0.0.0, mapped", v: vetted(port, "::ffff:0.0.0.0"), want: decision.URLPinMismatch},
		{name: "a zone", v: vetted(port, "fe80::1%lo"), want: decision.URLPinMismatch},
		{name: "a literal that was vetted as another address", v: literal("192.0.2.1", "127.0.0.1"), want: decision.URLPinMismatch},
		{name: "a literal with one address too many", v: literal("192.0.2.1", "192.0.2.1", "127.0.0.1"), want: decision.URLPinMismatch},
		{name: "toolgate itself", v: vetted(port, "127.0.0.1"), o: pin.DialerOptions{Self: isTrap}, want: decision.URLSelf},
		{name: "toolgate itself, mapped", v: vetted(port, "::ffff:127.0.0.1"), o: pin.DialerOptions{Self: isTrap}, want: decision.URLSelf},
		{name: "toolgate itself beside others", v: vetted(port, "192.0.2.1", "127.0.0.1"), o: pin.DialerOptions{Self: isTrap}, want: decision.URLSelf},
		{
			name: "what Check refuses", v: vetted(port, "127.0.0.1"), want: decision.URLPinMismatch,
			o: pin.DialerOptions{Check: func(netip.AddrPort) error { return errors.New("no") }},
		},
		{
			name: "what Check refuses with a reason", v: vetted(port, "127.0.0.1"), want: decision.URLLoopback,
			o: pin.DialerOptions{Check: func(netip.AddrPort) error { return refusal{decision.URLLoopback} }},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			conn, err := newDialer(t, row.o).Dial(t.Context(), row.v)
			if conn != nil {
				t.Error("a connection came back")
			}
			var vetErr *pin.VetError
			if !errors.As(err, &vetErr) || pin.ReasonOf(err) != row.want {
				t.Errorf("got %v with reason %s, want %s", err, pin.ReasonOf(err), row.want)
			}
		})
	}
}

// TestChecksRunOnTheSocket lets the checks change their mind between the one
// before the dial and the one at the socket.
func TestChecksRunOnTheSocket(t *testing.T) {
	t.Parallel()
	trap := origintest.Trap(t, "127.1.0.1")
	asked := 0
	d := newDialer(t, pin.DialerOptions{Self: func(netip.AddrPort) bool { asked++; return asked > 1 }})
	_, err := d.Dial(t.Context(), vetted(trap.Port(), "127.1.0.1"))
	if pin.ReasonOf(err) != decision.URLSelf || asked != 2 {
		t.Errorf("%v after %d questions", err, asked)
	}
	d = newDialer(t, pin.DialerOptions{Control: func(string, string, syscall.RawConn) error { return errors.New("no socket option") }})
	_, err = d.Dial(t.Context(), vetted(trap.Port(), "127.1.0.1"))
	if pin.ReasonOf(err) != decision.ConnectFailed {
		t.Errorf("a failed socket option: %v", err)
	}
}

// TestPeerIsCompared connects the socket elsewhere before Go does, as a filter
// of the kernel may: connect(2) to the vetted address then says that the socket
// is connected, and only the peer's address tells.
func TestPeerIsCompared(t *testing.T) {
	t.Parallel()
	other := origintest.New(t, origintest.Options{Addr: "127.1.0.9"})
	elsewhere := func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) {
			to := &syscall.SockaddrInet4{Addr: other.Addr().Addr().As4(), Port: int(other.Port())}
			if err := syscall.Connect(int(fd), to); err != nil && !errors.Is(err, syscall.EINPROGRESS) {
				t.Error(err)
			}
		})
	}
	conn, err := newDialer(t, pin.DialerOptions{Control: elsewhere}).Dial(t.Context(), vetted(other.Port(), "127.1.0.1"))
	if conn != nil || !errors.Is(err, pin.ErrPinMismatch) || pin.ReasonOf(err) != decision.URLPinMismatch {
		t.Errorf("got %v, %v", conn, err)
	}
	if n := len(other.Seen()); n != 0 {
		t.Errorf("the wrong peer saw %d requests", n)
	}
}

func TestConnectFails(t *testing.T) {
	t.Parallel()
	port := closedPort(t)
	// A listener with a full queue takes no more connections: its address hangs.
	full := fullListener(t)
	for _, row := range []struct {
		name    string
		gone    bool // the caller
		v       decision.Vetted
		o       pin.DialerOptions
		tried   int
		timeout bool
	}{
		{name: "nobody listens", v: vetted(port, "127.1.0.1"), tried: 1},
		{name: "nobody listens anywhere", v: vetted(port, "127.1.0.1", "127.1.0.2", "127.1.0.3"), tried: 3},
		{name: "at most 16 are tried", v: vetted(port, manyLoopback(64)...), tried: 16},
		{name: "the caller is gone", gone: true, v: vetted(port, "127.1.0.1", "127.1.0.2")},
		{
			name: "an attempt takes too long", v: vetted(full.Port(), "127.1.0.1"),
			o: pin.DialerOptions{AttemptTimeout: 50 * time.Millisecond}, tried: 1, timeout: true,
		},
		{
			name: "all together take too long", v: vetted(full.Port(), "127.1.0.1"),
			o: pin.DialerOptions{Timeout: 50 * time.Millisecond}, tried: 1, timeout: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if row.gone {
				cancel()
			}
			conn, err := newDialer(t, row.o).Dial(ctx, row.v)
			if conn != nil {
				t.Error("a connection came back")
			}
			var connErr *pin.ConnectError
			if !errors.As(err, &connErr) || pin.ReasonOf(err) != decision.ConnectFailed {
				t.Fatalf("got %v with reason %s", err, pin.ReasonOf(err))
			}
			if !row.gone && connErr.Tried != row.tried || connErr.Timeout() != row.timeout {
				t.Errorf("%v: tried %d, timeout %t", err, connErr.Tried, connErr.Timeout())
			}
		})
	}
}

func manyLoopback(n int) []string {
	var out []string
	for i := range n {
		out = append(out, netip.AddrFrom4([4]byte{127, 1, 0, byte(i + 1)}).String())
	}
	return out
}

// fullListener returns the address of a listener whose queue is full, so that
// a connect to it gets no answer.
func fullListener(t *testing.T) netip.AddrPort {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 1, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	in4, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		t.Fatalf("bound to %T", name)
	}
	at := netip.AddrPortFrom(netip.AddrFrom4(in4.Addr), uint16(in4.Port))
	for range 2 {
		conn, err := net.DialTimeout("tcp", at.String(), 100*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
		}
	}
	return at
}

// TestRebinding is the whole way: one look-up, a verdict, one dial. The second
// answer points inside; it is seen by the second request only, and the
// connection of the first goes where the first answer said.
func TestRebinding(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{Addr: "127.1.0.1"})
	// The trap has the origin's port, so only the address keeps them apart.
	origintest.Trap(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), origin.Port()).String())
	srv := dnstest.New(t)
	srv.Script(host, dnstest.Any,
		dnstest.Reply{Addrs: []string{"127.1.0.1"}},
		dnstest.Reply{Addrs: []string{"127.0.0.1"}})
	r, d := newResolver(t, srv, nil), newDialer(t, pin.DialerOptions{})

	first, err := r.Lookup(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Lookup(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(second.Addrs, addrs("127.0.0.1")) {
		t.Errorf("the second request is judged on %v", second.Addrs)
	}
	asked := len(srv.Asked())
	conn, err := d.Dial(t.Context(), decision.Vetted{
		Endpoint: decision.Endpoint{Host: host, Port: origin.Port()}, Addrs: first.Addrs,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "GET / HTTP/1.0\r\n\r\n"); err != nil {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
	if len(origin.Seen()) != 1 {
		t.Errorf("the origin saw %d requests", len(origin.Seen()))
	}
	if n := len(srv.Asked()); n != asked {
		t.Errorf("dialling asked DNS %d times", n-asked)
	}
}

// TestNoSecondLookup: when every vetted address fails, the name is not asked
// for again, whatever it would say now.
func TestNoSecondLookup(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Script(host, dnstest.Any, dnstest.Reply{Addrs: []string{"127.1.0.1"}}, dnstest.Reply{Addrs: []string{"127.0.0.1"}})
	a, err := newResolver(t, srv, nil).Lookup(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	_, err = newDialer(t, pin.DialerOptions{}).Dial(t.Context(), decision.Vetted{
		Endpoint: decision.Endpoint{Host: host, Port: closedPort(t)}, Addrs: a.Addrs,
	})
	if pin.ReasonOf(err) != decision.ConnectFailed || srv.AskedFor(host, dnstest.A) != 1 {
		t.Errorf("%v; asked %v", err, srv.Asked())
	}
}

func TestDialerOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []pin.DialerOptions{{Timeout: -1}, {AttemptTimeout: -1}, {Stagger: -1}} {
		if _, err := pin.NewDialer(o); err == nil {
			t.Errorf("%+v: accepted", o)
		}
	}
}

func TestReasonOf(t *testing.T) {
	t.Parallel()
	if got := pin.ReasonOf(errors.New("else")); got != decision.InternalError {
		t.Errorf("an error without a reason: %s", got)
	}
}

func BenchmarkDial(b *testing.B) {
	origin := origintest.New(b, origintest.Options{})
	d := newDialer(b, pin.DialerOptions{})
	v := vetted(origin.Port(), origintest.DefaultAddr)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		conn, err := d.Dial(ctx, v)
		if err != nil {
			b.Fatal(err)
		}
		_ = conn.Close()
	}
}
