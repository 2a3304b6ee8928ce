package pin

import (
	"context"
	"sync"
	"time"
)

// table holds the pins: what each name resolved to, until it expires.
type table struct {
	max  int
	mu   sync.RWMutex
	pins map[string]Answer
}

func newTable(size int) *table { return &table{max: size, pins: make(map[string]Answer)} }

// get returns a pin that is still valid at now.
func (t *table) get(host string, now time.Time) (Answer, bool) {
	t.mu.RLock()
	a, ok := t.pins[host]
	t.mu.RUnlock()
	return a, ok && now.Before(a.Expires)
}

// put keeps a pin and returns how many there are. An answer that has expired
// already (a TTL of zero) is not kept.
func (t *table) put(host string, a Answer, now time.Time) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !now.Before(a.Expires) {
		delete(t.pins, host)
		return len(t.pins)
	}
	if _, ok := t.pins[host]; !ok && len(t.pins) >= t.max {
		t.evict()
	}
	t.pins[host] = a
	return len(t.pins)
}

// evict drops the pin that expires first among a few random ones. Whoever
// fills the table only makes names be looked up again.
func (t *table) evict() {
	const sample = 8
	var victim string
	var first time.Time
	n := 0
	for host, a := range t.pins { // the order of a map is random
		if n == 0 || a.Expires.Before(first) {
			victim, first = host, a.Expires
		}
		if n++; n == sample {
			break
		}
	}
	delete(t.pins, victim)
}

func (t *table) len() int {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return len(t.pins)
}

// flights makes one look-up of the questions that are open for a name at a
// time.
type flights struct {
	mu   sync.Mutex
	open map[string]*flight
}

type flight struct {
	done    chan struct{} // closed when answer and err are set
	answer  Answer
	err     error
	cancel  context.CancelFunc
	waiters int // guarded by flights.mu
}

// do joins the look-up of host that is under way, or starts one. The look-up
// does not end with the caller that started it, but with the last one that
// waits for it.
func (fs *flights) do(
	ctx context.Context, host string, lookup func(context.Context) (Answer, error),
) (Answer, error) {
	fs.mu.Lock()
	f := fs.open[host]
	if f == nil {
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{done: make(chan struct{}), cancel: cancel}
		if fs.open == nil {
			fs.open = make(map[string]*flight)
		}
		fs.open[host] = f
		go func() {
			defer cancel()
			answer, err := lookup(own)
			fs.mu.Lock()
			f.answer, f.err = answer, err
			fs.forget(host, f)
			fs.mu.Unlock()
			close(f.done)
		}()
	}
	f.waiters++
	fs.mu.Unlock()

	select {
	case <-f.done:
		return f.answer, f.err
	case <-ctx.Done():
		fs.leave(host, f)
		return Answer{}, context.Cause(ctx)
	}
}

// leave takes a waiter off f and ends the look-up when it was the last.
func (fs *flights) leave(host string, f *flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f.waiters--; f.waiters == 0 {
		fs.forget(host, f) // a later caller must not join what is being cancelled
		f.cancel()
	}
}

// forget drops f, unless another flight for host took its place. The caller
// holds fs.mu.
func (fs *flights) forget(host string, f *flight) {
	if fs.open[host] == f {
		delete(fs.open, host)
	}
}
