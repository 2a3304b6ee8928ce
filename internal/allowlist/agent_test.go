package allowlist_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// named turns words into names.
func named(words ...string) []allowlist.Named {
	out := []allowlist.Named{}
	for _, w := range words {
		out = append(out, allowlist.Named{Name: w})
	}
	return out
}

// tools reads "name:group,group name:group" as tools.
func tools(text string) []allowlist.Tool {
	var out []allowlist.Tool
	for word := range strings.FieldsSeq(text) {
		name, groups, _ := strings.Cut(word, ":")
		t := allowlist.Tool{Name: name}
		if groups != "" {
			t.Groups = strings.Split(groups, ",")
		}
		switch name {
		case "run_terminal", "Bash":
			t.CommandArg = "command"
		case "fetch_url", "browser_open":
			t.URLArgs = []string{"url"}
		case "query_error_groups":
			t.RepositoryArg, t.ComponentArg, t.SourceArg = "repository", "component", "source"
		}
		out = append(out, t)
	}
	return out
}

// data is a small catalogue with everything that a chain can meet.
func data() allowlist.CatalogueData {
	role := func(name, remit, defaults string) allowlist.RoleData {
		return allowlist.RoleData{Name: name, Remit: named(strings.Fields(remit)...), Defaults: named(strings.Fields(defaults)...)}
	}
	return allowlist.CatalogueData{
		Registries: []allowlist.RegistryData{
			{Name: "std", Tools: tools(`read_file:code_read grep_code:code_read write_file:writer edit_file:writer run_terminal:shell
				fetch_url:web,url browser_open:browser,url create_board_task:board_write move_board_task:board_write
				commit_task_changes:commit merge_pull_request:merge deploy_release:release load_skill:skill query_error_groups:obs`)},
			{Name: "rt", Tools: tools(`Read:read Grep:read Glob:read Edit:edit Write:edit Bash:run Browser:browser,url WebSearch:research,url`)},
			{Name: "claude", Tools: tools(`Read Grep Glob TodoWrite Bash Write WebFetch WebSearch LSP`)},
		},
		Roles: []allowlist.RoleData{
			role("build", "@read @edit @run @browser", "@read @edit @run"),
			role("review", "@read", "Read Grep"),
			role("custom", "*", ""),
		},
		Agents: []allowlist.SeededData{{Name: "dev", Registry: "std", Tools: named("@writer", "run_terminal")}},
		Stages: []allowlist.StageData{
			{Name: "in_progress"},
			{Name: "code_review", StripWriters: true},
			{Name: "in_qa", StripWriters: true, NoCodeReading: named("read_file")},
			{Name: "done", StripWriters: true, Keep: named("@merge", "@release")},
		},
		TaskTypes:    []allowlist.TaskTypeData{{Name: "feature"}, {Name: "analiz", NoWorkspaceWrites: true}},
		Jobs:         []allowlist.JobData{{Name: "define_errors", Tools: named("query_error_groups")}},
		JobAlways:    named("grep_code", "read_file", "load_skill"),
		Writers:      named("@writer"),
		StageStrips:  named("commit_task_changes", "@merge", "@release"),
		Planned:      named("@board_write"),
		ReadOnly:     named("Read", "Grep", "Glob", "TodoWrite"),
		Exfiltration: named("WebFetch", "WebSearch"),
		WriteCapable: named("Bash", "Write"),

		BrowserGroups: []string{"browser"},
		NetworkGroups: []string{"url"},
	}
}

func catalogue(t testing.TB) *allowlist.Catalogue {
	t.Helper()
	c, problems := allowlist.NewCatalogue(data())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return c
}

// servers are the MCP servers of every test.
func servers() []allowlist.Server {
	return []allowlist.Server{{ID: "pg", All: true}, {ID: "jira"}, {ID: "sentry"}}
}

func compile(t testing.TB, spec allowlist.AgentSpec) *allowlist.Agent {
	t.Helper()
	a, problems := catalogue(t).Compile(spec, servers())
	if len(problems) > 0 {
		t.Fatalf("%+v: %v", spec, problems)
	}
	return a
}

// The kinds of agents that the tables use.
func role(name string, grants ...string) allowlist.AgentSpec {
	return allowlist.AgentSpec{Name: "a", Registry: allowlist.Named{Name: "rt"}, Role: allowlist.Named{Name: name}, Grants: named(grants...)}
}

