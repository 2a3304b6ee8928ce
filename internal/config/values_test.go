package config_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
)

// full uses every key that is built, in values that differ from the defaults.
const full = `version: 1
listen: {api: "unix:/run/toolgate.sock", proxy: "127.0.0.1:0", metrics: "[::1]:9183"}
state: /var/lib/toolgate
api: {token_file: /run/secrets/token}
mode: report
drain_timeout: 30s
tools:
  terminal:
    enabled: true
    sandbox:
      mode: blocklist
      allow:
        - git status|log
        - {cmd: go test, why: tests, children: ["$GOROOT/**", gcc], match: [], not_match: []}
      block: [curl]
      redirects: workspace
      env_allow: [CI]
      require: none
      data_eval: refuse
agents:
  zoe:
    registry: rt
    role: review
    grant: [Glob, Bash]
    deny: [WebSearch]
    mcp: {tracker: ["get_*"]}
    strict_mcp: true
    http_tools: [lookup]
    conditions:
      - {tool: Read, arg: path, under: /workspace}
      - {tool: lookup, arg: url, host_in: ["*.example.com"]}
    model: m
    prompt: |
      two
      lines
    mode: enforce
  anna: {registry: claude, tools: [], provider: claude-cli, read_only: true, allowed_tools: [], disallowed_tools: [LSP], mcp: [tracker], narrow_unrestricted: subtract}
  kim: {catalogue: qa-agent, deny: [run_terminal]}
inventory:
  repositories: {shop: {components: [web, api]}}
  sources: {loki: [web], spare: []}
mcp:
  servers:
    tracker: {url: "https://tracker.example/mcp", agents: all}
    files: {command: [npx, -y, server], env: {TOKEN: x}}
egress:
  anonymous: {agent: zoe, tool: WebFetch}
  ports: [443]
  rules: [{agents: [zoe], tools: ["@research", lookup], allow: ["*.example.com:443"], deny: [ads.example.com]}]
  allow_private: [{host: artifacts.corp.example, cidr: 10.1.2.0/24, ports: [443]}]
  resolver: {servers: ["192.0.2.53:53"], timeout: 500ms, hosts: {a.example: [192.0.2.1, "2001:db8::1"]}}
log: {level: warn, format: json, on_full: drop}
`

func load(tb testing.TB, text string) *config.Document {
	tb.Helper()
	doc, problems := config.Load("f", []byte(text), catalogue(tb))
	if err := problems.Err(); err != nil {
		tb.Fatal(err)
	}
	return doc
}

