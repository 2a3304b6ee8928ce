package allowlist_test

import (
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

func disallowing(names ...string) func(*allowlist.AgentSpec) {
	return func(s *allowlist.AgentSpec) { s.Disallowed = named(names...) }
}

// TestRuntimesSpellDeniesTheirWay: a runtime's deny may use the name that the
// runtime has for a tool; an operator's may not.
func TestRuntimesSpellDeniesTheirWay(t *testing.T) {
	t.Parallel()
	d := data()
	for i := range d.Registries[0].Tools {
		if tool := &d.Registries[0].Tools[i]; tool.Name == "run_terminal" {
			tool.Aliases = map[string]string{"claude": "Bash", "codex": "shell"}
		}
	}
	c, problems := allowlist.NewCatalogue(d)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, alias := range []string{"Bash", "shell"} {
		a, problems := c.Compile(with(list(), disallowing(alias)), nil)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, name := range []string{"run_terminal", alias} {
			if v := a.Decide(name, &decision.Facts{}); v.Reason != decision.DeniedByOperator {
				t.Errorf("%s is disallowed and %s is %v", alias, name, v.Reason)
			}
		}
		if v := a.Decide("read_file", &decision.Facts{}); !v.Reason.Allows() {
			t.Errorf("%s is disallowed and so is read_file: %v", alias, v.Reason)
		}
		if a, problems := c.Compile(with(list(), denying(alias)), nil); a != nil || len(problems) == 0 {
			t.Errorf("an operator's deny of alias %s compiles", alias)
		}
	}
}

func TestDeniesOfMCPNames(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		edge string
		deny string
		tool string
		want decision.Reason
	}{
		{"one tool", "mcp__pg__drop", "mcp__pg__drop", decision.DeniedByOperator},
		{"and no other", "mcp__pg__drop", "mcp__pg__dropped", decision.MCPServerAllAgents},
		{"and none below it", "mcp__pg__drop", "mcp__pg__drop__all", decision.MCPServerAllAgents},
		{"a pattern of tools", "mcp__pg__d*", "mcp__pg__drop", decision.DeniedByOperator},
		{"a pattern that does not match", "mcp__pg__d*", "mcp__pg__query", decision.MCPServerAllAgents},
		{"a pattern over servers", "mcp__*__drop", "mcp__pg__drop", decision.DeniedByOperator},
		{"the whole server", "mcp__pg", "mcp__pg__query", decision.DeniedByOperator},
		{"the whole server, with a final infix", "mcp__pg__", "mcp__pg__query", decision.DeniedByOperator},
		{"the whole server by its tools", "mcp__pg__*", "mcp__pg__query", decision.DeniedByOperator},
		{"a server whose name only begins like it", "mcp__p", "mcp__pg__query", decision.MCPServerAllAgents},
		{"every server", "mcp__*", "mcp__pg__query", decision.DeniedByOperator},
		{"a server that is not declared", "mcp__ghost", "mcp__ghost__x", decision.DeniedByOperator},
	} {
		a := compile(t, with(list(), denying(row.deny)))
		if v := a.Decide(row.tool, &decision.Facts{}); v.Reason != row.want {
			t.Errorf("%s: deny %s makes %s %v, want %v", row.edge, row.deny, row.tool, v.Reason, row.want)
		}
	}
}

func TestDeniedServerIsNotReached(t *testing.T) {
	t.Parallel()
	for deny, want := range map[string]decision.Reason{
		"mcp__pg":       decision.DeniedByOperator,
		"mcp__pg__*":    decision.DeniedByOperator,
		"mcp__p*":       decision.DeniedByOperator,
		"mcp__*":        decision.DeniedByOperator,
		"mcp__pg__drop": decision.MCPServerPicked, // one tool of it
		"mcp__jira":     decision.MCPServerPicked,
	} {
		a := compile(t, with(with(list(), mcp("pg")), denying(deny)))
		if v := a.DecideServer("pg", &decision.Facts{}); v.Reason != want {
			t.Errorf("deny %s: server pg is %v, want %v", deny, v.Reason, want)
		}
	}
}

func TestMCPToolNames(t *testing.T) {
	t.Parallel()
	a := compile(t, with(with(list(), mcp("pg")), denying("mcp__pg__drop")))
	for edge, tool := range map[string]string{
		"a denied name with a blank": "mcp__pg__drop ",
		"with a newline":             "mcp__pg__drop\n",
		"with a soft hyphen":         "mcp__pg__dr\u00adop",
		"no tool":                    "mcp__pg__",
		"the server as if a tool":    "mcp__pg",
		"longer than MCP has it":     "mcp__pg__" + strings.Repeat("x", 129),
	} {
		if v := a.Decide(tool, &decision.Facts{}); v.Reason != decision.UnknownTool || v.Layer != decision.LayerName {
			t.Errorf("%s: %v (%v), want unknown_tool by name", edge, v.Reason, v.Layer)
		}
	}
}

