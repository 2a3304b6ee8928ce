package audit

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/toolgate/toolgate/internal/decision"
)

// OnFull says what happens to a decision that the log cannot take. The zero
// value is DenyOnFull.
type OnFull uint8

// What log.on_full may say.
const (
	DenyOnFull OnFull = iota // an allow becomes a deny with internal_error
	DropOnFull               // the line is dropped and counted; the decision stands
)

// Reasons why a line was dropped, for audit_events_dropped_total.
const (
	DroppedQueueFull = "queue_full" // too many lines wait
	DroppedTimeout   = "timeout"    // the sink did not take the line in time
	DroppedError     = "sink_error" // the sink failed
)

// DropReasons yields all reasons why a line may be dropped.
func DropReasons() []string { return []string{DroppedQueueFull, DroppedTimeout, DroppedError} }

// Observer counts lines, for audit_events_total and
// audit_events_dropped_total.
type Observer interface {
	AuditEvent(sink string)
	AuditDropped(sink, reason string)
}

// Ready is what a Writer may also be able to say: that a Write of n bytes would
// not block now. Then a decision writes its own line where nothing waits, which
// saves two switches between goroutines; else every line goes through Run.
type Ready interface {
	Ready(n int) bool
}

const (
	defaultTimeout = 100 * time.Millisecond
	defaultQueue   = 1024
)

// Options configure a Recorder.
type Options struct {
	// Writer takes the lines, whole ones: lines that wait at the same time
	// share a Write call. Required. It may implement Ready. It is used by one
	// goroutine at a time.
	Writer io.Writer
	// Sink names Writer in metrics: one of few configured words. Empty: "log".
	Sink string
	// OnFull says what happens when Writer fails or blocks.
	OnFull OnFull
	// Timeout is how long a decision waits for its line. Zero: 100 ms.
	Timeout time.Duration
	// Queue is how many lines may wait. Zero: 1024.
	Queue int
	// Observer may be nil.
	Observer Observer
}

// Recorder writes decisions to a log. Run must be running: without it no line
// is taken. It is safe for concurrent use.
type Recorder struct {
	out      io.Writer
	sink     string
	onFull   OnFull
	timeout  time.Duration
	observer Observer
	queue    chan *line
	ids      ids
	lines    sync.Pool

	ready Ready      // nil: Writer cannot say
	sole  sync.Mutex // held by whoever writes
	torn  bool       // under sole: the last write ended inside a line

	// Used by Run only.
	batch []*line // what the next Write call holds
	buf   []byte
}

// New returns a Recorder.
func New(o Options) (*Recorder, error) {
	switch {
	case o.Writer == nil:
		return nil, errors.New("audit: no writer")
	case o.Timeout < 0, o.Queue < 0:
		return nil, errors.New("audit: timeout and queue must not be negative")
	case o.OnFull > DropOnFull:
		return nil, fmt.Errorf("audit: unknown on_full %d", o.OnFull)
	}
	r := &Recorder{out: o.Writer, sink: o.Sink, onFull: o.OnFull, timeout: o.Timeout, observer: o.Observer}
	if r.sink == "" {
		r.sink = "log"
	}
	if r.timeout == 0 {
		r.timeout = defaultTimeout
	}
	if r.observer == nil {
		r.observer = nobody{}
	}
	if o.Queue == 0 {
		o.Queue = defaultQueue
	}
	r.ready, _ = o.Writer.(Ready)
	r.queue = make(chan *line, o.Queue)
	r.ids.src = bufio.NewReaderSize(rand.Reader, 4096)
	r.lines.New = func() any { return newLine() }
	return r, nil
}

type nobody struct{}

// AuditEvent implements Observer.
func (nobody) AuditEvent(string) {}

// AuditDropped implements Observer.
func (nobody) AuditDropped(string, string) {}

// Record implements decision.Recorder: it gives the decision an id if it has
// none, and returns when its line is written. If the log does not take the
// line in time, an allow becomes a deny, unless log.on_full says drop.
func (r *Recorder) Record(_ context.Context, e *decision.Event) {
	if e.Decision.ID == "" {
		id, err := r.ids.next()
		if err != nil {
			r.observer.AuditDropped(r.sink, DroppedError)
			r.full(e.Decision)
			return
		}
		e.Decision.ID = id
	}
	l := r.encoded(e, false)
	if r.onFull == DropOnFull {
		r.enqueue(l)
		return
	}
	dropped, written := r.inline(l)
	if !written {
		dropped = r.await(l)
	}
	switch {
	case dropped == "":
	case e.Decision.Allowed():
		r.observer.AuditDropped(r.sink, dropped)
		r.full(e.Decision)
		// Should the sink take lines again, the last word is what was done.
		r.enqueue(r.encoded(e, false))
	default:
		r.observer.AuditDropped(r.sink, dropped)
	}
}

// full turns an allow that the log did not take into a deny.
func (r *Recorder) full(d *decision.Decision) {
	if !d.Allowed() || r.onFull == DropOnFull {
		return
	}
	d.Effect, d.Reason, d.Would = decision.Deny, decision.InternalError, false
	d.Detail = "the decision log takes no lines (log.on_full: deny)"
	d.Vetted, d.Permit = decision.Vetted{}, ""
}

