package metrics

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/toolgate/toolgate/internal/decision"
)

const (
	namespace = "toolgate"
	// other is the label value for what is not in a list.
	other = "other"
)

// Options describe the running binary, for build_info. Empty texts become
// "unknown".
type Options struct {
	Version   string
	Revision  string // of the source
	GoVersion string // empty: that of the runtime
	// Sinks are the configured log sinks. Nil: only "other".
	Sinks []string
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Metrics holds the registry. It implements decision.Recorder and the
// observers of the log, the resolver and the proxy. It is safe for concurrent
// use.
type Metrics struct {
	registry *prometheus.Registry
	now      func() time.Time

	decisions decisionCounters
	duration  [guards]prometheus.Observer
	blocked   [reasons]prometheus.Counter // by reason; nil where it is of no class
	tools     atomic.Pointer[toolCounters]
	toolVec   *prometheus.CounterVec

	egress egressMetrics
	dns    dnsMetrics
	audit  auditMetrics

	reload     sync.Mutex // one reload at a time
	reloadOK   prometheus.Gauge
	reloadTime prometheus.Gauge
	policy     *prometheus.GaugeVec
	mode       *prometheus.GaugeVec
}

// New returns metrics on a fresh registry.
func New(o Options) (*Metrics, error) {
	m := &Metrics{registry: prometheus.NewRegistry(), now: o.Now}
	if m.now == nil {
		m.now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	var r registrar
	r.to = m.registry
	m.decisions = newDecisionCounters(&r)
	m.newDurations(&r)
	m.newBlocked(&r)
	m.toolVec = r.counters("tool_calls_total", "Decisions on tool calls, by tool (configured names, else other) and decision.", "tool", "decision")
	m.egress = newEgressMetrics(&r)
	m.dns = newDNSMetrics(&r)
	m.audit = newAuditMetrics(&r, o.Sinks)
	m.reloadOK = r.gauge("config_last_reload_successful", "Whether the last attempt to load the configuration succeeded.")
	m.reloadTime = r.gauge("config_last_reload_success_timestamp_seconds", "When the configuration was last loaded, in seconds since the epoch.")
	m.policy = r.gauges("policy_info", "The policy in force; always 1.", "revision")
	m.mode = r.gauges("enforcement_mode", "The default enforcement mode in force; 1 for that one.", "mode")
	for _, mode := range []decision.Mode{decision.Enforce, decision.Report} {
		m.mode.WithLabelValues(mode.String()).Set(0)
	}
	build := r.gauges("build_info", "The running binary; always 1.", "version", "revision", "goversion")
	build.WithLabelValues(known(o.Version), known(o.Revision), goVersion(o.GoVersion)).Set(1)
	r.add(collectors.NewGoCollector())
	r.add(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if r.err != nil {
		return nil, fmt.Errorf("metrics: %w", r.err)
	}
	m.setTools(nil)
	return m, nil
}

func known(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func goVersion(s string) string {
	if s == "" {
		return runtime.Version()
	}
	return s
}

// Policy is what a (re)load put in force.
type Policy struct {
	Revision string
	// Tools are the configured tool names. Beyond 500 they count as other.
	Tools []string
	Mode  decision.Mode // the default mode
}

// Loaded tells that p is in force. The series of the policy before go away.
func (m *Metrics) Loaded(p Policy) {
	m.reload.Lock()
	defer m.reload.Unlock()
	m.policy.Reset()
	m.policy.WithLabelValues(p.Revision).Set(1)
	for _, mode := range []decision.Mode{decision.Enforce, decision.Report} {
		value := 0.0
		if mode == p.Mode {
			value = 1
		}
		m.mode.WithLabelValues(mode.String()).Set(value)
	}
	m.setTools(p.Tools)
	m.reloadOK.Set(1)
	m.reloadTime.Set(float64(m.now().UnixMilli()) / 1e3)
}

// LoadFailed tells that a configuration could not be loaded; the policy in
// force stays.
func (m *Metrics) LoadFailed() { m.reloadOK.Set(0) }

// registrar makes metrics and registers them; it keeps the errors.
type registrar struct {
	to  prometheus.Registerer
	err error
}

func (r *registrar) add(c prometheus.Collector) {
	r.err = errors.Join(r.err, r.to.Register(c))
}

func (r *registrar) counters(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.add(v)
	return v
}

func (r *registrar) gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	v := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
	r.add(v)
	return v
}

func (r *registrar) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	r.add(g)
	return g
}
