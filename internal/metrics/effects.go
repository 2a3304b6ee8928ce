package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// The label values of egress and DNS. A value that is not listed counts as
// other, so a caller's mistake cannot add series.

// EgressModes yields how a client uses the proxy.
func EgressModes() []string { return []string{"http", "connect", other} }

// EgressResults yields what may become of a request or tunnel.
func EgressResults() []string {
	return []string{"ok", "denied", "dns_error", "connect_error", "timeout", "limit", other}
}

// DNSResults yields what may become of a DNS question.
func DNSResults() []string {
	return []string{
		"ok", "nxdomain", "nodata", "servfail", "refused", "timeout", "network", "malformed", "loop", "name", "canceled", other,
	}
}

// in returns value if it is in list, else other.
func in(list []string, value string) string {
	if slices.Contains(list, value) {
		return value
	}
	return other
}

type egressMetrics struct {
	connections *prometheus.CounterVec
	active      *prometheus.GaugeVec
	sent        prometheus.Counter
	received    prometheus.Counter
}

func newEgressMetrics(r *registrar) egressMetrics {
	m := egressMetrics{
		connections: r.counters("egress_connections_total", "Requests and tunnels through the proxy, by what became of them.", "mode", "result"),
		active:      r.gauges("egress_active_connections", "Connections to targets that are open.", "mode"),
	}
	bytes := r.counters("egress_bytes_total", "Payload bytes, sent to targets and received from them.", "direction")
	m.sent, m.received = bytes.WithLabelValues("sent"), bytes.WithLabelValues("received")
	for _, mode := range EgressModes() {
		m.active.WithLabelValues(mode).Set(0)
		for _, result := range EgressResults() {
			m.connections.WithLabelValues(mode, result)
		}
	}
	return m
}

// EgressConnection counts one request or tunnel: mode is one of EgressModes,
// result one of EgressResults.
func (m *Metrics) EgressConnection(mode, result string) {
	m.egress.connections.WithLabelValues(in(EgressModes(), mode), in(EgressResults(), result)).Inc()
}

// EgressActive adds delta to the open connections of a mode.
func (m *Metrics) EgressActive(mode string, delta int) {
	m.egress.active.WithLabelValues(in(EgressModes(), mode)).Add(float64(delta))
}

// EgressBytes counts payload bytes. A negative count is ignored.
func (m *Metrics) EgressBytes(sent, received int64) {
	m.egress.sent.Add(float64(max(sent, 0)))
	m.egress.received.Add(float64(max(received, 0)))
}

type dnsMetrics struct {
	queries *prometheus.CounterVec
	pins    prometheus.Gauge
}

func dnsTypes() []string { return []string{"A", "AAAA", other} }

func newDNSMetrics(r *registrar) dnsMetrics {
	m := dnsMetrics{
		queries: r.counters("dns_queries_total", "Questions to DNS servers, by what became of them.", "qtype", "result"),
		pins:    r.gauge("dns_pins", "Names whose addresses are pinned."),
	}
	for _, qtype := range dnsTypes() {
		for _, result := range DNSResults() {
			m.queries.WithLabelValues(qtype, result)
		}
	}
	return m
}

// DNSQuery counts one question to one server: qtype is "A" or "AAAA", result
// one of DNSResults.
func (m *Metrics) DNSQuery(qtype, result string) {
	m.dns.queries.WithLabelValues(in(dnsTypes(), qtype), in(DNSResults(), result)).Inc()
}

// DNSPins sets the number of pinned names.
func (m *Metrics) DNSPins(n int) { m.dns.pins.Set(float64(n)) }

type auditMetrics struct {
	sinks   []string
	written map[string]prometheus.Counter
	dropped *prometheus.CounterVec
}

func dropReasons() []string { return []string{"queue_full", "timeout", "sink_error", other} }

func newAuditMetrics(r *registrar, sinks []string) auditMetrics {
	m := auditMetrics{sinks: append(slices.Clone(sinks), other), written: map[string]prometheus.Counter{}}
	events := r.counters("audit_events_total", "Lines written to the decision log.", "sink")
	m.dropped = r.counters("audit_events_dropped_total", "Lines that the decision log did not take.", "sink", "reason")
	for _, sink := range m.sinks {
		m.written[sink] = events.WithLabelValues(sink)
		for _, reason := range dropReasons() {
			m.dropped.WithLabelValues(sink, reason)
		}
	}
	return m
}

// AuditEvent counts a line that a sink took.
func (m *Metrics) AuditEvent(sink string) { m.audit.written[in(m.audit.sinks, sink)].Inc() }

// AuditDropped counts a line that a sink did not take.
func (m *Metrics) AuditDropped(sink, reason string) {
	m.audit.dropped.WithLabelValues(in(m.audit.sinks, sink), in(dropReasons(), reason)).Inc()
}
