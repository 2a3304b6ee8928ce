package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/toolgate/toolgate/internal/config"
)

// result is what a command left behind.
type result struct {
	code           int
	stdout, stderr string
}

// runWith runs a command line in this process.
func runWith(t *testing.T, stdin string, vars map[string]string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(&env{
		ctx: t.Context(), stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs,
		getenv: func(name string) string { return vars[name] },
	}, args)
	return result{code, out.String(), errs.String()}
}

// file writes a configuration and returns its path.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "toolgate.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const (
	good = "version: 1\nagents: {dev: {tools: [read_file, fetch_url]}, pm: {tools: [fetch_url], mode: report}}\n"
	bad  = "version: 1\nnonsense: 1\nagents: {dev: {tools: [raed_file]}}\n"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	sound, broken := file(t, good), file(t, bad)
	yes := map[string]string{"ALLOW_LOOPBACK_TOOL_URLS": "yes"}
	for name, row := range map[string]struct {
		args []string
		vars map[string]string
		code int
		out  string // in what is said, on the stream that fits the code
	}{
		"version":                           {[]string{"version"}, nil, exitOK, "toolgate dev"},
		"help":                              {[]string{"--help"}, nil, exitOK, "decide"},
		"no command":                        {nil, nil, exitUsage, "hint: toolgate --help"},
		"an unknown command":                {[]string{"nonesuch"}, nil, exitUsage, "hint: toolgate --help"},
		"an unknown flag":                   {[]string{"check", "--nope"}, nil, exitUsage, "--nope"},
		"the default is good":               {[]string{"check"}, nil, exitOK, "ok"},
		"a good file":                       {[]string{"check", sound}, nil, exitOK, "2 agents enforced"},
		"check under its other name":        {[]string{"validate", sound}, nil, exitOK, "ok"},
		"a bad file":                        {[]string{"check", broken}, nil, exitUsage, "2 problems; nothing starts on it"},
		"a bad file before a good one":      {[]string{"check", broken, sound}, nil, exitUsage, sound + ": ok"},
		"no file before a good one":         {[]string{"check", "/nowhere.yaml", sound}, nil, exitUsage, sound + ": ok"},
		"no such file":                      {[]string{"check", "/nowhere.yaml"}, nil, exitUsage, "1 problem; nothing starts on it"},
		"allowed":                           {[]string{"decide", "-c", sound, "-a", "dev", "tool", "read_file"}, nil, exitOK, "allow  listed"},
		"denied":                            {[]string{"decide", "-c", sound, "-a", "dev", "tool", "write_file"}, nil, exitDenied, "deny   not_listed"},
		"an unknown agent is denied":        {[]string{"decide", "-c", sound, "-a", "nobody", "tool", "read_file"}, nil, exitDenied, "unknown_agent"},
		"report mode lets through":          {[]string{"decide", "-c", sound, "-a", "pm", "tool", "read_file"}, nil, exitOK, "it would be refused"},
		"a redirect into the machine":       {[]string{"decide", "-a", "demo", "--hop", "http://127.0.0.1/", "url", "http://93.184.216.34/"}, nil, exitDenied, "redirect 1 of the chain"},
		"an empty plan declares nothing":    {[]string{"decide", "-a", "backend-developer", "--planned=", "tool", "create_board_task"}, nil, exitDenied, "not_listed"},
		"an empty plan binds who holds it":  {[]string{"decide", "-a", "planner", "--planned=", "tool", "create_board_task"}, nil, exitDenied, "not_planned"},
		"a plan that names the tool":        {[]string{"decide", "-a", "planner", "--planned=create_board_task", "tool", "create_board_task"}, nil, exitOK, "listed"},
		"nothing to decide on":              {[]string{"decide", "tool"}, nil, exitUsage, "hint: tool NAME"},
		"an unknown kind":                   {[]string{"decide", "file", "x"}, nil, exitUsage, "hint: write tool, url"},
		"no agent named":                    {[]string{"decide", "-c", sound, "tool", "read_file"}, nil, exitUsage, "--agent NAME, one of: dev, pm"},
		"arguments that are no JSON":        {[]string{"decide", "tool", "read_file", "{"}, nil, exitUsage, "not JSON"},
		"arguments that are no object":      {[]string{"decide", "tool", "read_file", "[]"}, nil, exitUsage, "arguments"},
		"a key twice in the arguments":      {[]string{"decide", "tool", "read_file", `{"a":1,"a":2}`}, nil, exitUsage, "arguments"},
		"a URL in pieces":                   {[]string{"decide", "url", "http://a.example/", "x"}, nil, exitUsage, "quote the whole url"},
		"redirects of a tool":               {[]string{"decide", "--hop", "http://a.example/", "tool", "read_file"}, nil, exitUsage, "--hop is for url"},
		"a tool of a tool":                  {[]string{"decide", "--tool", "fetch_url", "tool", "read_file"}, nil, exitUsage, "--tool is for url and command"},
		"a bad file, asked":                 {[]string{"decide", "-c", broken, "tool", "read_file"}, nil, exitUsage, "write read_file"},
		"explained":                         {[]string{"explain", "-c", sound, "dev"}, nil, exitOK, "agent dev: 2 of"},
		"an unknown agent is not explained": {[]string{"explain", "-c", sound, "nobody"}, nil, exitUsage, "hint: the agents are: dev, pm"},
		"an unknown stage":                  {[]string{"explain", "--stage", "nowhere", "demo"}, nil, exitUsage, "stage"},
		"nobody listens":                    {[]string{"healthcheck", "--url", "http://127.0.0.1:1/readyz"}, nil, exitFault, "hint: is toolgate running"},
		"serve a bad file":                  {[]string{"serve", "-c", broken}, nil, exitUsage, "nonsense"},
		"serve no file":                     {[]string{"serve", "-c", "/nowhere.yaml"}, nil, exitUsage, "no such file"},
		"check with a bad variable":         {[]string{"check"}, yes, exitUsage, "write true or false"},
		"decide with a bad variable":        {[]string{"decide", "tool", "read_file"}, yes, exitUsage, "write true or false"},
		"explain with a bad variable":       {[]string{"explain", "demo"}, yes, exitUsage, "write true or false"},
		"serve with a bad variable":         {[]string{"serve"}, yes, exitUsage, "write true or false"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runWith(t, "", row.vars, row.args...)
			if got.code != row.code {
				t.Errorf("exit code %d, want %d\n%s%s", got.code, row.code, got.stdout, got.stderr)
			}
			if !strings.Contains(got.stdout+got.stderr, row.out) {
				t.Errorf("does not say %q:\n%s%s", row.out, got.stdout, got.stderr)
			}
			if (row.code == exitOK || row.code == exitDenied) && got.stderr != "" {
				t.Errorf("an answer, and on standard error: %s", got.stderr)
			}
		})
	}
}

