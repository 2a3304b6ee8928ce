// Package e2e_test runs the real binary with real peers: curl, Prometheus'
// parser, signals, symlinks. What needs public addresses happens in network
// namespaces (package world); everything else on loopback.
package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/test/rig"
	"github.com/toolgate/toolgate/test/world"
)

// binary is the toolgate that TestMain built.
var binary string

func TestMain(m *testing.M) {
	world.Main()
	os.Exit(rig.Main(m, func(built string) { binary = built }))
}

type object = rig.Object

// listen binds free ports on loopback.
func listen() object {
	return object{"api": "127.0.0.1:0", "proxy": "127.0.0.1:0", "metrics": "127.0.0.1:0"}
}

// client asks without any proxy.
func client() *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
}

// get returns status and body of a GET.
func get(t testing.TB, url string) (int, string) {
	t.Helper()
	res, err := client().Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// answer is an AuthZEN answer.
type answer struct {
	Decision bool
	Context  struct {
		ID, Reason, State, Rule, Position, Layer, Mode, Permit string

		User  string `json:"reason_user"`
		Admin string `json:"reason_admin"`
		Hop   int
		Would bool `json:"would_deny"`
	}
}

// post asks the decision API and returns its answer.
func post(t testing.TB, s *rig.Sidecar, path string, question object) []byte {
	t.Helper()
	body, err := json.Marshal(question)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodPost, "http://"+s.Addrs["api"]+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %v: %s", res.StatusCode, err, text)
	}
	return text
}

// evaluate asks one question.
func evaluate(t testing.TB, s *rig.Sidecar, question object) answer {
	t.Helper()
	var a answer
	if err := json.Unmarshal(post(t, s, "/access/v1/evaluation", question), &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// question is an AuthZEN question of an agent.
func question(agent, kind, id string, context object) object {
	action := map[string]string{"tool": "tools/call", "url": "fetch", "command": "execute", "mcp_server": "tools/call"}[kind]
	q := object{
		"subject": object{"type": "agent", "id": agent}, "action": object{"name": action},
		"resource": object{"type": kind, "id": id},
	}
	if context != nil {
		q["context"] = context
	}
	return q
}

// logLines are the decisions in a sidecar's log.
func logLines(t testing.TB, s *rig.Sidecar) []object {
	t.Helper()
	var out []object
	for line := range strings.Lines(s.Stdout.String()) {
		var o object
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		out = append(out, o)
	}
	return out
}

// metric returns the value of one series, as Prometheus' text format shows it;
// "" if it is not there.
func metric(t testing.TB, s *rig.Sidecar, series string) string {
	t.Helper()
	_, text := get(t, "http://"+s.Addrs["metrics"]+"/metrics")
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
