package metrics

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/toolgate/toolgate/internal/decision"
)

// The sizes of the closed lists, for arrays that are indexed by their values.
// A test compares them with the lists themselves.
const (
	guards  = 3
	effects = 2
	reasons = 82
)

// decisionCounters are the series of decisions_total and commands_total. Those
// that can occur in enforce mode are there from the start, so that a rate sees
// the first refusal; the rest, of report mode and of the unforeseen, are made
// when they are needed. There are guards × effects × reasons at most.
type decisionCounters struct {
	vec      *prometheus.CounterVec
	commands *prometheus.CounterVec
	byIndex  *[guards][effects][reasons]atomic.Pointer[pair]
}

// pair is one series of decisions_total and, for the terminal guard, its twin
// in commands_total.
type pair struct{ decisions, commands prometheus.Counter }

func newDecisionCounters(r *registrar) decisionCounters {
	c := decisionCounters{
		vec: r.counters("decisions_total",
			"Decisions by guard, by what was done (allow or deny) and by reason; in report mode an allow may have a reason that refuses.",
			"guard", "decision", "reason"),
		commands: r.counters("commands_total", "Decisions on shell commands, by what was done and by reason.", "decision", "reason"),
		byIndex:  new([guards][effects][reasons]atomic.Pointer[pair]),
	}
	for _, reason := range decision.Reasons() {
		effect := decision.Deny
		if reason.Allows() {
			effect = decision.Allow
		}
		for _, g := range decision.Guards() {
			if expected(g, reason) {
				c.pair(g, effect, reason)
			}
		}
	}
	return c
}

// expected reports whether guard g gives reason r.
func expected(g decision.Guard, r decision.Reason) bool {
	switch r.Class() {
	case decision.ClassFault:
		return true
	case decision.ClassAllow:
		return g == allows(r)
	case decision.ClassTerminal:
		return g == decision.GuardTerminal
	case decision.ClassURL:
		return g == decision.GuardURL
	case decision.ClassPolicy, decision.ClassGate:
	}
	return g == decision.GuardTool
}

// allows is the guard that allows for r.
func allows(r decision.Reason) decision.Guard {
	if r == decision.URLOK {
		return decision.GuardURL
	}
	if r == decision.CommandOK || r == decision.TerminalOff {
		return decision.GuardTerminal
	}
	return decision.GuardTool
}

// pair returns the series, and makes it where there is none.
func (c *decisionCounters) pair(g decision.Guard, e decision.Effect, r decision.Reason) *pair {
	if g >= guards {
		g = decision.GuardTool
	}
	if e >= effects {
		e = decision.Deny
	}
	if r >= reasons {
		r = decision.InternalError
	}
	at := &c.byIndex[g][e][r]
	if p := at.Load(); p != nil {
		return p
	}
	p := &pair{decisions: c.vec.WithLabelValues(g.String(), e.String(), r.String())}
	if g == decision.GuardTerminal {
		p.commands = c.commands.WithLabelValues(e.String(), r.String())
	}
	at.Store(p) // two that race store the same counters
	return p
}

// durationBuckets bound decision_duration_seconds: a decision in memory takes
// less than the first, one with a DNS question up to the last.
func durationBuckets() []float64 {
	return []float64{1e-6, 5e-6, 25e-6, 100e-6, 500e-6, 2.5e-3, 10e-3, 50e-3, 250e-3, 1, 5}
}

func (m *Metrics) newDurations(r *registrar) {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "decision_duration_seconds",
		Help: "How long decisions took, DNS questions included.", Buckets: durationBuckets(),
	}, []string{"guard"})
	r.add(v)
	for i, g := range decision.Guards() {
		m.duration[i] = v.WithLabelValues(g.String())
	}
}

// newBlocked makes egress_blocked_total, whose classes are those of addresses.
// The codes of their reasons are the class behind "url_".
func (m *Metrics) newBlocked(r *registrar) {
	v := r.counters("egress_blocked_total", "Refused targets by class of address.", "class")
	for _, reason := range []decision.Reason{
		decision.URLLoopback, decision.URLPrivate, decision.URLLinkLocal, decision.URLMetadata,
		decision.URLCGNAT, decision.URLMulticast, decision.URLReserved, decision.URLEmbeddedV4,
	} {
		m.blocked[reason] = v.WithLabelValues(strings.TrimPrefix(reason.String(), "url_"))
	}
}

// Record implements decision.Recorder. It allocates nothing and looks up no
// label.
func (m *Metrics) Record(_ context.Context, e *decision.Event) {
	d := e.Decision
	p := m.decisions.pair(d.Guard, d.Effect, d.Reason)
	p.decisions.Inc()
	if p.commands != nil {
		p.commands.Inc()
	}
	if d.Guard < guards {
		m.duration[d.Guard].Observe(e.Duration.Seconds())
	}
	if d.Reason < reasons && d.Effect == decision.Deny {
		if c := m.blocked[d.Reason]; c != nil {
			c.Inc()
		}
	}
	if e.Request.Resource.Kind == decision.KindTool {
		m.tools.Load().count(e.Request.Resource.ID, d.Effect)
	}
}

// maxTools bounds the tools that have a series of their own.
const maxTools = 500

// toolCounters are the series of tool_calls_total. The table never changes.
type toolCounters struct {
	named map[string]*[effects]prometheus.Counter
	other *[effects]prometheus.Counter
}

func (t *toolCounters) count(tool string, e decision.Effect) {
	c, configured := t.named[tool]
	if !configured {
		c = t.other
	}
	if e >= effects {
		e = decision.Deny
	}
	c[e].Inc()
}

// setTools replaces the tools that are counted by name.
func (m *Metrics) setTools(names []string) {
	if len(names) > maxTools {
		names = names[:maxTools]
	}
	next := &toolCounters{named: make(map[string]*[effects]prometheus.Counter, len(names)), other: m.toolPair(other)}
	for _, name := range names {
		next.named[name] = m.toolPair(name)
	}
	before := m.tools.Swap(next)
	if before == nil {
		return
	}
	for name := range before.named {
		if _, stays := next.named[name]; !stays && name != other {
			for _, e := range []decision.Effect{decision.Deny, decision.Allow} {
				m.toolVec.DeleteLabelValues(name, e.String())
			}
		}
	}
}

func (m *Metrics) toolPair(name string) *[effects]prometheus.Counter {
	return &[effects]prometheus.Counter{
		decision.Deny:  m.toolVec.WithLabelValues(name, decision.Deny.String()),
		decision.Allow: m.toolVec.WithLabelValues(name, decision.Allow.String()),
	}
}