// TestOutputFits: what a person reads is at most 100 columns wide where no
// terminal says otherwise.
func TestOutputFits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long", 60)
	commands := [][]string{
		{"check"},
		{"decide", "-a", "demo", "tool", "read_file"},
		{"decide", "-a", "demo", "tool", long},
		{"decide", "-a", long, "tool", "read_file"},
		{"decide", "-a", "demo", "--tool", "fetch_url", "url", "https://93.184.216.34/" + long},
		{"decide", "-a", "demo", "--tool", "fetch_url", "url", "http://0251.0376.0251.0376/" + long},
		{"decide", "-a", "demo", "--tool", "fetch_url", "url", "https://user@" + long + ".example/"},
		{"decide", "-a", "demo", "--tool", "fetch_url", "url", "https://ümläut." + long + "/"},
		{"version"},
	}
	for _, agent := range []string{"demo", "reviewer", "builder", "backend-developer", "qa-agent", "planner", "intake"} {
		commands = append(commands, []string{"explain", agent}, []string{"explain", "--stage", "in_qa", "--task-type", "analiz", agent})
	}
	for _, args := range commands {
		got := runWith(t, "", nil, args...)
		if got.stdout == "" {
			t.Errorf("%q says nothing: %s", args, got.stderr)
		}
		for line := range strings.SplitSeq(got.stdout, "\n") {
			if n := utf8.RuneCountInString(line); n > defaultWidth {
				t.Errorf("%.60q: %d columns: %s", args, n, line)
			}
		}
	}
}

// TestJSON: every command that prints data prints it in JSON too, and nothing
// else with it.
func TestJSON(t *testing.T) {
	t.Parallel()
	sound, broken := file(t, good), file(t, bad)
	for name, row := range map[string]struct {
		args []string
		keys []string
		code int
	}{
		"decide, allowed":   {[]string{"decide", "-c", sound, "-a", "dev", "--json", "tool", "read_file"}, []string{"decision", "context"}, exitOK},
		"decide, denied":    {[]string{"decide", "-c", sound, "-a", "dev", "--json", "tool", "write_file"}, []string{"decision", "context"}, exitDenied},
		"explain":           {[]string{"explain", "-c", sound, "--json", "dev"}, []string{"agent", "agent_version", "policy_revision", "mode", "tools", "mcp_servers"}, exitOK},
		"check, good":       {[]string{"check", "--json", sound}, []string{"file", "ok", "problems", "warnings", "summary"}, exitOK},
		"check, bad":        {[]string{"check", "--json", broken}, []string{"file", "ok", "problems", "warnings"}, exitUsage},
		"check, unreadable": {[]string{"check", "--json", "/nowhere.yaml"}, []string{"file", "ok", "problems", "warnings"}, exitUsage},
		"version":           {[]string{"version", "--json"}, []string{"version", "revision", "go"}, exitOK},
	} {
		got := runWith(t, "", nil, row.args...)
		var object map[string]any
		if err := json.Unmarshal([]byte(got.stdout), &object); err != nil || got.code != row.code || got.stderr != "" {
			t.Errorf("%s: %v, exit code %d\n%s%s", name, err, got.code, got.stdout, got.stderr)
		}
		for _, key := range row.keys {
			if _, ok := object[key]; !ok {
				t.Errorf("%s: no key %q in %s", name, key, got.stdout)
			}
		}
	}
	if got := runWith(t, "", nil, "check", "--json", sound, broken); strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("not one line a file:\n%s", got.stdout)
	}
}

