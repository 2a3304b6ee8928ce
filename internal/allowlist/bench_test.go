package allowlist_test

import (
	"testing"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// question is one that the benchmarks ask.
type question struct {
	name  string
	spec  allowlist.AgentSpec
	tool  string
	facts decision.Facts
}

// questions are the ways through the chain: the shortest, the longest, and
// those that leave the registry.
func questions() []question {
	run := decision.Facts{Stage: "in_qa", TaskType: "feature", HasPlan: true, Planned: []string{"create_board_task"}}
	job := decision.Facts{Stage: "in_progress", TaskType: "feature", Job: "define_errors", Repository: "shop"}
	readOnly := cli(func(s *allowlist.AgentSpec) { s.ReadOnly = true })
	patterns := with(with(list("@code_read"), mcp("jira", "list_*", "search_*", "get_*")), denying("mcp__pg__drop", "mcp__*__delete_*"))
	return []question{
		{"role default", role("build"), "Read", decision.Facts{}},
		{"listed", list("@code_read"), "grep_code", decision.Facts{}},
		{"listed in a run", list("@code_read"), "grep_code", run},
		{"listed in a job", list("@code_read"), "grep_code", job},
		{"planned", list("@board_write"), "create_board_task", run},
		{"not listed", list("@code_read"), "run_terminal", run},
		{"read-only", readOnly, "Grep", decision.Facts{}},
		{"unknown tool", list("@code_read"), "teleport", decision.Facts{}},
		{"unknown stage", list("@code_read"), "read_file", decision.Facts{Stage: "nowhere"}},
		{"declared HTTP tool", cli(declared), "get_build", decision.Facts{}},
		{"MCP tool by pattern", patterns, "mcp__jira__get_issue", run},
		{"MCP tool by pattern, denied", patterns, "mcp__jira__delete_issue", run},
	}
}

func BenchmarkDecide(b *testing.B) {
	for _, q := range questions() {
		a := compile(b, q.spec)
		b.Run(q.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.Decide(q.tool, &q.facts)
			}
		})
	}
}

// TestDecideAllocatesNothing holds for every way through the chain, refusals
// included: what is asked most must leave no garbage.
func TestDecideAllocatesNothing(t *testing.T) {
	for _, q := range questions() {
		a := compile(t, q.spec)
		if n := testing.AllocsPerRun(100, func() { a.Decide(q.tool, &q.facts) }); n != 0 {
			t.Errorf("%s: %v allocations", q.name, n)
		}
		if n := testing.AllocsPerRun(100, func() { a.DecideServer("jira", &q.facts) }); n != 0 {
			t.Errorf("%s: %v allocations for a server", q.name, n)
		}
	}
}

func BenchmarkCheckArguments(b *testing.B) {
	inv := &allowlist.Inventory{
		Repositories: map[string][]string{"shop": {"web", "api"}},
		Sources:      map[string][]string{"loki": {"web"}},
	}
	facts := decision.Facts{Job: "define_errors", Repository: "shop"}
	args := decision.Arguments{"repository": "shop", "component": "api", "source": "loki", "query": "level=error"}
	a := compile(b, with(list(), func(s *allowlist.AgentSpec) {
		s.Conditions = []allowlist.Condition{
			{Tool: allowlist.Named{Name: "query_error_groups"}, Arg: "query", Test: allowlist.TestPrefix, Want: []string{"level="}},
		}
	}))
	b.Run("scope and a condition", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a.CheckArguments("query_error_groups", &facts, args, inv)
		}
	})
	b.Run("nothing to check", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			a.CheckArguments("load_skill", &facts, args, inv)
		}
	})
}

// BenchmarkCompile is what a reload costs for each agent.
func BenchmarkCompile(b *testing.B) {
	c := builtIn(b)
	seeded, _ := c.Seeded("backend-developer")
	spec := allowlist.AgentSpec{Name: "a", Registry: allowlist.Named{Name: seeded.Registry}, Tools: seeded.Tools, HasTools: true}
	b.ReportAllocs()
	for b.Loop() {
		c.Compile(spec, servers())
	}
}
