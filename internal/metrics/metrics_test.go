package metrics_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/toolgate/toolgate/internal/audit"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/metrics"
	"github.com/toolgate/toolgate/internal/pin"
)

// The seams that are filled without knowing this package.
var (
	_ decision.Recorder = (*metrics.Metrics)(nil)
	_ audit.Observer    = (*metrics.Metrics)(nil)
	_ egress.Observer   = (*metrics.Metrics)(nil)
	_ pin.Observer      = (*metrics.Metrics)(nil)
)

func newMetrics(t testing.TB) *metrics.Metrics {
	t.Helper()
	m, err := metrics.New(metrics.Options{
		Version: "v1.2.3", Revision: "abc", Sinks: []string{"stdout"},
		Now: func() time.Time { return time.Unix(1_800_000_000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Loaded(metrics.Policy{Revision: "r1", Tools: []string{"read_file", "fetch_url"}})
	return m
}

// get asks the handler.
func get(h http.Handler, path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// series reads a scrape with Prometheus' own parser.
func series(t testing.TB, m *metrics.Metrics) map[string]*dto.MetricFamily {
	t.Helper()
	w := get(m.Handler(&metrics.Health{}), "/metrics", "")
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil || w.Code != http.StatusOK {
		t.Fatalf("status %d: %v", w.Code, err)
	}
	return families
}

// value returns the value of the series of a family whose labels are "k=v,…",
// and whether there is one.
func value(families map[string]*dto.MetricFamily, name, labels string) (float64, bool) {
	for _, s := range families["toolgate_"+name].GetMetric() {
		var have []string
		for _, l := range s.GetLabel() {
			have = append(have, l.GetName()+"="+l.GetValue())
		}
		if strings.Join(have, ",") == labels {
			switch {
			case s.Counter != nil:
				return s.GetCounter().GetValue(), true
			case s.Histogram != nil:
				return float64(s.GetHistogram().GetSampleCount()), true
			}
			return s.GetGauge().GetValue(), true
		}
	}
	return 0, false
}

// count is how many series there are, of ours and of the runtime.
func count(families map[string]*dto.MetricFamily) int {
	n := 0
	for _, f := range families {
		n += len(f.GetMetric())
	}
	return n
}

func record(m *metrics.Metrics, g decision.Guard, e decision.Effect, r decision.Reason, res decision.Resource) {
	m.Record(context.Background(), &decision.Event{
		Request: &decision.Request{Resource: res}, Duration: time.Millisecond,
		Decision: &decision.Decision{Guard: g, Effect: e, Reason: r},
	})
}

func TestEveryReasonCanBeCounted(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	start := series(t, m)
	for _, r := range decision.Reasons() {
		effect := decision.Deny
		if r.Allows() {
			effect = decision.Allow
		}
		found := false
		for _, g := range decision.Guards() {
			labels := fmt.Sprintf("decision=%s,guard=%s,reason=%s", effect, g, r)
			if v, there := value(start, "decisions_total", labels); there {
				found = true
				if v != 0 {
					t.Errorf("%s begins at %v", labels, v)
				}
			}
			for _, e := range []decision.Effect{decision.Deny, decision.Allow} {
				record(m, g, e, r, decision.Resource{})
			}
		}
		if !found {
			t.Errorf("%s has no series before its first decision", r)
		}
	}
	now := series(t, m)
	for _, r := range decision.Reasons() {
		for _, g := range decision.Guards() {
			for _, e := range []decision.Effect{decision.Deny, decision.Allow} {
				labels := fmt.Sprintf("decision=%s,guard=%s,reason=%s", e, g, r)
				if v, _ := value(now, "decisions_total", labels); v != 1 {
					t.Errorf("decisions_total{%s} = %v after one", labels, v)
				}
			}
		}
		labels := fmt.Sprintf("decision=deny,reason=%s", r)
		if v, _ := value(now, "commands_total", labels); v != 1 {
			t.Errorf("commands_total{%s} = %v after one", labels, v)
		}
	}
	for _, g := range decision.Guards() {
		if v, _ := value(now, "decision_duration_seconds", "guard="+g.String()); v != float64(2*len(decision.Reasons())) {
			t.Errorf("decision_duration_seconds{guard=%s} counts %v", g, v)
		}
	}
}

func TestClassesOfBlockedAddresses(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	for _, r := range decision.Reasons() {
		record(m, decision.GuardURL, decision.Deny, r, decision.Resource{Kind: decision.KindURL})
		record(m, decision.GuardURL, decision.Allow, r, decision.Resource{Kind: decision.KindURL})
	}
	now := series(t, m)
	for _, c := range ipclass.Classes() {
		v, found := value(now, "egress_blocked_total", "class="+c.String())
		if c == ipclass.Global {
			if found {
				t.Error("the open class counts as blocked")
			}
			continue
		}
		if v != 1 {
			t.Errorf("egress_blocked_total{class=%s} = %v after one", c, v)
		}
	}
	if n := len(now["toolgate_egress_blocked_total"].GetMetric()); n != len(ipclass.Classes())-1 {
		t.Errorf("%d classes are counted", n)
	}
}

func TestStrangersAddNoSeries(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	for _, r := range decision.Reasons() { // as far as it can ever go
		for _, g := range decision.Guards() {
			record(m, g, decision.Deny, r, decision.Resource{})
			record(m, g, decision.Allow, r, decision.Resource{})
		}
	}
	before := count(series(t, m))
	for i := range 100_000 {
		name := fmt.Sprintf("stranger-%d", i)
		for _, k := range []decision.Kind{decision.KindTool, decision.KindURL, decision.KindCommand, decision.KindMCPServer} {
			m.Record(t.Context(), &decision.Event{
				Request: &decision.Request{
					Agent: name, Tool: name, Action: name, Resource: decision.Resource{Kind: k, ID: name},
					Facts: decision.Facts{Run: name, Stage: name},
				},
				Decision: &decision.Decision{
					Guard: decision.Guard(i), Effect: decision.Effect(i), Reason: decision.Reason(i), Rule: name, Detail: name,
					AgentVersion: name, Vetted: decision.Vetted{Endpoint: decision.Endpoint{Host: name}},
				},
				Addr: name,
			})
		}
		m.EgressConnection(name, name)
		m.EgressActive(name, 1)
		m.DNSQuery(name, name)
		m.AuditEvent(name)
		m.AuditDropped(name, name)
	}
	after := series(t, m)
	if n := count(after); n != before || n > 1000 {
		t.Errorf("%d series became %d", before, n)
	}
	allowed, _ := value(after, "tool_calls_total", "decision=allow,tool=other")
	denied, _ := value(after, "tool_calls_total", "decision=deny,tool=other")
	if allowed+denied != 100_000 {
		t.Errorf("tool_calls_total{tool=other} = %v", allowed+denied)
	}
}

func TestReload(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	record(m, decision.GuardTool, decision.Allow, decision.Listed, decision.Resource{Kind: decision.KindTool, ID: "read_file"})
	record(m, decision.GuardTool, decision.Deny, decision.NotListed, decision.Resource{Kind: decision.KindTool, ID: "write_file"})
	want := func(name, labels string, want float64, there bool) {
		t.Helper()
		if v, found := value(series(t, m), name, labels); v != want || found != there {
			t.Errorf("%s{%s} = %v (%t), want %v (%t)", name, labels, v, found, want, there)
		}
	}
	want("tool_calls_total", "decision=allow,tool=read_file", 1, true)
	want("tool_calls_total", "decision=deny,tool=other", 1, true)
	want("policy_info", "revision=r1", 1, true)
	want("enforcement_mode", "mode=enforce", 1, true)
	want("enforcement_mode", "mode=report", 0, true)
	want("config_last_reload_successful", "", 1, true)
	want("config_last_reload_success_timestamp_seconds", "", 1_800_000_000, true)
	m.LoadFailed()
	want("config_last_reload_successful", "", 0, true)
	want("policy_info", "revision=r1", 1, true)

	m.Loaded(metrics.Policy{Revision: "r2", Mode: decision.Report, Tools: []string{"read_file", "write_file", "other"}})
	want("config_last_reload_successful", "", 1, true)
	want("policy_info", "revision=r1", 0, false)
	want("policy_info", "revision=r2", 1, true)
	want("enforcement_mode", "mode=enforce", 0, true)
	want("enforcement_mode", "mode=report", 1, true)
	want("tool_calls_total", "decision=allow,tool=read_file", 1, true) // goes on counting
	want("tool_calls_total", "decision=allow,tool=fetch_url", 0, false)
	want("tool_calls_total", "decision=deny,tool=write_file", 0, true)
	want("tool_calls_total", "decision=deny,tool=other", 1, true)
	m.Loaded(metrics.Policy{Revision: "r3"})
	want("tool_calls_total", "decision=deny,tool=other", 1, true) // also where a tool had that name
}

func TestManyConfiguredTools(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	names := make([]string, 5000)
	for i := range names {
		names[i] = fmt.Sprintf("tool-%d", i)
	}
	m.Loaded(metrics.Policy{Revision: "r2", Tools: names})
	if n := count(series(t, m)); n > 2000 {
		t.Errorf("%d series", n)
	}
}

func TestEffects(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	for _, mode := range egress.Modes() {
		for _, result := range egress.Results() {
			m.EgressConnection(mode, result)
		}
		m.EgressActive(mode, 3)
		m.EgressActive(mode, -1)
	}
	m.EgressBytes(5, 7)
	m.EgressBytes(-1, -1)
	for _, result := range pin.Results() {
		m.DNSQuery("A", result)
		m.DNSQuery("AAAA", result)
	}
	m.DNSPins(42)
	m.AuditEvent("stdout")
	for _, reason := range audit.DropReasons() {
		m.AuditDropped("stdout", reason)
	}
	now := series(t, m)
	for _, name := range []string{"egress_connections_total", "dns_queries_total", "audit_events_dropped_total", "audit_events_total"} {
		for _, s := range now["toolgate_"+name].GetMetric() {
			others := false
			for _, l := range s.GetLabel() {
				others = others || l.GetValue() == "other"
			}
			if want := map[bool]float64{true: 0, false: 1}[others]; s.GetCounter().GetValue() != want {
				t.Errorf("%s %v = %v, want %v: a word of the caller's is not in the list", name, s.GetLabel(), s.GetCounter().GetValue(), want)
			}
		}
	}
	for labels, want := range map[string]float64{
		"egress_active_connections mode=http": 2, "egress_active_connections mode=connect": 2,
		"egress_bytes_total direction=sent": 5, "egress_bytes_total direction=received": 7, "dns_pins ": 42,
	} {
		name, labels, _ := strings.Cut(labels, " ")
		if v, _ := value(now, name, labels); v != want {
			t.Errorf("%s{%s} = %v, want %v", name, labels, v, want)
		}
	}
}

// TestNames holds the names and labels that dashboards and alerts rely on.
func TestNames(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	now := series(t, m)
	for name, labels := range map[string]string{
		"decisions_total": "decision guard reason", "decision_duration_seconds": "guard", "tool_calls_total": "decision tool",
		"commands_total": "decision reason", "egress_connections_total": "mode result", "egress_active_connections": "mode",
		"egress_bytes_total": "direction", "egress_blocked_total": "class", "dns_queries_total": "qtype result", "dns_pins": "",
		"config_last_reload_successful": "", "config_last_reload_success_timestamp_seconds": "", "policy_info": "revision",
		"enforcement_mode": "mode", "audit_events_total": "sink", "audit_events_dropped_total": "reason sink",
		"build_info": "goversion revision version",
	} {
		f := now["toolgate_"+name]
		if f == nil {
			t.Errorf("%s is missing", name)
			continue
		}
		var have []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			have = append(have, l.GetName())
		}
		if strings.Join(have, " ") != labels {
			t.Errorf("%s has labels %v, want %s", name, have, labels)
		}
	}
	if v, _ := value(now, "build_info", "goversion="+runtime.Version()+",revision=abc,version=v1.2.3"); v != 1 {
		t.Error("build_info does not describe the build")
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if runtime.GOOS == "linux" && now[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
	if problems, err := testutil.GatherAndLint(m.Gatherer()); err != nil || len(problems) != 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

func TestOpenMetrics(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	w := get(m.Handler(&metrics.Health{}), "/metrics", "application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(w.Header().Get("Content-Type"), "application/openmetrics-text") || !strings.HasSuffix(w.Body.String(), "# EOF\n") {
		t.Errorf("%s: %.200s", w.Header().Get("Content-Type"), w.Body)
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	health := &metrics.Health{}
	h := m.Handler(health)
	want := func(path string, status int, word string) {
		t.Helper()
		if w := get(h, path, ""); w.Code != status || w.Body.String() != word+"\n" {
			t.Errorf("%s: %d %q, want %d %q", path, w.Code, w.Body, status, word)
		}
	}
	want("/healthz", 200, "ok")
	want("/readyz", 503, "starting")
	health.Ready()
	want("/readyz", 200, "ready")
	health.Drain()
	want("/readyz", 503, "draining")
	health.Ready()
	want("/readyz", 503, "draining")
	want("/healthz", 200, "ok")
	for path, status := range map[string]int{"/": 404, "/debug/pprof/": 404} {
		if w := get(h, path, ""); w.Code != status {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil)); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST /metrics: %d", w.Code)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	m := newMetrics(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 500 {
				record(m, decision.GuardURL, decision.Allow, decision.URLPrivate, decision.Resource{Kind: decision.KindTool, ID: "read_file"})
			}
		})
	}
	all.Go(func() {
		for i := range 50 {
			m.Loaded(metrics.Policy{Revision: fmt.Sprint(i), Tools: []string{"read_file"}})
		}
	})
	all.Wait()
	now := series(t, m)
	if v, _ := value(now, "decisions_total", "decision=allow,guard=url,reason=url_private"); v != 4000 {
		t.Errorf("decisions_total = %v", v)
	}
	if v, _ := value(now, "tool_calls_total", "decision=allow,tool=read_file"); v != 4000 {
		t.Errorf("tool_calls_total = %v", v)
	}
}

func TestRecordAllocatesNothing(t *testing.T) {
	m := newMetrics(t)
	e := &decision.Event{
		Request:  &decision.Request{Resource: decision.Resource{Kind: decision.KindTool, ID: "read_file"}},
		Decision: &decision.Decision{Effect: decision.Allow, Reason: decision.Listed},
	}
	if n := testing.AllocsPerRun(1000, func() { m.Record(context.Background(), e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkRecord(b *testing.B) {
	m := newMetrics(b)
	e := &decision.Event{
		Request:  &decision.Request{Resource: decision.Resource{Kind: decision.KindTool, ID: "read_file"}},
		Decision: &decision.Decision{Effect: decision.Allow, Reason: decision.Listed}, Duration: 300,
	}
	b.ReportAllocs()
	for b.Loop() {
		m.Record(context.Background(), e)
	}
}