// TestReadOnlyReachesDeclaredServers: what a read-only agent declares is its
// whole grant, so a server that is open to all is not among it.
func TestReadOnlyReachesDeclaredServers(t *testing.T) {
	t.Parallel()
	for edge, spec := range map[string]allowlist.AgentSpec{
		"read-only":                     cli(func(s *allowlist.AgentSpec) { s.ReadOnly = true }),
		"read-only, without built-ins":  cli(func(s *allowlist.AgentSpec) { declared(s); s.ReadOnly = true }),
		"only what it declares":         cli(declared),
		"strict":                        with(list(), func(s *allowlist.AgentSpec) { s.StrictMCP = true }),
		"strict, with an empty list":    with(list(), func(s *allowlist.AgentSpec) { s.StrictMCP, s.HasMCP = true, true }),
		"read-only, with an empty list": cli(func(s *allowlist.AgentSpec) { s.ReadOnly, s.HasMCP = true, true }),
	} {
		v := compile(t, spec).Decide("mcp__pg__query", &decision.Facts{})
		if v.Reason != decision.MCPServerNotDeclared {
			t.Errorf("%s: a server open to all is %v, want mcp_server_not_declared", edge, v.Reason)
		}
	}
}

// TestNamesThatWouldBindNothing: a rule on a name that no call can have looks
// like protection and is none, so it does not compile.
func TestNamesThatWouldBindNothing(t *testing.T) {
	t.Parallel()
	conditioned := func(tool string) allowlist.AgentSpec {
		return with(list(), func(s *allowlist.AgentSpec) {
			s.Conditions = []allowlist.Condition{{Tool: allowlist.Named{Name: tool}}}
		})
	}
	for edge, row := range map[string]struct {
		spec allowlist.AgentSpec
		want string
	}{
		"a deny of everything":            {with(list(), denying("*")), `"*"`},
		"a runtime's deny of everything":  {with(list(), disallowing("*")), `"*"`},
		"a runtime's rule with arguments": {with(list(), disallowing("Bash(rm:*)")), "whole tool"},
		"a deny with a blank":             {with(list(), disallowing("Bash ")), "not the name"},
		"a deny of no server":             {with(list(), denying("mcp__")), `"mcp__"`},
		"a condition on a server":         {conditioned("mcp__pg"), "binds one tool"},
		"a condition on a pattern":        {conditioned("mcp__pg__*"), "binds one tool"},
		"a condition on no server":        {conditioned("mcp__pgg__query"), "write pg"},
		"a condition on a group":          {conditioned("@code_read"), "binds one tool"},
		"a server listed twice":           {with(with(list(), mcp("pg")), mcp("pg", "get_*")), "twice"},
		"a grant beside no base":          {with(list(), func(s *allowlist.AgentSpec) { s.Grants = named("read_fil") }), "write read_file"},
		"a grant without built-ins":       {cli(func(s *allowlist.AgentSpec) { declared(s); s.Grants = named("Raed") }), `"Raed"`},
		"a role without built-ins": {cli(func(s *allowlist.AgentSpec) {
			declared(s)
			s.ReadOnly, s.Role.Name = true, "revew"
		}), "write review"},
	} {
		a, problems := catalogue(t).Compile(row.spec, servers())
		text := ""
		for _, p := range problems {
			text += p.Message + "; " + p.Fix + "\n"
		}
		if a != nil || !strings.Contains(text, row.want) {
			t.Errorf("%s: agent %t, problems %q, want %q", edge, a != nil, text, row.want)
		}
	}
}

func TestServersThatReadTwoWays(t *testing.T) {
	t.Parallel()
	for _, ids := range [][]string{{"a__b"}, {"a_"}, {""}, {"a b"}, {"a", "a"}} {
		var declared []allowlist.Server
		for _, id := range ids {
			declared = append(declared, allowlist.Server{ID: id, All: true})
		}
		if a, problems := catalogue(t).Compile(list(), declared); a != nil || len(problems) == 0 {
			t.Errorf("servers %q compile", ids)
		}
	}
}

// TestFirstRuleSpeaks: where two entries say the same of a tool, the first one
// is shown, whatever group it came from.
func TestFirstRuleSpeaks(t *testing.T) {
	t.Parallel()
	for edge, row := range map[string]struct {
		spec       allowlist.AgentSpec
		tool, want string
	}{
		"denies":     {with(role("build"), denying("@edit", "Edit")), "Edit", "deny @edit"},
		"grants":     {role("review", "@edit", "Edit"), "Edit", "grant @edit"},
		"the list":   {list("@code_read", "read_file"), "read_file", "@code_read"},
		"no list":    {list(), "read_file", "tools: []"},
		"a provider": {cli(func(*allowlist.AgentSpec) {}), "Bash", "provider claude-cli"},
	} {
		if v := compile(t, row.spec).Decide(row.tool, &decision.Facts{}); v.Rule != row.want {
			t.Errorf("%s: rule %q, want %q", edge, v.Rule, row.want)
		}
	}
}