func list(entries ...string) allowlist.AgentSpec {
	return allowlist.AgentSpec{Name: "a", Registry: allowlist.Named{Name: "std"}, Tools: named(entries...), HasTools: true}
}

func cli(change func(*allowlist.AgentSpec)) allowlist.AgentSpec {
	s := allowlist.AgentSpec{Name: "a", Registry: allowlist.Named{Name: "claude"}, ProviderName: "claude-cli"}
	change(&s)
	return s
}

func with(s allowlist.AgentSpec, change func(*allowlist.AgentSpec)) allowlist.AgentSpec {
	change(&s)
	return s
}

func denying(names ...string) func(*allowlist.AgentSpec) {
	return func(s *allowlist.AgentSpec) { s.Denies = named(names...) }
}

func TestDecide(t *testing.T) {
	t.Parallel()
	readOnly := func(s *allowlist.AgentSpec) { s.ReadOnly = true }
	for _, row := range []struct {
		edge  string
		spec  allowlist.AgentSpec
		facts decision.Facts
		tool  string
		want  decision.Reason
		state decision.State
	}{
		// Seed 000: roles.
		{"a default", role("review"), decision.Facts{}, "Read", decision.RoleDefault, decision.StateGranted},
		{"a granted default stays a default", role("review", "Read"), decision.Facts{}, "Read", decision.RoleDefault, decision.StateGranted},
		{"in the remit, not granted", role("review"), decision.Facts{}, "Glob", decision.NotGranted, decision.StateNotGranted},
		{"in the remit, granted", role("review", "Glob"), decision.Facts{}, "Glob", decision.GrantedByOperator, decision.StateGranted},
		{"a grant cannot widen the remit", role("review", "Bash"), decision.Facts{}, "Bash", decision.OutsideRemit, decision.StateUnavailable},
		{"a whole group outside the remit", role("review", "@edit"), decision.Facts{}, "Edit", decision.OutsideRemit, decision.StateUnavailable},
		{"outside the remit and never granted", role("review"), decision.Facts{}, "Bash", decision.OutsideRemit, decision.StateNotGranted},
		{"a deny beats a grant in the same breath", with(role("build", "Browser"), denying("Browser")), decision.Facts{}, "Browser", decision.DeniedByOperator, decision.StateDenied},
		{"a deny beats unavailable", with(role("review", "Bash"), denying("Bash")), decision.Facts{}, "Bash", decision.DeniedByOperator, decision.StateDenied},
		{"a deny of what was never held shows", with(role("build"), denying("WebSearch")), decision.Facts{}, "WebSearch", decision.DeniedByOperator, decision.StateDenied},
		{"custom starts empty", role("custom"), decision.Facts{}, "Read", decision.NotGranted, decision.StateNotGranted},
		{"custom takes every deliberate grant", role("custom", "Bash"), decision.Facts{}, "Bash", decision.GrantedByOperator, decision.StateGranted},
		{"names are exact", role("build"), decision.Facts{}, "bash", decision.UnknownTool, decision.StateNone},
		{"not registered", role("build"), decision.Facts{}, "Teleport", decision.UnknownTool, decision.StateNone},
		{"the empty name", role("build"), decision.Facts{}, "", decision.UnknownTool, decision.StateNone},

		// Seed 001: lists, stages, types, plans, jobs.
		{"listed", list("read_file"), decision.Facts{}, "read_file", decision.Listed, decision.StateGranted},
		{"not listed", list("read_file"), decision.Facts{}, "write_file", decision.NotListed, decision.StateNotGranted},
		{"a grant beside a list", with(list("read_file"), func(s *allowlist.AgentSpec) { s.Grants = named("load_skill", "read_file") }), decision.Facts{}, "load_skill", decision.GrantedByOperator, decision.StateGranted},
		{"listed and granted is listed", with(list("read_file"), func(s *allowlist.AgentSpec) { s.Grants = named("read_file") }), decision.Facts{}, "read_file", decision.Listed, decision.StateGranted},
		{"unrestricted", list(), decision.Facts{}, "deploy_release", decision.Unrestricted, decision.StateGranted},
		{"unrestricted means registered tools", list(), decision.Facts{}, "nothing", decision.UnknownTool, decision.StateNone},
		{"a stage strips writers", list("@writer"), decision.Facts{Stage: "code_review"}, "write_file", decision.StrippedByStageWriters, decision.StateNarrowed},
		{"a list stripped to nothing holds nothing", list("@writer"), decision.Facts{Stage: "code_review"}, "read_file", decision.NotListed, decision.StateNotGranted},
		{"a stage strips the merge", list("@merge"), decision.Facts{Stage: "code_review"}, "merge_pull_request", decision.StrippedByStageWriters, decision.StateNarrowed},
		{"a stage keeps the merge for who holds it", list("@merge"), decision.Facts{Stage: "done"}, "merge_pull_request", decision.Listed, decision.StateGranted},
		{"keeping never grants", list("@writer"), decision.Facts{Stage: "done"}, "merge_pull_request", decision.NotListed, decision.StateNotGranted},
		{"the shell stays", list("run_terminal"), decision.Facts{Stage: "in_qa"}, "run_terminal", decision.Listed, decision.StateGranted},
		{"no file bodies in QA", list("@code_read"), decision.Facts{Stage: "in_qa"}, "read_file", decision.StrippedByStageCodeReading, decision.StateNarrowed},
		{"but the tree", list("@code_read"), decision.Facts{Stage: "in_qa"}, "grep_code", decision.Listed, decision.StateGranted},
		{"a task type strips writers everywhere", list("@writer"), decision.Facts{TaskType: "analiz"}, "edit_file", decision.StrippedByTaskType, decision.StateNarrowed},
		{"the type comes before the stage", list("@writer"), decision.Facts{TaskType: "analiz", Stage: "in_qa"}, "edit_file", decision.StrippedByTaskType, decision.StateNarrowed},
		{"a type leaves commits alone", list("commit_task_changes"), decision.Facts{TaskType: "analiz"}, "commit_task_changes", decision.Listed, decision.StateGranted},
		{"unrestricted is left alone by a stage", list(), decision.Facts{Stage: "in_qa", TaskType: "analiz"}, "write_file", decision.Unrestricted, decision.StateGranted},
		{"unless it asks", with(list(), func(s *allowlist.AgentSpec) { s.NarrowUnrestricted = true }), decision.Facts{Stage: "in_qa"}, "write_file", decision.StrippedByStageWriters, decision.StateNarrowed},
		{"an unknown stage", list(), decision.Facts{Stage: "qa"}, "read_file", decision.UnknownStage, decision.StateNone},
		{"an unknown type", list(), decision.Facts{TaskType: "bugs"}, "read_file", decision.UnknownTaskType, decision.StateNone},
		{"an unknown job", list(), decision.Facts{Job: "x"}, "read_file", decision.UnknownJob, decision.StateNone},
		{"declared", list("@board_write"), decision.Facts{HasPlan: true, Planned: []string{"create_board_task"}}, "create_board_task", decision.Listed, decision.StateGranted},
		{"not declared", list("@board_write"), decision.Facts{HasPlan: true, Planned: []string{"create_board_task"}}, "move_board_task", decision.NotPlanned, decision.StateNarrowed},
		{"a plan of nothing declares nothing", list("@board_write"), decision.Facts{HasPlan: true}, "move_board_task", decision.NotPlanned, decision.StateNarrowed},
		{"a plan without its mark is a plan", list("@board_write"), decision.Facts{Planned: []string{"create_board_task"}}, "move_board_task", decision.NotPlanned, decision.StateNarrowed},
		{"a plan is no budget for other tools", list("run_terminal"), decision.Facts{HasPlan: true}, "run_terminal", decision.Listed, decision.StateGranted},
		{"a plan binds the unrestricted", list(), decision.Facts{HasPlan: true}, "move_board_task", decision.NotPlanned, decision.StateNarrowed},
		{"a job's own tool", list(), decision.Facts{Job: "define_errors"}, "query_error_groups", decision.Unrestricted, decision.StateGranted},
		{"a job binds the unrestricted", list(), decision.Facts{Job: "define_errors"}, "run_terminal", decision.OutsideJob, decision.StateNarrowed},
		{"a job grants nothing", list("run_terminal"), decision.Facts{Job: "define_errors"}, "read_file", decision.NotListed, decision.StateNotGranted},

		// MCP servers.
		{"open to all agents", list(), decision.Facts{}, "mcp__pg__query", decision.MCPServerAllAgents, decision.StateGranted},
		{"listed ones are not", list(), decision.Facts{}, "mcp__jira__create", decision.MCPServerNotPicked, decision.StateNotGranted},
		{"picked", with(list(), mcp("jira")), decision.Facts{}, "mcp__jira__create", decision.MCPServerPicked, decision.StateGranted},
		{"picking is exact", with(list(), mcp("jira")), decision.Facts{}, "mcp__pg__query", decision.MCPServerNotPicked, decision.StateNotGranted},
		{"unknown server", list(), decision.Facts{}, "mcp__ghost__x", decision.MCPServerUnknown, decision.StateNone},
		{"no server at all", list(), decision.Facts{}, "mcp__", decision.MCPServerUnknown, decision.StateNone},
		{"a job reaches none", list(), decision.Facts{Job: "define_errors"}, "mcp__pg__query", decision.JobNoMCP, decision.StateNarrowed},
		{"a tool-level deny", with(list(), denying("mcp__pg__drop")), decision.Facts{}, "mcp__pg__drop", decision.DeniedByOperator, decision.StateDenied},
		{"a server-level deny", with(list(), denying("mcp__pg")), decision.Facts{}, "mcp__pg__query", decision.DeniedByOperator, decision.StateDenied},
		{"strict and none listed", with(list(), func(s *allowlist.AgentSpec) { s.StrictMCP = true }), decision.Facts{}, "mcp__pg__query", decision.MCPServerNotDeclared, decision.StateNotGranted},
		{"strict and listed", with(list(), func(s *allowlist.AgentSpec) { s.StrictMCP = true; mcp("pg")(s) }), decision.Facts{}, "mcp__pg__query", decision.MCPDeclared, decision.StateGranted},
		{"a pattern that matches", with(list(), mcp("jira", "get_*")), decision.Facts{}, "mcp__jira__get_issue", decision.MCPServerPicked, decision.StateGranted},
		{"a pattern that does not", with(list(), mcp("jira", "get_*")), decision.Facts{}, "mcp__jira__create", decision.MCPServerNotPicked, decision.StateNotGranted},
		{"the tool's own double underscore", with(list(), mcp("jira", "a__b")), decision.Facts{}, "mcp__jira__a__b", decision.MCPServerPicked, decision.StateGranted},

		// Seed 002: read-only and providers.
		{"in the read-only set", cli(readOnly), decision.Facts{}, "Read", decision.ReadOnlySet, decision.StateGranted},
		{"can write", cli(readOnly), decision.Facts{}, "Bash", decision.ReadOnlyWriteCapable, decision.StateNarrowed},
		{"carries data out", cli(readOnly), decision.Facts{}, "WebFetch", decision.ReadOnlyExfiltration, decision.StateNarrowed},
		{"never pre-approved", cli(readOnly), decision.Facts{}, "LSP", decision.ReadOnlyNotPreapproved, decision.StateNarrowed},
		{"a tool of a later release", cli(readOnly), decision.Facts{}, "FutureTool", decision.ReadOnlyNotPreapproved, decision.StateNarrowed},
		{"an allow list narrows", cli(func(s *allowlist.AgentSpec) { s.ReadOnly, s.HasAllowed, s.Allowed = true, true, named("Read") }), decision.Facts{}, "Grep", decision.ReadOnlyNotPreapproved, decision.StateNarrowed},
		{"and cannot widen", cli(func(s *allowlist.AgentSpec) { s.ReadOnly, s.HasAllowed, s.Allowed = true, true, named("Bash") }), decision.Facts{}, "Bash", decision.ReadOnlyWriteCapable, decision.StateNarrowed},
		{"present and empty narrows to nothing", cli(func(s *allowlist.AgentSpec) { s.ReadOnly, s.HasAllowed = true, true }), decision.Facts{}, "Read", decision.ReadOnlyNotPreapproved, decision.StateNarrowed},
		{"an operator's deny reports itself", cli(func(s *allowlist.AgentSpec) { s.ReadOnly, s.Disallowed = true, named("Grep") }), decision.Facts{}, "Grep", decision.DeniedByOperator, decision.StateDenied},
		{"a deny of a tool nobody knows yet", cli(func(s *allowlist.AgentSpec) { s.Disallowed = named("Later") }), decision.Facts{}, "Later", decision.DeniedByOperator, decision.StateDenied},
		{"without read-only an allow list bounds nothing", cli(func(s *allowlist.AgentSpec) { s.HasAllowed, s.Allowed = true, named("Read") }), decision.Facts{}, "Bash", decision.Unrestricted, decision.StateGranted},
		{"a provider without built-ins", cli(declared), decision.Facts{}, "Read", decision.NotListed, decision.StateNotGranted},
		{"its declared tools are the grant", cli(declared), decision.Facts{}, "get_build", decision.Listed, decision.StateGranted},
		{"declared servers stay under read-only", cli(func(s *allowlist.AgentSpec) { s.ReadOnly = true; mcp("jira")(s) }), decision.Facts{}, "mcp__jira__close", decision.MCPDeclared, decision.StateGranted},
		{"a declared tool can be denied", cli(func(s *allowlist.AgentSpec) { declared(s); s.Denies = named("get_build") }), decision.Facts{}, "get_build", decision.DeniedByOperator, decision.StateDenied},
		{"a declared tool is outside a job", cli(declared), decision.Facts{Job: "define_errors"}, "get_build", decision.OutsideJob, decision.StateNarrowed},
	} {
		if v := compile(t, row.spec).Decide(row.tool, &row.facts); v.Reason != row.want || v.State != row.state {
			t.Errorf("%s: %s is %v (%v), want %v (%v)", row.edge, row.tool, v.Reason, v.State, row.want, row.state)
		}
	}
}

