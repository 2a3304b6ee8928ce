package config_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
)

// TestDefault loads the embedded policy: it runs as it is, so it may have
// neither problem nor warning.
func TestDefault(t *testing.T) {
	t.Parallel()
	doc, lints, problems := config.LoadWithLints(configs.DefaultName, configs.Default(), catalogue(t))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if err := lints.Err(); err != nil {
		t.Error("warnings: ", err)
	}
	if !doc.Tools.Terminal.Enabled || len(doc.Tools.Terminal.Sandbox.Allow) == 0 {
		t.Error("the default lets no command run, so there is nothing to try")
	}
	if doc.Egress.Anonymous == nil {
		t.Fatal("the default has no anonymous agent, so there is nothing to try")
	}
	if _, ok := doc.Agent(doc.Egress.Anonymous.Agent.Name); !ok {
		t.Error("the anonymous agent is not configured")
	}
}

// TestCatalogue asks the built-in catalogue what the seeds say about it.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	if diff := cmp.Diff([]string{"std", "rt", "claude"}, c.Registries()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"analysis", "build", "cleanup", "custom", "fix", "review", "triage", "verify"}, c.Roles()); diff != "" {
		t.Error(diff)
	}
	for _, row := range []struct {
		name, registry, tool string
		check                func(allowlist.Tool) bool
	}{
		{"the shell takes a command", "std", "run_terminal", func(x allowlist.Tool) bool { return x.CommandArg == "command" }},
		{"a page fetcher dials its url", "std", "fetch_url", func(x allowlist.Tool) bool { return x.Network && len(x.URLArgs) == 1 && x.URLArgs[0] == "url" }},
		{"a downloader dials and writes", "std", "download_file", func(x allowlist.Tool) bool { return x.Network && x.Groups[0] == "writer" }},
		{"a browser may earn loopback", "std", "browser_open", func(x allowlist.Tool) bool { return x.Browser }},
		{"a browser tool without a url is a browser too", "std", "browser_click", func(x allowlist.Tool) bool { return x.Browser && len(x.URLArgs) == 0 }},
		{"a fetcher is no browser", "std", "fetch_url", func(x allowlist.Tool) bool { return !x.Browser }},
		{"observability tools are scoped", "std", "query_error_groups", func(x allowlist.Tool) bool {
			return x.RepositoryArg == "repository" && x.ComponentArg == "component" && x.SourceArg == "source"
		}},
		{"Monitor runs a command, like a shell", "claude", "Monitor", func(x allowlist.Tool) bool { return x.CommandArg == "command" }},
		{"WebFetch of a coding agent dials", "claude", "WebFetch", func(x allowlist.Tool) bool { return x.Network && len(x.URLArgs) == 1 }},
		{"a tool that only reads neither dials nor runs", "rt", "Read", func(x allowlist.Tool) bool { return !x.Network && !x.Browser && x.CommandArg == "" }},
	} {
		tool, ok := c.Lookup(row.registry, row.tool)
		if !ok || !row.check(tool) {
			t.Errorf("%s: %s.%s is %+v", row.name, row.registry, row.tool, tool)
		}
	}
}