func TestValues(t *testing.T) {
	t.Parallel()
	d := load(t, full)
	zoe, anna, kim := d.Agents[0], d.Agents[1], d.Agents[2]
	for _, row := range []struct {
		name      string
		got, want any
	}{
		{"a Unix socket", d.Listen.API.String(), "unix:/run/toolgate.sock"},
		{"any free port", d.Listen.Proxy.String(), "127.0.0.1:0"},
		{"an address keeps its place", d.Listen.Metrics.Pos, decision.Position{File: "f", Line: 2, Col: 73}},
		{"state", d.State, "/var/lib/toolgate"},
		{"token file", d.API.TokenFile, "/run/secrets/token"},
		{"mode", d.Mode, decision.Report},
		{"drain", d.DrainTimeout, 30 * time.Second},
		{"sandbox mode", d.Tools.Terminal.Sandbox.Mode, terminal.ModeBlocklist},
		{"redirects", d.Tools.Terminal.Sandbox.Redirects, terminal.RedirectsWorkspace},
		{"a written list replaces the default", d.Tools.Terminal.Sandbox.EnvAllow, []string{"CI"}},
		{"a rule in short form", d.Tools.Terminal.Sandbox.Allow[0].Cmd.Text, "git status|log"},
		{"a rule in long form", d.Tools.Terminal.Sandbox.Allow[1].Cmd.Why, "tests"},
		{"a rule keeps its place", d.Tools.Terminal.Sandbox.Allow[1].Pos, decision.Position{File: "f", Line: 14, Col: 11}},
		{"agents keep the order of the file", []string{zoe.Name, anna.Name, kim.Name}, []string{"zoe", "anna", "kim"}},
		{"the place of an agent is its name", zoe.Pos, decision.Position{File: "f", Line: 21, Col: 3}},
		{"an own mode", *zoe.Mode, decision.Enforce},
		{"no own mode", anna.Mode == nil, true},
		{"a prompt of two lines", zoe.Prompt, "two\nlines\n"},
		{"tools of a server", zoe.MCP.Items[0].Tools.Strings(), []string{"get_*"}},
		{"an empty list is written", anna.Tools.Set && anna.AllowedTools.Set, true},
		{"a missing list is not", zoe.Tools.Set, false},
		{"provider", anna.Provider, config.ProviderClaudeCLI},
		{"narrowing", anna.NarrowUnrestricted, config.NarrowSubtract},
		{"a key beside catalogue parks", kim.Parked, true},
		{"a server for all", d.MCP.Servers[0].Agents, config.ScopeAll},
		{"a server for those that list it", d.MCP.Servers[1].Agents, config.ScopeListed},
		{"environment", d.MCP.Servers[1].Env[0].Value, "x"},
		{"ports", d.Egress.Ports, []uint16{443}},
		{"a pattern keeps its text", d.Egress.Rules[0].Allow[0].String(), "*.example.com:443"},
		{"a range", d.Egress.AllowPrivate[0].CIDR, netip.MustParsePrefix("10.1.2.0/24")},
		{"a timeout", d.Egress.Resolver.Timeout, 500 * time.Millisecond},
		{"static answers", d.Egress.Resolver.Hosts[0].Addrs, []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}},
		{"log level", d.Log.Level, config.LevelWarn},
		{"log full", d.Log.OnFull, config.FullDrop},
		{"servers for the allow-list", d.Declared(), []allowlist.Server{{ID: "tracker", All: true}, {ID: "files"}}},
		{"inventory", d.Scopes(), &allowlist.Inventory{
			Repositories: map[string][]string{"shop": {"web", "api"}},
			Sources:      map[string][]string{"loki": {"web"}, "spare": {}},
		}},
	} {
		opts := cmp.Options{cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}
		if diff := cmp.Diff(row.want, row.got, opts); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}

