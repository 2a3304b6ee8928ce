package api_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/api"
	"github.com/toolgate/toolgate/internal/decision"
)

var typical = body(
	"resource", `{"type":"tool","id":"ok_read_file","properties":{"arguments":{"path":"src/main.go","limit":100}}}`,
	"context", `{"stage":"in_progress","task_type":"feature"}`)

func BenchmarkDecodeEvaluation(b *testing.B) {
	data := []byte(typical)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := api.DecodeEvaluation(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeAnswer(b *testing.B) {
	d := decision.Decision{
		ID: "0192f0c1-7b1e-7000-8000-000000000000", Effect: decision.Allow, Reason: decision.Listed,
		AgentVersion: "pm@sha256:0123456789abcdef", Revision: "sha256:0123456789abcdef", State: decision.StateGranted,
	}
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = api.EncodeAnswer(buf[:0], &d)
	}
}

type constant struct{}

func (constant) Decide(context.Context, *decision.Request) decision.Decision {
	return decision.Decision{ID: "0192f0c1-7b1e-7000-8000-000000000000", Effect: decision.Allow, Reason: decision.Listed}
}

func (constant) Resources(context.Context, *decision.Request) []string { return nil }

// discard is a response writer that costs nothing.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// BenchmarkServeHTTP is a whole request inside the handler, without net/http
// around it.
func BenchmarkServeHTTP(b *testing.B) {
	a, err := api.New(api.Options{Decider: constant{}, Lister: constant{}, Token: token})
	if err != nil {
		b.Fatal(err)
	}
	text := strings.NewReader(typical)
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/access/v1/evaluation", nil)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	r.Body = io.NopCloser(text)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		text.Reset(typical)
		a.ServeHTTP(w, r)
	}
}
