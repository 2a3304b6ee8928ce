package daemon

import (
	"slices"
	"strings"
	"testing"
)

// loaded compiles a document that must be good.
func loaded(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := compile(PolicyOptions{}, "toolgate.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const small = `version: 1
agents:
  dev: {tools: [read_file, fetch_url, run_terminal]}
  pm: {tools: [fetch_url]}
`

func TestNeedRestart(t *testing.T) {
	t.Parallel()
	started := loaded(t, small).Document
	for name, row := range map[string]struct {
		edit string
		want []string
	}{
		"nothing":                         {"", nil},
		"what a reload takes up":          {"mode: report\ndrain_timeout: 1s\negress: {ports: [443]}\n", nil},
		"a default that is written out":   {"listen: {api: \"127.0.0.1:8180\"}\n", nil},
		"a listener":                      {"listen: {proxy: \"127.0.0.1:9181\"}\n", []string{"listen.proxy"}},
		"every listener":                  {"listen: {api: \"127.0.0.1:1\", proxy: \"127.0.0.1:2\", metrics: \"127.0.0.1:3\"}\n", []string{"listen.api", "listen.proxy", "listen.metrics"}},
		"the state folder":                {"state: ./elsewhere\n", []string{"state"}},
		"the token file":                  {"api: {token_file: /run/secrets/token}\n", []string{"api.token_file"}},
		"the level of the log":            {"log: {level: debug}\n", []string{"log"}},
		"what to do when the log is full": {"log: {on_full: drop}\n", []string{"log"}},
	} {
		if got := needRestart(started, loaded(t, small+row.edit).Document); !slices.Equal(got, row.want) {
			t.Errorf("%s: %q, want %q", name, got, row.want)
		}
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		edit     string
		loopback bool
		want     []string // each in some line
	}{
		"the defaults": {"", false, []string{
			"2 agents enforced: dev, pm", "terminal  off: no command runs", "loopback closed to all",
			"0 egress rules, 0 private exceptions", "the proxy asks for credentials",
		}},
		"report mode": {"mode: report\n", false, []string{"2 agents in report mode (refusals of policy are recorded and let through)"}},
		"an agent in another mode": {"  qa: {tools: [read_file], mode: report}\n", false, []string{
			"3 agents enforced: dev, pm, qa; qa in report mode",
		}},
		"an allow-list": {"tools: {terminal: {enabled: true, sandbox: {allow: [ls], block: [git push, rm]}}}\n", false, []string{
			"allowlist: 1 rule allow, 2 rules block, everything else is refused",
		}},
		"a blocklist": {"tools: {terminal: {enabled: true, sandbox: {mode: blocklist, block: [rm]}}}\n", false, []string{
			"blocklist: 1 rule block, everything else runs",
		}},
		"no sandbox":    {"tools: {terminal: {enabled: true, sandbox: {mode: \"off\"}}}\n", false, []string{"every command runs"}},
		"loopback open": {"", true, []string{"loopback open to browser tools (ALLOW_LOOPBACK_TOOL_URLS)"}},
		"egress": {"egress: {anonymous: {agent: pm, tool: fetch_url}, rules: [{deny: [a.example]}]}\n", false, []string{
			"1 egress rule, ", "clients without credentials are agent pm, tool fetch_url",
		}},
	} {
		got := strings.Join(Describe(loaded(t, small+row.edit), row.loopback), "\n")
		for _, want := range row.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		if lines := strings.Count(got, "\n") + 1; lines != 3 {
			t.Errorf("%s: %d lines, want one a guard", name, lines)
		}
	}
}