// TestDefaults loads the shortest document: every default is in it.
func TestDefaults(t *testing.T) {
	t.Parallel()
	d := load(t, "version: 1\n")
	for _, row := range []struct {
		name      string
		got, want any
	}{
		{"api", d.Listen.API, config.Address{Text: "127.0.0.1:8180"}},
		{"proxy", d.Listen.Proxy, config.Address{Text: "127.0.0.1:8181"}},
		{"mcp is not built", d.Listen.MCP, config.Address{}},
		{"metrics", d.Listen.Metrics, config.Address{Text: "127.0.0.1:8183"}},
		{"state", d.State, "./toolgate-state"},
		{"mode", d.Mode, decision.Enforce},
		{"drain", d.DrainTimeout, 10 * time.Second},
		{"terminal off", d.Tools.Terminal.Enabled, false},
		{"allow-list mode", d.Tools.Terminal.Sandbox.Mode, terminal.ModeAllowlist},
		{"no redirect", d.Tools.Terminal.Sandbox.Redirects, terminal.RedirectsNone},
		{"variables", strings.Join(d.Tools.Terminal.Sandbox.EnvAllow, " "), "LANG LC_* TZ TERM COLUMNS LINES NO_COLOR FORCE_COLOR CI"},
		{"nobody is anonymous", d.Egress.Anonymous == nil, true},
		{"ports", d.Egress.Ports, []uint16{80, 443, 8080, 8443}},
		{"resolver", d.Egress.Resolver.Servers, []string{"system"}},
		{"look-up time", d.Egress.Resolver.Timeout, 2 * time.Second},
		{"level", d.Log.Level, config.LevelInfo},
		{"a full log denies", d.Log.OnFull, config.FullDeny},
		{"no agent", len(d.Agents), 0},
	} {
		if diff := cmp.Diff(row.want, row.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
	half := load(t, "version: 1\nlisten: {api: \"127.0.0.1:1\"}\negress: {resolver: {timeout: 3s}}\n")
	if half.Listen.Proxy.Text != "127.0.0.1:8181" || len(half.Egress.Resolver.Servers) != 1 || len(half.Egress.Ports) != 4 {
		t.Errorf("a section that is half written lost its defaults: %+v %+v", half.Listen, half.Egress)
	}
}

// TestHostIn asks a condition's host test about texts that a tool may be given.
func TestHostIn(t *testing.T) {
	t.Parallel()
	d := load(t, "version: 1\nagents:\n  a: {tools: [fetch_url], conditions: [{tool: fetch_url, arg: url, host_in: [\"*.example.com\", \"b.example:8443\"]}]}\n")
	test := d.Agents[0].Spec(catalogue(t)).Conditions[0].Host
	for _, row := range []struct {
		name, text string
		want       bool
	}{
		{"a URL below the domain", "https://a.example.com/x", true},
		{"a bare host", "a.example.com", true},
		{"a host and a port", "b.example:8443", true},
		{"the domain itself", "https://example.com/", false},
		{"another port", "https://b.example/", false},
		{"a name that only ends alike", "https://evilexample.com/", false},
		{"the domain as user", "https://a.example.com@evil.example/", false},
		{"no URL at all", "a.example.com evil.example", false},
		{"another scheme", "ftp://a.example.com/", false},
		{"nothing", "", false},
	} {
		if got := test(row.text); got != row.want {
			t.Errorf("%s: %q is %v", row.name, row.text, got)
		}
	}
}

// TestBadBytes loads files that are no text, or too much of it.
func TestBadBytes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, text, want string }{
		{"nothing", "", "f:1:1: the file holds no document; begin with version: 1"},
		{"blanks", " \n\n", "f:1:1: the file holds no document; begin with version: 1"},
		{"not UTF-8", "version: 1\nstate: \xff\n", "f:2:8: the file is not UTF-8; save it as UTF-8"},
		{"UTF-16", "\xff\xfev\x00", "f:1:1: the file is not UTF-8; save it as UTF-8"},
		{"a byte order mark", "\ufeffversion: 1\n", "f:1:1: the file begins with a byte order mark; save it as UTF-8 without one"},
		{"a directive that the parser would skip", "# a\n%YAML 1.1\n---\nversion: 1\n", "f:2:1: a YAML directive begins here; remove it"},
		{"a tag directive", "%TAG ! tag:x,2000:\n---\nversion: 1\n", "f:1:1: a YAML directive begins here; remove it"},
		{"NUL", "version: 1\x00\n", "f:1:11: the file holds the invisible character U+0000; remove it"},
		{"an escape sequence in a comment", "version: 1 # \x1b[2J\n", "f:1:14: the file holds the invisible character U+001B; remove it"},
		{"a carriage return alone", "version: 1\rmode: report\n", "f:1:11: the file holds the invisible character U+000D; remove it"},
		{"a line break that only some know", "version: 1\u2028mode: report\n", "f:1:11: the file holds the invisible character U+2028; remove it"},
		{"too long", "version: 1\n#" + strings.Repeat("x", 1<<20), "f:1:1: the file is longer than 1 MiB; split the work between several toolgates"},
		{"a thousand levels", "version: 1\na: " + strings.Repeat("{a: ", 1000), "f:2:68: not YAML: exceeded max depth of 16 (while increasing flow level); correct the YAML"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			_, problems := config.Load("f", []byte(row.text), catalogue(t))
			if got := problems.Error(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
	if _, problems := config.Load("f", []byte("version: 1\r\nmode: report\r\n"), catalogue(t)); problems != nil {
		t.Errorf("a file from another system: %v", problems)
	}
}

// TestTooManyProblems loads a file that is wrong everywhere.
func TestTooManyProblems(t *testing.T) {
	t.Parallel()
	_, problems := config.Load("f", []byte("version: 1\negress: {ports: ["+strings.Repeat("0, ", 5000)+"]}\n"), catalogue(t))
	const most = 1001
	if len(problems) != most || !strings.Contains(problems[most-1].Message, "more problems") {
		t.Errorf("%d problems, the last: %v", len(problems), problems[len(problems)-1])
	}
}
