package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/toolgate/toolgate/test/rig"
)

// scrape reads the metrics with Prometheus' own parser and returns the number
// of series of toolgate.
func scrape(t *testing.T, s *rig.Sidecar) int {
	t.Helper()
	res, err := client().Get("http://" + s.Addrs["metrics"] + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil {
		t.Fatalf("Prometheus' parser refuses the scrape: %v", err)
	}
	n := 0
	for name, f := range families {
		if strings.HasPrefix(name, "toolgate_") {
			n += len(f.Metric)
			if f.GetHelp() == "" {
				t.Errorf("%s has no help text", name)
			}
		}
	}
	if n == 0 {
		t.Fatal("no series of toolgate")
	}
	return n
}

// batch sends many questions as one AuthZEN batch.
func batch(t *testing.T, s *rig.Sidecar, questions []object) {
	t.Helper()
	post(t, s, "/access/v1/evaluations", object{"evaluations": questions})
}

// TestLabelsStayBounded: whatever callers invent, the number of series stays.
func TestLabelsStayBounded(t *testing.T) {
	t.Parallel()
	file := rig.ConfigFile(t, object{
		"version": 1, "listen": listen(), "agents": object{"a": object{"tools": []string{"read_file"}}},
		"egress": object{"resolver": object{"servers": []string{"127.0.0.1:9"}, "timeout": "10ms"}},
	})
	s := rig.Start(t, rig.Options{Binary: binary, Config: file})
	invented := func(from, to int) {
		var questions []object
		for i := from; i < to; i++ {
			questions = append(questions,
				question("a", "tool", fmt.Sprintf("tool_%d", i), nil),
				question(fmt.Sprintf("agent_%d", i), "tool", "read_file", nil),
				question("a", "url", fmt.Sprintf("http://host-%d.internal/", i), nil),
				question("a", "command", fmt.Sprintf("program-%d", i), nil))
		}
		for len(questions) > 0 {
			n := min(len(questions), 500)
			batch(t, s, questions[:n])
			questions = questions[n:]
		}
	}
	invented(0, 200)
	before := scrape(t, s)
	invented(200, 25_000) // 100,000 questions in all
	if after := scrape(t, s); after != before {
		t.Errorf("%d series before, %d after 100,000 invented names", before, after)
	}
}