func mcp(server string, patterns ...string) func(*allowlist.AgentSpec) {
	return func(s *allowlist.AgentSpec) {
		grant := allowlist.ServerGrant{Server: allowlist.Named{Name: server}}
		if len(patterns) > 0 {
			grant.Tools = named(patterns...)
		}
		s.HasMCP, s.MCP = true, append(s.MCP, grant)
	}
}

func declared(s *allowlist.AgentSpec) {
	s.Provider, s.ProviderName, s.HTTPTools = allowlist.ProviderDeclared, "anthropic", named("get_build")
}

func TestCompileProblems(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		spec allowlist.AgentSpec
		want string
	}{
		"no base":                    {allowlist.AgentSpec{Registry: allowlist.Named{Name: "std"}}, "no base"},
		"unknown registry":           {allowlist.AgentSpec{Registry: allowlist.Named{Name: "rtt"}, HasTools: true}, "write rt"},
		"unknown role":               {role("revew"), "write review"},
		"a role of another registry": {with(role("review"), func(s *allowlist.AgentSpec) { s.Registry.Name = "std" }), "can hold no tool"},
		"unknown tool":               {list("read_fil"), "write read_file"},
		"unknown group":              {list("@codes"), `"@codes"`},
		"a star is not a list":       {list("*"), `"*"`},
		"unknown grant":              {role("build", "Teleport"), "Teleport"},
		"unknown deny":               {with(role("build"), denying("bash")), "write Bash"},
		"role and list":              {with(role("build"), func(s *allowlist.AgentSpec) { s.HasTools = true }), "not both"},
		"unknown server":             {with(list(), mcp("jirra")), "write jira"},
		"unbounded provider": {cli(func(s *allowlist.AgentSpec) {
			s.ReadOnly, s.Provider, s.ProviderName = true, allowlist.ProviderUnbounded, "codex-cli"
		}), "provider_unsupported"},
		"an HTTP tool named like another": {with(list(), func(s *allowlist.AgentSpec) { s.HTTPTools = named("read_file") }), "name of another tool"},
		"an HTTP tool named like MCP":     {with(list(), func(s *allowlist.AgentSpec) { s.HTTPTools = named("mcp__pg__x") }), "no name"},
		"a condition on no tool": {with(list(), func(s *allowlist.AgentSpec) {
			s.Conditions = []allowlist.Condition{{Tool: allowlist.Named{Name: "nope"}}}
		}), `"nope"`},
	} {
		a, problems := catalogue(t).Compile(row.spec, servers())
		text := ""
		for _, p := range problems {
			text += p.Message + "; " + p.Fix + "\n"
		}
		if a != nil || !strings.Contains(text, row.want) {
			t.Errorf("%s: agent %v, problems %q, want %q", name, a != nil, text, row.want)
		}
	}
}

