package pin

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func targetsOf(texts ...string) []netip.AddrPort {
	var out []netip.AddrPort
	for _, text := range texts {
		out = append(out, netip.AddrPortFrom(netip.MustParseAddr(text), 443))
	}
	return out
}

func TestInterleave(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		in, want []string
	}{
		{"nothing", nil, nil},
		{"IPv6 first, taking turns", []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"}, []string{"2001:db8::1", "192.0.2.1", "192.0.2.2"}},
		{"one family keeps its order", []string{"192.0.2.2", "192.0.2.1"}, []string{"192.0.2.2", "192.0.2.1"}},
		{
			"more IPv6 than IPv4",
			[]string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "192.0.2.1"},
			[]string{"2001:db8::1", "192.0.2.1", "2001:db8::2", "2001:db8::3"},
		},
	} {
		if got := interleave(targetsOf(row.in...)); !slices.Equal(got, targetsOf(row.want...)) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
}

// attempts records when each address was tried, in the bubble's time.
type attempts struct {
	mu    sync.Mutex
	start time.Time
	at    map[string]time.Duration
	plan  map[string]time.Duration // how long until it connects; absent: fails after ten minutes
	fails map[string]time.Duration // how long until it fails
	err   error
	ended int
}

var errDown = errors.New("down")

func (a *attempts) try(ctx context.Context, ap netip.AddrPort) (*net.TCPConn, error) {
	name := ap.Addr().String()
	a.mu.Lock()
	a.at[name] = time.Since(a.start)
	a.mu.Unlock()
	defer func() {
		a.mu.Lock()
		a.ended++
		a.mu.Unlock()
	}()
	wait, ok := a.plan[name]
	if !ok {
		if wait, ok = a.fails[name]; !ok {
			wait = 10 * time.Minute
		}
		ok = false
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if ok {
		return &net.TCPConn{}, nil
	}
	if a.err != nil {
		return nil, a.err
	}
	return nil, errDown
}

func TestRace(t *testing.T) {
	t.Parallel()
	const (
		ms      = time.Millisecond
		stagger = 250 * ms
	)
	for _, row := range []struct {
		name    string
		plan    map[string]time.Duration
		fails   map[string]time.Duration
		err     error
		timeout time.Duration
		want    map[string]time.Duration // when each is tried
		took    time.Duration
		fail    bool
	}{
		{
			name: "the first connects: no other is tried",
			plan: map[string]time.Duration{"192.0.2.1": 100 * ms},
			want: map[string]time.Duration{"192.0.2.1": 0}, took: 100 * ms,
		},
		{
			name: "the first is slow: the second starts beside it and wins",
			plan: map[string]time.Duration{"192.0.2.1": time.Minute, "192.0.2.2": 50 * ms},
			want: map[string]time.Duration{"192.0.2.1": 0, "192.0.2.2": stagger}, took: stagger + 50*ms,
		},
		{
			name: "the first is slow and still wins",
			plan: map[string]time.Duration{"192.0.2.1": 300 * ms, "192.0.2.2": time.Minute},
			want: map[string]time.Duration{"192.0.2.1": 0, "192.0.2.2": stagger}, took: 300 * ms,
		},
		{
			name:  "a failure starts the next at once, and the stagger counts from there",
			fails: map[string]time.Duration{"192.0.2.1": 10 * ms},
			plan:  map[string]time.Duration{"192.0.2.2": time.Minute, "192.0.2.3": ms},
			want:  map[string]time.Duration{"192.0.2.1": 0, "192.0.2.2": 10 * ms, "192.0.2.3": 10*ms + stagger},
			took:  11*ms + stagger,
		},
		{
			name:  "all fail",
			fails: map[string]time.Duration{"192.0.2.1": ms, "192.0.2.2": ms, "192.0.2.3": ms},
			want:  map[string]time.Duration{"192.0.2.1": 0, "192.0.2.2": ms, "192.0.2.3": 2 * ms}, took: 3 * ms, fail: true,
		},
		{
			name:  "one leaves the vetted set: the others are not tried",
			fails: map[string]time.Duration{"192.0.2.1": ms}, err: mismatch(netip.AddrPort{}, "test"),
			want: map[string]time.Duration{"192.0.2.1": 0}, took: ms, fail: true,
		},
		{
			name: "time runs out: no more are started", timeout: 300 * ms,
			want: map[string]time.Duration{"192.0.2.1": 0, "192.0.2.2": stagger}, took: 300 * ms, fail: true,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &attempts{start: time.Now(), at: map[string]time.Duration{}, plan: row.plan, fails: row.fails, err: row.err}
				ctx, cancel := context.WithCancel(t.Context())
				if row.timeout > 0 {
					ctx, cancel = context.WithTimeout(ctx, row.timeout)
				}
				defer cancel()
				conn, tried, err := race(ctx, targetsOf("192.0.2.1", "192.0.2.2", "192.0.2.3"), stagger, a.try)
				if (err != nil) != row.fail || (conn == nil) != row.fail {
					t.Errorf("got %v, %v", conn, err)
				}
				if took := time.Since(a.start); took != row.took {
					t.Errorf("took %v, want %v", took, row.took)
				}
				if len(a.at) != len(row.want) || tried != len(row.want) {
					t.Errorf("tried %v (said %d), want %v", a.at, tried, row.want)
				}
				for name, at := range row.want {
					if a.at[name] != at {
						t.Errorf("%s was tried after %v, want %v", name, a.at[name], at)
					}
				}
				if a.ended != len(a.at) {
					t.Errorf("%d of %d attempts had ended when race returned", a.ended, len(a.at))
				}
			})
		})
	}
}

func TestSameAsVetted(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ln.Close() }()
	dial := func() net.Conn {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	at := netip.MustParseAddrPort(ln.Addr().String())

	conn, err := sameAsVetted(dial(), at)
	if err != nil {
		t.Fatalf("the vetted peer: %v", err)
	}
	_ = conn.Close()
	for name, ap := range map[string]netip.AddrPort{
		"another address": netip.AddrPortFrom(netip.MustParseAddr("127.0.0.2"), at.Port()),
		"another port":    netip.AddrPortFrom(at.Addr(), at.Port()+1),
	} {
		raw := dial()
		if _, err := sameAsVetted(raw, ap); !errors.Is(err, ErrPinMismatch) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := raw.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the connection is still open: %v", name, err)
		}
	}
	a, b := net.Pipe()
	defer func() { _ = b.Close() }()
	if _, err := sameAsVetted(a, at); !errors.Is(err, ErrPinMismatch) {
		t.Errorf("what is no TCP connection: %v", err)
	}
}
