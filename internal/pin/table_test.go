package pin_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/pin"
	"github.com/toolgate/toolgate/internal/testkit/dnstest"
)

// clock is a time that a test moves.
type clock struct{ ns atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()) }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

func TestPinsLiveAsLongAsTheAnswer(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		ttl  uint32
		want time.Duration
	}{
		{"a minute", 60, time.Minute},
		{"a day is five minutes", 86400, 5 * time.Minute},
		{"the top bit means zero", 1 << 31, 0},
		{"zero", 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			srv := dnstest.New(t)
			srv.Script(host, dnstest.Any,
				dnstest.Reply{Addrs: []string{"192.0.2.1"}, TTL: row.ttl},
				dnstest.Reply{Addrs: []string{"10.0.0.9"}, TTL: row.ttl})
			c := &clock{}
			r := newResolver(t, srv, func(o *pin.Options) { o.Now = c.now })
			look := func() string {
				a, err := r.Lookup(t.Context(), host)
				if err != nil {
					t.Fatal(err)
				}
				if want := c.now().Add(row.want); row.want == 0 && !a.Expires.Equal(want) {
					t.Errorf("expires %v, want %v", a.Expires, want)
				}
				return a.Addrs[0].String()
			}
			if got := look(); got != "192.0.2.1" {
				t.Fatalf("first answer %s", got)
			}
			if row.want > 0 {
				c.advance(row.want - 1)
				if got := look(); got != "192.0.2.1" {
					t.Errorf("one nanosecond before it expires: %s, want the pin", got)
				}
				c.advance(1)
			}
			if got := look(); got != "10.0.0.9" {
				t.Errorf("after it expired: %s, want the second answer, to be judged by itself", got)
			}
			if n := srv.AskedFor(host, dnstest.A); n != 2 {
				t.Errorf("asked for A %d times, want 2", n)
			}
			if kept := r.Pins() == 1; kept != (row.want > 0) {
				t.Errorf("%d pins: an answer for one use takes no place", r.Pins())
			}
		})
	}
}

func TestHalfAnswersAreKeptForAShortTime(t *testing.T) {
	t.Parallel()
	srv := dnstest.New(t)
	srv.Script(host, dnstest.A, dnstest.Reply{Addrs: []string{"192.0.2.1"}, TTL: 3600})
	srv.Script(host, dnstest.AAAA, dnstest.Reply{Silent: true}, dnstest.Reply{Addrs: []string{"::1"}, TTL: 3600})
	c := &clock{}
	r := newResolver(t, srv, func(o *pin.Options) { o.Now, o.Timeout = c.now, 20*time.Second })
	start := time.Now()
	a, err := r.Lookup(t.Context(), host)
	if err != nil || !a.Expires.Equal(c.now().Add(30*time.Second)) {
		t.Errorf("half an answer: %v, %v", a, err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("waited %v for the other half", took)
	}
	c.advance(30 * time.Second)
	a, err = r.Lookup(t.Context(), host)
	if err != nil || !slices.Equal(a.Addrs, addrs("192.0.2.1", "::1")) {
		t.Errorf("the other half is not judged later: %v, %v", a, err)
	}
}

func TestTableIsBounded(t *testing.T) {
	t.Parallel()
	const size = 16
	srv := dnstest.New(t)
	r := newResolver(t, srv, func(o *pin.Options) { o.MaxPins = size })
	for i := range 3 * size {
		name := fmt.Sprintf("h%d.example.com", i)
		srv.Addrs(name, "192.0.2.1")
		if _, err := r.Lookup(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if got, want := r.Pins(), min(i+1, size); got != want {
			t.Fatalf("%d pins after %d names, want %d", got, i+1, want)
		}
	}
}

func TestConcurrentLookupsShareOne(t *testing.T) {
	t.Parallel()
	for _, ttl := range []uint32{0, 60} {
		t.Run(fmt.Sprintf("TTL %d", ttl), func(t *testing.T) {
			t.Parallel()
			srv := dnstest.New(t)
			srv.Script(host, dnstest.Any,
				dnstest.Reply{Addrs: []string{"192.0.2.1"}, TTL: ttl, Delay: 200 * time.Millisecond},
				dnstest.Reply{Addrs: []string{"10.0.0.9"}, TTL: ttl})
			r := newResolver(t, srv, nil)
			var wg sync.WaitGroup
			var others atomic.Int32
			for range 8 {
				wg.Go(func() {
					a, err := r.Lookup(context.Background(), host)
					if err != nil || !slices.Equal(a.Addrs, addrs("192.0.2.1")) {
						others.Add(1)
					}
				})
			}
			wg.Wait()
			if n := srv.AskedFor(host, dnstest.A); n != 1 || others.Load() != 0 {
				t.Errorf("%d questions, %d callers with another answer", n, others.Load())
			}
			a, err := r.Lookup(t.Context(), host)
			if err != nil {
				t.Fatal(err)
			}
			if fresh := slices.Equal(a.Addrs, addrs("10.0.0.9")); fresh != (ttl == 0) {
				t.Errorf("a request that began later got %v", a.Addrs)
			}
		})
	}
}

func BenchmarkLookupWarm(b *testing.B) {
	srv := dnstest.New(b)
	srv.Addrs(host, "192.0.2.1", "2001:db8::1")
	r := newResolver(b, srv, nil)
	ctx := b.Context()
	if _, err := r.Lookup(ctx, host); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Lookup(ctx, host); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLookupCold(b *testing.B) {
	srv := dnstest.New(b)
	srv.Script(host, dnstest.Any, dnstest.Reply{Addrs: []string{"192.0.2.1"}})
	r := newResolver(b, srv, nil)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Lookup(ctx, host); err != nil {
			b.Fatal(err)
		}
	}
}