// TestDecideLines: answers come in the order of the questions, and a line that
// cannot be read is refused in its place.
func TestDecideLines(t *testing.T) {
	t.Parallel()
	question := func(tool string) string {
		return `{"subject":{"type":"agent","id":"demo"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":"` + tool + `"}}`
	}
	lines := []string{question("read_file"), "", "{", question("merge_task_pull_request"), `"` + strings.Repeat("x", maxLine) + `"`, question("nothing")}
	want := []string{"listed", "bad_request", "not_listed", "bad_request", "unknown_tool"}
	for name, end := range map[string]string{"with a last line end": "\n", "without one": ""} {
		got := runWith(t, strings.Join(lines, "\n")+end, nil, "decide", "-")
		if got.code != exitOK || got.stderr != "" {
			t.Fatalf("%s: exit code %d: %s", name, got.code, got.stderr)
		}
		answers := strings.Split(strings.TrimSuffix(got.stdout, "\n"), "\n")
		if len(answers) != len(want) {
			t.Fatalf("%s: %d answers, want %d:\n%s", name, len(answers), len(want), got.stdout)
		}
		for i, answer := range answers {
			if !strings.Contains(answer, `"reason":"`+want[i]+`"`) || strings.HasPrefix(answer, `{"decision":true`) != (want[i] == "listed") {
				t.Errorf("%s: answer %d is %s, want %s", name, i, answer, want[i])
			}
		}
	}
}

// full takes nothing, like a disk that is full.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestAnAnswerThatDoesNotArrive is a fault, also where the answer was no.
func TestAnAnswerThatDoesNotArrive(t *testing.T) {
	t.Parallel()
	question := `{"subject":{"type":"agent","id":"demo"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":"read_file"}}`
	for _, args := range [][]string{
		{"decide", "tool", "read_file"},
		{"decide", "tool", "write_file"},
		{"decide", "--json", "tool", "write_file"},
		{"decide", "-"},
		{"explain", "demo"},
		{"explain", "--json", "demo"},
		{"check"},
		{"check", "--json"},
		{"version"},
		{"version", "--json"},
	} {
		var errs bytes.Buffer
		code := run(&env{
			ctx: t.Context(), stdin: strings.NewReader(question), stdout: full{}, stderr: &errs, getenv: func(string) string { return "" },
		}, args)
		if code != exitFault || !strings.Contains(errs.String(), errFull.Error()) {
			t.Errorf("%q: exit code %d, %q", args, code, errs.String())
		}
	}
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	var status atomic.Int32
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(int(status.Load()))
		_, _ = io.WriteString(w, "draining\n")
	}))
	defer server.Close()
	sound := file(t, good+"listen: {metrics: \""+server.Listener.Addr().String()+"\"}\n")
	if got := runWith(t, "", nil, "healthcheck", "-c", sound); got.code != exitOK || got.stdout != "ready\n" {
		t.Errorf("ready: %+v", got)
	}
	status.Store(http.StatusServiceUnavailable)
	for _, args := range [][]string{{"healthcheck", "-c", sound}, {"healthcheck", "--url", server.URL + "/readyz"}} {
		if got := runWith(t, "", nil, args...); got.code != exitFault || !strings.Contains(got.stderr, "draining") || got.stdout != "" {
			t.Errorf("%q, draining: %+v", args, got)
		}
	}
}

func TestReachable(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8183": "127.0.0.1:8183",
		"0.0.0.0:8183":   "127.0.0.1:8183",
		"[::]:8183":      "[::1]:8183",
		"10.0.0.5:8183":  "10.0.0.5:8183",
		"localhost:8183": "127.0.0.1:8183",
	} {
		if got, err := reachable(config.Address{Text: listen}); err != nil || got != want {
			t.Errorf("reachable(%q) = %q, %v; want %q", listen, got, err, want)
		}
	}
	for _, listen := range []string{"unix:/s", "127.0.0.1:0", ""} {
		if got, err := reachable(config.Address{Text: listen}); err == nil || !strings.Contains(err.Error(), "--url") {
			t.Errorf("reachable(%q) = %q, %v", listen, got, err)
		}
	}
}
