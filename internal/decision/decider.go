package decision

import (
	"context"
	"time"
)

// Decider answers questions. It returns no error: a fault is a Deny with a
// reason of ClassFault. Implementations must be safe for concurrent use and
// must not keep req.
type Decider interface {
	Decide(ctx context.Context, req *Request) Decision
}

// Event is what a Recorder is told. Request and Decision are only valid during
// the call.
type Event struct {
	Time     time.Time
	Request  *Request
	Decision *Decision
	Duration time.Duration // how long the decision took
	// Addr is the peer that was connected to, where one was.
	Addr string
	// Sent and Received count payload bytes of a finished connection.
	Sent, Received int64
}

// Recorder tells log and metrics of a decision before it is acted on. It may
// set the decision's ID, and it may turn an allow into a deny when the log
// could not take it (log.on_full: deny).
type Recorder interface {
	Record(ctx context.Context, e *Event)
}

// Recorders tells each of rs in turn. Put the log first, so that the metrics
// count what the log may have turned into a deny.
type Recorders []Recorder

// Record implements Recorder.
func (rs Recorders) Record(ctx context.Context, e *Event) {
	for _, r := range rs {
		r.Record(ctx, e)
	}
}

// Recorded returns a Decider that asks d and tells r before it answers, so
// that no caller can act on a decision that nobody recorded.
func Recorded(d Decider, r Recorder, now func() time.Time) Decider {
	return &recorded{decider: d, recorder: r, now: now}
}

type recorded struct {
	decider  Decider
	recorder Recorder
	now      func() time.Time
}

// Decide implements Decider.
func (r *recorded) Decide(ctx context.Context, req *Request) Decision {
	start := r.now()
	d := r.decider.Decide(ctx, req)
	r.recorder.Record(ctx, &Event{Time: start, Request: req, Decision: &d, Duration: r.now().Sub(start)})
	return d
}