func TestZeroAgentRefuses(t *testing.T) {
	t.Parallel()
	var a *allowlist.Agent
	if v := a.Decide("Read", &decision.Facts{}); v.Reason.Allows() {
		t.Errorf("a nil agent says %v", v.Reason)
	}
	if v := a.DecideServer("pg", &decision.Facts{}); v.Reason.Allows() {
		t.Errorf("a nil agent says %v", v.Reason)
	}
	if v := a.CheckArguments("Read", &decision.Facts{}, nil, nil); v.Reason.Allows() {
		t.Errorf("a nil agent says %v", v.Reason)
	}
	if _, ok := a.Tool("Read"); ok || len(a.Names()) > 0 || len(a.Shells()) > 0 || len(a.ServerIDs()) > 0 {
		t.Error("a nil agent lists something")
	}
}

func TestRegistryOrder(t *testing.T) {
	t.Parallel()
	a := compile(t, with(list("write_file", "read_file"), func(s *allowlist.AgentSpec) { s.HTTPTools = named("z", "a") }))
	names := a.Names()
	if !slices.Equal(names[len(names)-2:], []string{"z", "a"}) || names[0] != "read_file" {
		t.Errorf("names are %v", names)
	}
}

// TestMetadata: what the decision point asks of a tool besides whether it is
// held.
func TestMetadata(t *testing.T) {
	t.Parallel()
	a := compile(t, list("read_file"))
	if got := a.Shells(); !slices.Equal(got, []string{"run_terminal"}) {
		t.Errorf("shells are %v, held or not", got)
	}
	if tool, ok := a.Tool("fetch_url"); !ok || !tool.Network || tool.Browser || !slices.Equal(tool.URLArgs, []string{"url"}) {
		t.Errorf("fetch_url is %+v, %t", tool, ok)
	}
	for _, name := range []string{"Fetch_url", "mcp__pg__query", ""} {
		if tool, ok := a.Tool(name); ok || tool != nil {
			t.Errorf("%q is a registered tool: %+v", name, tool)
		}
	}
}