// TestSeededAgents compiles every agent of the catalogue, and asks for what
// each must and must not hold (seed 001).
func TestSeededAgents(t *testing.T) {
	t.Parallel()
	holds := map[string][]string{
		"backend-developer":  {"run_terminal", "write_file", "fetch_url", "browser_open", "commit_task_changes"},
		"frontend-developer": {"run_terminal", "write_file", "fetch_url", "browser_open", "commit_task_changes"},
		"mobile-developer":   {"run_terminal", "mobile_tap"},
		"product-manager":    {"read_file", "review_criterion", "delete_board_task", "create_project"},
		"system-architect":   {"run_terminal", "read_file", "reply_pull_request"},
		"qa-agent":           {"run_terminal", "browser_open", "get_task_pull_request", "read_file"},
		"release-engineer":   {"merge_task_pull_request", "deploy_release", "release_rollback", "query_error_groups"},
	}
	lacks := map[string][]string{
		"backend-developer":  {"mobile_tap", "merge_task_pull_request", "deploy_release"},
		"frontend-developer": {"mobile_tap", "merge_task_pull_request"},
		"mobile-developer":   {"merge_task_pull_request"},
		"product-manager":    {"run_terminal", "write_file"},
		"system-architect":   {"write_file", "commit_task_changes"},
		"qa-agent":           {"codebase_search", "merge_task_pull_request", "deploy_release"},
		"release-engineer":   {"write_file", "commit_task_changes"},
	}
	c := catalogue(t)
	for _, name := range c.SeededAgents() {
		doc, problems := config.Load("f", []byte("version: 1\nagents:\n  a: {catalogue: "+name+"}\n"), c)
		if err := problems.Err(); err != nil {
			t.Fatal(err)
		}
		agent, bad := c.Compile(doc.Agents[0].Spec(c), nil)
		if len(bad) > 0 {
			t.Fatal(bad)
		}
		if len(holds[name]) == 0 || doc.Agents[0].Parked {
			t.Errorf("agent %s: nobody says what it holds, or it is parked", name)
		}
		for _, tool := range holds[name] {
			if v := agent.Decide(tool, &decision.Facts{}); v.Reason != decision.Listed {
				t.Errorf("%s must hold %s: %s", name, tool, v.Reason)
			}
		}
		for _, tool := range lacks[name] {
			if v := agent.Decide(tool, &decision.Facts{}); v.Reason != decision.NotListed {
				t.Errorf("%s must not hold %s: %s", name, tool, v.Reason)
			}
		}
	}
}

// TestCatalogueFaults damages the catalogue: each fault must be told with its
// place.
func TestCatalogueFaults(t *testing.T) {
	t.Parallel()
	const head = "version: 1\nregistries: {std: {tools: {a: {groups: [g]}, b: {}}}}\n"
	for _, row := range []struct{ name, text, want string }{
		{"no registries", "version: 1\n", "c:1:1: the key registries is missing; add it"},
		{"another version", "version: 2\nregistries: {std: {tools: {a: {}}}}\n", "c:1:1: version: unknown version 2; write version: 1"},
		{"a tool twice", "version: 1\nregistries: {std: {tools: {a: {}, a: {}}}}\n", "c:2:35: registries.std.tools.a: the key is there twice; remove one"},
		{"an unknown key of a tool", "version: 1\nregistries: {std: {tools: {a: {url_arg: x}}}}\n", "c:2:32: registries.std.tools.a.url_arg: unknown key; did you mean url_args?"},
		{"a role that names no tool", head + "roles: {r: {remit: [\"@g\"], defaults: [c]}}\n", `c:3:39: roles.r.defaults[0]: no registry has a tool or group "c"`},
		{"a job without tools", head + "jobs: {j: {}}\n", "c:3:11: jobs.j: the key tools is missing; add it"},
		{"a stage with an unknown gate", head + "stages: {s: {gate: qa}}\ngates: {qb: {execution: [a]}}\n", `c:3:20: stages.s.gate: unknown gate "qa"; write qb`},
		{"a gate that names no tool", head + "gates: {q: {execution: [z]}}\n", `c:3:25: gates.q.execution[0]: no registry has a tool or group "z"`},
		{"an empty file", "", "c:1:1: the file holds no document; begin with version: 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			c, problems := config.LoadCatalogue("c", []byte(row.text))
			if c != nil {
				t.Error("a catalogue came back beside the problems")
			}
			if got := problems.Error(); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

// TestCatalogueGates checks that both execution sets arrive.
func TestCatalogueGates(t *testing.T) {
	t.Parallel()
	c, problems := config.LoadCatalogue(configs.CatalogueName, configs.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range c.Gates {
		names = append(names, g.Name)
		if len(g.Execution.Items) == 0 {
			t.Errorf("gate %s has no execution set", g.Name)
		}
	}
	if diff := cmp.Diff([]string{"qa", "pm_uat"}, names); diff != "" {
		t.Error(diff)
	}
}
