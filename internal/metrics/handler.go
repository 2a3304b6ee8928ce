package metrics

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// maxScrapes bounds how many scrapes are answered at a time.
const maxScrapes = 4

// Health says whether toolgate is ready for traffic. The zero value is not. It
// is safe for concurrent use.
type Health struct {
	ready    atomic.Bool
	draining atomic.Bool
}

// Ready tells that all listeners are bound and a policy is in force.
func (h *Health) Ready() { h.ready.Store(true) }

// Drain tells that toolgate stops. It is never ready again.
func (h *Health) Drain() { h.draining.Store(true) }

// state returns a word for people and whether it means ready.
func (h *Health) state() (string, bool) {
	switch {
	case h.draining.Load():
		return "draining", false
	case !h.ready.Load():
		return "starting", false
	}
	return "ready", true
}

// Handler serves /metrics, /healthz (the process answers) and /readyz (200 when
// h is ready, else 503).
func (m *Metrics) Handler(h *Health) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes, ErrorHandling: promhttp.HTTPErrorOnError,
	}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, "ok", true) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		word, ready := h.state()
		say(w, word, ready)
	})
	return mux
}

func say(w http.ResponseWriter, word string, ok bool) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	if !ok {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = w.Write([]byte(word + "\n")) // the client may have gone; there is nobody to tell
}

// Gatherer returns the registry, for tests of what is exposed.
func (m *Metrics) Gatherer() prometheus.Gatherer { return m.registry }