// TestWhereARuleStands: a verdict leads to the entry that decided, in the
// document or in the catalogue.
func TestWhereARuleStands(t *testing.T) {
	t.Parallel()
	at := func(line int) decision.Position { return decision.Position{File: "f", Line: line, Col: 1} }
	d := data()
	d.Stages[1].Pos, d.TaskTypes[1].Pos, d.Jobs[0].Pos = at(1), at(2), at(3)
	c, problems := allowlist.NewCatalogue(d)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	s := list()
	s.NarrowUnrestricted = true
	s.Pos, s.Denies = at(4), []allowlist.Named{{Name: "@board_write", Pos: at(5)}}
	s.MCP, s.HasMCP = []allowlist.ServerGrant{{Server: allowlist.Named{Name: "pg", Pos: at(6)}}}, true
	a, problems := c.Compile(s, servers())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, row := range []struct {
		tool  string
		facts decision.Facts
		rule  string
		line  int
	}{
		{"write_file", decision.Facts{Stage: "code_review"}, "stage code_review", 1},
		{"write_file", decision.Facts{TaskType: "analiz"}, "task type analiz", 2},
		{"write_file", decision.Facts{Job: "define_errors"}, "job define_errors", 3},
		{"mcp__pg__query", decision.Facts{Job: "define_errors"}, "job define_errors", 3},
		{"write_file", decision.Facts{}, "tools: []", 4},
		{"move_board_task", decision.Facts{}, "deny @board_write", 5},
		{"mcp__pg__query", decision.Facts{}, "mcp pg", 6},
	} {
		if v := a.Decide(row.tool, &row.facts); v.Rule != row.rule || v.Pos != at(row.line) {
			t.Errorf("%s in %+v: rule %q at %v, want %q at line %d", row.tool, row.facts, v.Rule, v.Pos, row.rule, row.line)
		}
	}
}