// encoded returns the line for e: that of a decision, or that of the end of
// what it allowed.
func (r *Recorder) encoded(e *decision.Event, end bool) *line {
	l, ok := r.lines.Get().(*line)
	if !ok {
		l = newLine()
	}
	l.reset()
	l.encode(e, end)
	return l
}

// Ends returns a Recorder for connections that ended. Its lines are those of
// the decisions that opened them, with "event":"end" and the bytes that went
// each way. What has happened is not refused any more, so a line that the log
// does not take is only counted, and nothing waits for it.
func (r *Recorder) Ends() decision.Recorder { return ends{r} }

type ends struct{ r *Recorder }

// Record implements decision.Recorder.
func (e ends) Record(_ context.Context, ev *decision.Event) { e.r.enqueue(e.r.encoded(ev, true)) }

// enqueue hands l to Run if there is room, and waits for nothing.
func (r *Recorder) enqueue(l *line) {
	l.alone = true
	select {
	case r.queue <- l:
	default:
		r.observer.AuditDropped(r.sink, DroppedQueueFull)
		r.lines.Put(l)
	}
}

// inline writes l here and now, if nobody writes or waits and the writer would
// not block. It returns whether it did, and why the line was not taken, or "".
func (r *Recorder) inline(l *line) (dropped string, written bool) {
	if r.ready == nil || len(r.queue) > 0 || !r.sole.TryLock() {
		return "", false
	}
	defer r.sole.Unlock()
	if r.torn || len(l.out) == 0 || !r.ready.Ready(len(l.out)) {
		return "", false
	}
	if _, err := r.put(l.out); err != nil {
		dropped = DroppedError
	} else {
		r.observer.AuditEvent(r.sink)
	}
	r.lines.Put(l)
	return dropped, true
}

// await hands l to Run and waits until it is written. It returns why it was
// not, or "".
func (r *Recorder) await(l *line) (dropped string) {
	l.timer.Reset(r.timeout)
	defer l.timer.Stop()
	select {
	case r.queue <- l:
	default:
		select {
		case r.queue <- l:
		case <-l.timer.C:
			return DroppedQueueFull // l is garbage: its timer may still be read
		}
	}
	select {
	case err := <-l.done:
		l.timer.Stop()
		r.lines.Put(l)
		if err != nil {
			return DroppedError
		}
		return ""
	case <-l.timer.C:
		// If Run has not begun with l, it will leave it out. If it has, l is
		// being written and may yet come out; l is garbage either way.
		l.taken.Store(true)
		return DroppedTimeout
	}
}

// Run writes lines until ctx is done, then those that are waiting, and returns
// nil. Stop what decides before it: a decision without its line is a deny.
func (r *Recorder) Run(ctx context.Context) error {
	for {
		select {
		case l := <-r.queue:
			r.write(l)
		case <-ctx.Done():
			for {
				select {
				case l := <-r.queue:
					r.write(l)
				default:
					return nil
				}
			}
		}
	}
}

// maxBatch bounds how many lines share a Write call.
const maxBatch = 64

// write writes l and the lines that wait behind it with one Write call, and
// tells their decisions. A line whose decision has stopped waiting is left out.
func (r *Recorder) write(l *line) {
	r.sole.Lock()
	defer r.sole.Unlock()
	r.batch, r.buf = r.batch[:0], r.buf[:0]
	if r.torn { // the last write ended inside a line
		r.buf = append(r.buf, '\n')
	}
	for {
		if !l.taken.Swap(true) {
			r.batch = append(r.batch, l)
			r.buf = append(r.buf, l.out...)
			l.end = len(r.buf)
		}
		if len(r.batch) == maxBatch {
			break
		}
		select {
		case l = <-r.queue:
			continue
		default:
		}
		break
	}
	if len(r.batch) == 0 {
		return
	}
	n, err := r.put(r.buf)
	for _, l := range r.batch {
		if l.end <= n {
			r.settle(l, nil)
		} else {
			r.settle(l, err)
		}
	}
}

// put makes one Write call and returns how much was written, and why not all.
func (r *Recorder) put(lines []byte) (int, error) {
	n, err := r.out.Write(lines)
	if err == nil && n < len(lines) {
		err = io.ErrShortWrite
	}
	if n > 0 {
		r.torn = lines[n-1] != '\n'
	}
	return n, err
}

// settle tells a line's decision that it is written, or why not.
func (r *Recorder) settle(l *line, err error) {
	if len(l.out) == 0 {
		err = errors.New("audit: an empty line: zerolog's global level is off")
	}
	if err == nil {
		r.observer.AuditEvent(r.sink)
	}
	if !l.alone {
		l.done <- err
		return
	}
	if err != nil {
		r.observer.AuditDropped(r.sink, DroppedError)
	}
	r.lines.Put(l)
}

// ids makes UUIDs of version 7 (RFC 9562), which sort by time.
type ids struct {
	mu  sync.Mutex
	src io.Reader // buffered: one system call for many ids
}

func (i *ids) next() (string, error) {
	i.mu.Lock()
	id, err := uuid.NewV7FromReader(i.src)
	i.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("audit: no randomness for an id: %w", err)
	}
	return id.String(), nil
}
