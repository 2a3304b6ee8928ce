package e2e_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/test/rig"
)

// TestOneQuestionOneAnswer draws policies and questions and asks each question
// by every way there is: decide -, the decision API, explain (for tools) and
// the proxy (for URLs that are refused before anything is looked up or that
// fail to connect). All of them must say the same.
func TestOneQuestionOneAnswer(t *testing.T) {
	t.Parallel()
	const policies, questions = 8, 60
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	draw := rand.New(rand.NewPCG(seed, 1))
	for range policies {
		doc := drawPolicy(draw)
		file := rig.ConfigFile(t, doc)
		s := rig.Start(t, rig.Options{Binary: binary, Config: file})
		explained := map[string]map[string]string{}
		var asked []object
		for range questions {
			asked = append(asked, drawQuestion(draw))
		}
		offline := decideAll(t, file, asked)
		for i, q := range asked {
			text, err := json.Marshal(q)
			if err != nil {
				t.Fatal(err)
			}
			online := evaluate(t, s, q)
			if online.Decision != offline[i].Decision || online.Context.Reason != offline[i].Context.Reason ||
				online.Context.Rule != offline[i].Context.Rule || online.Context.Hop != offline[i].Context.Hop {
				t.Errorf("%s: decide says %t %s, the API %t %s", text, offline[i].Decision, offline[i].Context.Reason, online.Decision, online.Context.Reason)
			}
			agent, resource := q["subject"].(object)["id"].(string), q["resource"].(object)
			id := resource["id"].(string)
			if resource["type"] == "tool" {
				facts, _ := q["context"].(object)
				key := fmt.Sprint(agent, facts)
				if explained[key] == nil {
					explained[key] = explainTools(t, file, agent, facts)
				}
				want := fmt.Sprintf("%t %s", online.Decision, online.Context.Reason)
				if got, listed := explained[key][id]; listed && got != want {
					t.Errorf("%s: explain says %s, the API %s", text, got, want)
				} else if !listed && online.Decision {
					t.Errorf("%s: allowed, and explain does not list it", text)
				}
			}
			if resource["type"] == "url" {
				checkProxy(t, s, q, online)
			}
		}
	}
}

// drawPolicy draws a configuration with a few agents.
func drawPolicy(draw *rand.Rand) object {
	some := func(list ...string) []string {
		out := []string{}
		for _, e := range list {
			if draw.IntN(3) == 0 {
				out = append(out, e)
			}
		}
		return out
	}
	role := func() object {
		a := object{"registry": "rt", "role": []string{"build", "review", "verify", "custom"}[draw.IntN(4)]}
		if g := some("Bash", "@edit", "WebSearch", "Browser"); len(g) > 0 {
			a["grant"] = g
		}
		if d := some("Read", "@run", "Browser"); len(d) > 0 {
			a["deny"] = d
		}
		return a
	}
	list := object{"tools": append(some("@code_read", "@writer", "run_terminal", "move_board_task"), "fetch_url", "browser_open")}
	if d := some("fetch_url", "read_file"); len(d) > 0 {
		list["deny"] = d
	}
	if draw.IntN(4) == 0 {
		list["mode"] = "report"
	}
	sandbox := object{"mode": []string{"allowlist", "blocklist", "off"}[draw.IntN(3)], "allow": append(some("ls", "git status", "cat"), "true"), "block": some("curl", "rm")}
	rules := []object{}
	if draw.IntN(2) == 0 {
		rules = append(rules, object{"tools": []string{"@web"}, "allow": []string{"*.example.com", "198.51.100.1"}})
	}
	if draw.IntN(2) == 0 {
		rules = append(rules, object{"deny": []string{"bad.example.com"}})
	}
	return object{
		"version": 1, "listen": listen(),
		"tools":  object{"terminal": object{"enabled": draw.IntN(4) > 0, "sandbox": sandbox}},
		"agents": object{"role": role(), "list": list, "all": object{"tools": []string{}}},
		"egress": object{"rules": rules, "resolver": object{"servers": []string{"127.0.0.1:9"}, "timeout": "50ms"}},
	}
}

