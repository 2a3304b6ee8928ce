package audit

import (
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"github.com/toolgate/toolgate/internal/decision"
)

const (
	// maxTarget bounds a resource or a command in the log, in bytes.
	maxTarget = 2 << 10
	// maxName bounds every other text in the log, in bytes.
	maxName = 256
)

// line is one line on its way into the log. It is used again and again.
type line struct {
	log   zerolog.Logger // writes into out
	out   []byte
	text  []byte // scratch: one value, masked
	end   int    // where it ends in the batch it is written with; used by Run only
	json  []byte // scratch: one value, as JSON
	done  chan error
	timer *time.Timer
	alone bool // nobody waits for it
	// taken is set by whoever decides what becomes of the line: Run when it
	// begins to write, the waiting decision when it gives up.
	taken atomic.Bool
}

func newLine() *line {
	l := &line{done: make(chan error, 1), timer: time.NewTimer(time.Hour)}
	l.timer.Stop()
	l.log = zerolog.New(l)
	return l
}

func (l *line) reset() {
	l.out, l.alone = l.out[:0], false
	l.taken.Store(false)
}

// Write implements io.Writer for zerolog.
func (l *line) Write(p []byte) (int, error) {
	l.out = append(l.out, p...)
	return len(p), nil
}

// encode fills l with the line for e.
func (l *line) encode(e *decision.Event, end bool) {
	q, d := e.Request, e.Decision
	ev := l.log.Log()
	l.json = append(e.Time.UTC().AppendFormat(append(l.json[:0], '"'), time.RFC3339Nano), '"')
	ev.RawJSON("time", l.json)
	l.field(ev, "id", d.ID)
	ev.Str("guard", d.Guard.String()).Str("decision", d.Effect.String()).Str("reason", d.Reason.String())
	l.field(ev, "agent", q.Agent)
	l.field(ev, "agent_version", d.AgentVersion)
	l.field(ev, "run", q.Facts.Run)
	l.field(ev, "stage", q.Facts.Stage)
	l.field(ev, "tool", toolOf(q))
	l.masked(ev, "resource", q.Resource.ID, maxTarget)
	l.field(ev, "rule", d.Rule)
	l.field(ev, "policy_revision", d.Revision)
	ev.Int64("duration_us", e.Duration.Microseconds())
	l.target(ev, e)
	ev.Str("layer", d.Layer.String())
	if d.Would {
		ev.Bool("would_deny", true)
	}
	if d.Detail != "" {
		l.masked(ev, "detail", d.Detail, maxName)
	}
	if end {
		ev.Str("event", "end").Int64("sent", e.Sent).Int64("received", e.Received)
	}
	ev.Send()
}

// toolOf is the tool that is called, or that dials.
func toolOf(q *decision.Request) string {
	if q.Resource.Kind == decision.KindTool {
		return q.Resource.ID
	}
	return q.Tool
}

// target adds what the guard knows of the target.
func (l *line) target(ev *zerolog.Event, e *decision.Event) {
	id := e.Request.Resource.ID
	switch e.Request.Resource.Kind {
	case decision.KindURL:
		l.endpoint(ev, e)
	case decision.KindCommand:
		l.masked(ev, "command", id, maxTarget)
	case decision.KindMCPServer:
		l.field(ev, "server", id)
	case decision.KindTool:
		if rest, is := strings.CutPrefix(id, "mcp__"); is {
			server, _, _ := strings.Cut(rest, "__")
			l.field(ev, "server", server)
		}
	case decision.KindUnknown:
	}
}

// endpoint adds the vetted host and port, and the address that was connected
// to or would be tried first.
func (l *line) endpoint(ev *zerolog.Event, e *decision.Event) {
	v := &e.Decision.Vetted
	if v.Endpoint.Host != "" {
		l.field(ev, "host", v.Endpoint.Host)
	}
	switch {
	case e.Addr != "":
		l.field(ev, "addr", e.Addr)
	case len(v.Addrs) > 0:
		l.json = append(v.Addrs[0].AppendTo(append(l.json[:0], '"')), '"')
		ev.RawJSON("addr", l.json)
	}
	if v.Endpoint.Port != 0 {
		l.json = strconv.AppendUint(l.json[:0], uint64(v.Endpoint.Port), 10)
		ev.RawJSON("port", l.json)
	}
}

// field adds a name.
func (l *line) field(ev *zerolog.Event, key, value string) {
	l.json = appendJSON(l.json[:0], value, maxName)
	ev.RawJSON(key, l.json)
}

// masked adds a text that may hold secrets.
func (l *line) masked(ev *zerolog.Event, key, value string, limit int) {
	// What is beyond the limit cannot be seen, but a secret that begins before
	// it must be recognised, so a little more is read.
	if slack := limit + maxName; len(value) > slack {
		value = value[:slack]
	}
	l.text = Mask(l.text[:0], value)
	l.json = appendJSON(l.json[:0], l.text, limit)
	ev.RawJSON(key, l.json)
}