// drawQuestion draws a question about a tool, a command or a URL.
func drawQuestion(draw *rand.Rand) object {
	pick := func(list ...string) string { return list[draw.IntN(len(list))] }
	agent := pick("role", "list", "list", "all", "nobody")
	switch draw.IntN(4) {
	case 0:
		return question(agent, "tool", pick("Read", "Bash", "Edit", "WebSearch", "Browser", "read_file", "write_file", "run_terminal", "fetch_url", "none"), nil)
	case 1:
		return question(agent, "tool", pick("read_file", "write_file", "run_terminal", "move_board_task"),
			object{"stage": pick("in_qa", "code_review", "done", "nowhere"), "task_type": pick("feature", "analiz")})
	case 2:
		return question(agent, "command", pick("ls", "git status", "curl x | sh", "rm -rf /", "true", "$x", "'", "cat a > /etc/x"), nil)
	}
	q := question(agent, "url", pick(
		"http://127.0.0.1/", "http://0x7f.1:81/", "http://169.254.169.254/", "http://10.0.0.1/", "http://a.internal/",
		"http://bad.example.com/", "http://www.example.com/", "http://example.org/", "http://198.51.100.1/", "http://a@b/", "http://example.com:22/",
	), object{"tool": pick("fetch_url", "browser_open")})
	if draw.IntN(4) == 0 {
		q["resource"].(object)["properties"] = object{"hops": []string{pick("http://127.0.0.1/", "http://10.0.0.1/", "ftp://x/")}}
	}
	return q
}

// explainTools is what explain says of an agent's tools under facts; nothing
// where it refuses to, for an unknown agent or stage.
func explainTools(t *testing.T, file, agent string, facts object) map[string]string {
	t.Helper()
	args := []string{"explain", "-c", file, "--json", agent}
	for flag, key := range map[string]string{"--stage": "stage", "--task-type": "task_type"} {
		if v, ok := facts[key].(string); ok {
			args = append(args, flag, v)
		}
	}
	out, stderr, code := rig.Run(t, binary, nil, "", args...)
	if code == 2 && strings.Contains(stderr, "No ") {
		return map[string]string{}
	}
	if code != 0 {
		t.Fatalf("explain %s: %s", agent, stderr)
	}
	var x struct {
		Tools []struct {
			Tool, Reason string
			Decision     bool
		}
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, e := range x.Tools {
		tools[e.Tool] = fmt.Sprintf("%t %s", e.Decision, e.Reason)
	}
	return tools
}

// decideAll asks decide -.
func decideAll(t *testing.T, file string, questions []object) []answer {
	t.Helper()
	var in strings.Builder
	for _, q := range questions {
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	out, stderr, code := rig.Run(t, binary, nil, in.String(), "decide", "-c", file, "-")
	if code != 0 {
		t.Fatalf("decide -: %d %s", code, stderr)
	}
	var answers []answer
	for line := range strings.Lines(out) {
		var a answer
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("%d questions, %d answers", len(questions), len(answers))
	}
	return answers
}

// checkProxy asks the proxy for the URL of a question, with a permit of the
// question's tool where the agent can get one.
func checkProxy(t *testing.T, s *rig.Sidecar, q object, want answer) {
	t.Helper()
	resource, tool := q["resource"].(object), q["context"].(object)["tool"].(string)
	if resource["properties"] != nil || want.Context.Would {
		return // the proxy meets one hop at a time, and would dial what report mode lets through
	}
	held := evaluate(t, s, question(q["subject"].(object)["id"].(string), "tool", tool, nil))
	if held.Context.Permit == "" {
		return
	}
	conn, err := net.Dial("tcp", s.Addrs["proxy"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	url := resource["id"].(string)
	host := strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")
	fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", url, host[strings.LastIndexByte(host, '@')+1:],
		base64.StdEncoding.EncodeToString([]byte(tool+":"+held.Context.Permit)))
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", url, err)
	}
	got := res.Header.Get("X-Toolgate-Reason")
	switch {
	case want.Decision && got != "connect_failed" && got != "": // nothing is there to connect to
		t.Errorf("%s: the API allows it, the proxy says %q", url, got)
	case !want.Decision && got != want.Context.Reason:
		t.Errorf("%s: the API says %s, the proxy %q", url, want.Context.Reason, got)
	}
}
