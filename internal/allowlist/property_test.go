package allowlist_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// drawSpec draws an agent that compiles.
func drawSpec(t *rapid.T, c *allowlist.Catalogue) allowlist.AgentSpec {
	if rapid.Bool().Draw(t, "role agent") {
		s := role(rapid.SampledFrom([]string{"build", "review", "custom"}).Draw(t, "role"))
		s.Grants = named(drawSome(t, "grants", c.Entries("rt"))...)
		s.Denies = named(drawSome(t, "denies", c.Entries("rt"))...)
		return s
	}
	s := list(drawSome(t, "tools", c.Entries("std"))...)
	s.Denies = named(drawSome(t, "denies", c.Entries("std"))...)
	s.NarrowUnrestricted = rapid.Bool().Draw(t, "narrow")
	return s
}

func drawSome(t *rapid.T, label string, from []string) []string {
	return rapid.SliceOfN(rapid.SampledFrom(from), 0, 5).Draw(t, label)
}

func drawFacts(t *rapid.T) decision.Facts {
	f := decision.Facts{
		Stage:    rapid.SampledFrom([]string{"", "in_progress", "code_review", "in_qa", "done"}).Draw(t, "stage"),
		TaskType: rapid.SampledFrom([]string{"", "feature", "analiz"}).Draw(t, "type"),
		Job:      rapid.SampledFrom([]string{"", "", "define_errors"}).Draw(t, "job"),
		HasPlan:  rapid.Bool().Draw(t, "plan"),
	}
	if f.HasPlan {
		f.Planned = drawSome(t, "planned", []string{"create_board_task", "move_board_task", "read_file"})
	}
	return f
}

// held lists what an agent may call.
func held(a *allowlist.Agent, f decision.Facts) []string {
	var out []string
	for _, n := range a.Names() {
		if a.Decide(n, &f).Reason.Allows() {
			out = append(out, n)
		}
	}
	return out
}

func TestSubtractingNeverAdds(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec, facts := drawSpec(t, c), drawFacts(t)
		a, problems := c.Compile(spec, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		before := held(a, facts)
		if free := held(a, decision.Facts{}); !isSubset(before, free) {
			t.Errorf("facts %+v add to %v: %v", facts, free, before)
		}
		denied := spec
		denied.Denies = append(slices.Clone(spec.Denies), named(rapid.SampledFrom(a.Names()).Draw(t, "deny"))...)
		b, problems := c.Compile(denied, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if after := held(b, facts); !isSubset(after, before) {
			t.Errorf("a deny adds to %v: %v", before, after)
		}
		fewer := spec
		if n := len(spec.Grants); n > 0 {
			fewer.Grants = spec.Grants[:n-1]
		} else if n := len(spec.Tools); n > 1 { // an emptied list is another state
			fewer.Tools = spec.Tools[:n-1]
		}
		d, problems := c.Compile(fewer, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if after := held(d, facts); !isSubset(after, before) {
			t.Errorf("taking an entry away adds to %v: %v", before, after)
		}
	})
}

// formula is the sentence of the policy model, in sets of names:
//
//	((base ∪ (grants ∩ bound)) − denies) − task type − stage − planned, then ∩ (job ∪ always-on readers)
func formula(t *rapid.T, c *allowlist.Catalogue, s allowlist.AgentSpec, f decision.Facts) []string {
	d := data()
	all := c.Tools(s.Registry.Name)
	expand := func(list []allowlist.Named) (out []string) {
		for _, n := range list {
			if n.Name == "*" {
				return all
			}
			names, ok := c.Expand(n.Name)
			if !ok {
				t.Fatalf("no tool or group %q", n.Name)
			}
			out = append(out, names...)
		}
		return out
	}
	in := func(list []allowlist.Named) func(string) bool {
		names := expand(list)
		return func(tool string) bool { return slices.Contains(names, tool) }
	}
	keep := func(from []string, hold func(string) bool) (out []string) {
		for _, tool := range from {
			if hold(tool) {
				out = append(out, tool)
			}
		}
		return out
	}
	not := func(hold func(string) bool) func(string) bool {
		return func(tool string) bool { return !hold(tool) }
	}

	toolset, narrows := all, s.NarrowUnrestricted
	if i := slices.IndexFunc(d.Roles, func(r allowlist.RoleData) bool { return r.Name == s.Role.Name }); i >= 0 {
		toolset = keep(keep(all, in(slices.Concat(s.Grants, d.Roles[i].Defaults))), in(d.Roles[i].Remit))
		narrows = true
	} else if len(s.Tools) > 0 {
		toolset, narrows = keep(all, in(slices.Concat(s.Tools, s.Grants))), true
	}
	toolset = keep(toolset, not(in(s.Denies)))
	if narrows {
		if f.TaskType == "analiz" {
			toolset = keep(toolset, not(in(d.Writers)))
		}
		for _, st := range d.Stages {
			if st.Name != f.Stage {
				continue
			}
			if st.StripWriters {
				kept := in(st.Keep)
				stripped := in(d.StageStrips)
				toolset = keep(toolset, not(in(d.Writers)))
				toolset = keep(toolset, func(tool string) bool { return !stripped(tool) || kept(tool) })
			}
			toolset = keep(toolset, not(in(st.NoCodeReading)))
		}
	}
	if f.HasPlan {
		board := in(d.Planned)
		toolset = keep(toolset, func(tool string) bool { return !board(tool) || slices.Contains(f.Planned, tool) })
	}
	if f.Job != "" {
		toolset = keep(toolset, in(slices.Concat(d.Jobs[0].Tools, d.JobAlways)))
	}
	return toolset
}

func TestHeldIsTheFormula(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec, facts := drawSpec(t, c), drawFacts(t)
		a, problems := c.Compile(spec, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if got, want := held(a, facts), formula(t, c, spec, facts); !slices.Equal(got, want) {
			t.Errorf("%+v in %+v\nholds %v\nwant  %v", spec, facts, got, want)
		}
	})
}

func TestEveryFactOnlyNarrows(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec, facts := drawSpec(t, c), drawFacts(t)
		a, problems := c.Compile(spec, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		narrow := held(a, facts)
		for name, drop := range map[string]func(*decision.Facts){
			"stage": func(f *decision.Facts) { f.Stage = "" },
			"type":  func(f *decision.Facts) { f.TaskType = "" },
			"job":   func(f *decision.Facts) { f.Job = "" },
			"plan":  func(f *decision.Facts) { f.HasPlan, f.Planned = false, nil },
		} {
			wider := facts
			drop(&wider)
			if free := held(a, wider); !isSubset(narrow, free) {
				t.Errorf("the %s of %+v adds to %v: %v", name, facts, free, narrow)
			}
		}
	})
}

// TestReasonAndStateAgree: a tool is allowed in state granted and in no other,
// and whatever takes one away says which rule did.
func TestReasonAndStateAgree(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec, facts := drawSpec(t, c), drawFacts(t)
		a, problems := c.Compile(spec, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, name := range append(slices.Clone(a.Names()), "mcp__pg__query", "mcp__jira__get", "mcp__none__x", "Teleport") {
			v := a.Decide(name, &facts)
			if v.Reason.Allows() != (v.State == decision.StateGranted) {
				t.Errorf("%s is %v in state %v", name, v.Reason, v.State)
			}
			if v.Reason.Class() == decision.ClassPolicy && v.Rule == "" || v.Reason.Class() == decision.ClassFault && v.Detail == "" {
				t.Errorf("%s is %v and nothing says why: %+v", name, v.Reason, v)
			}
		}
	})
}

// drawMCP draws an agent by its MCP servers.
func drawMCP(t *rapid.T) allowlist.AgentSpec {
	s := list("read_file")
	s.HasMCP, s.StrictMCP = rapid.Bool().Draw(t, "mcp"), rapid.Bool().Draw(t, "strict")
	for _, id := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"pg", "jira", "sentry"}), 0, 3, rapid.ID[string]).Draw(t, "servers") {
		mcp(id, drawSome(t, "tools of "+id, []string{"get_*", "*", "drop", "*_all"})...)(&s)
	}
	s.Denies = named(drawSome(t, "denies", mcpDenies())...)
	return s
}

func mcpDenies() []string {
	return []string{"mcp__pg", "mcp__pg__drop", "mcp__jira__*", "mcp__*__get_*", "mcp__s*", "mcp__*"}
}

func mcpNames() (out []string) {
	for _, id := range []string{"pg", "jira", "sentry", "none"} {
		for _, tool := range []string{"get_one", "drop", "drop_all", "__x", "", " "} {
			out = append(out, "mcp__"+id+"__"+tool)
		}
	}
	return out
}

func TestMCPDeniesOnlySubtract(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := drawMCP(t)
		denied := spec
		denied.Denies = append(slices.Clone(spec.Denies), named(rapid.SampledFrom(mcpDenies()).Draw(t, "one more"))...)
		before, bad := c.Compile(spec, servers())
		after, worse := c.Compile(denied, servers())
		if len(bad)+len(worse) > 0 {
			t.Fatal(bad, worse)
		}
		for _, name := range mcpNames() {
			if after.Decide(name, &decision.Facts{}).Reason.Allows() && !before.Decide(name, &decision.Facts{}).Reason.Allows() {
				t.Errorf("a deny allows %s", name)
			}
		}
	})
}

// TestNoToolOfAServerThatIsNotReached: the answer for a server bounds the
// answers for its tools, in a job too.
func TestNoToolOfAServerThatIsNotReached(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		a, problems := c.Compile(drawMCP(t), servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		facts := drawFacts(t)
		for _, id := range append(slices.Clone(a.ServerIDs()), "none") {
			reached := a.DecideServer(id, &facts).Reason.Allows()
			for _, tool := range []string{"get_one", "drop", "drop_all"} {
				if v := a.Decide("mcp__"+id+"__"+tool, &facts); v.Reason.Allows() && (!reached || facts.Job != "") {
					t.Errorf("%s of %s is %v, and the server is reached: %t", tool, id, v.Reason, reached)
				}
			}
		}
	})
}

func TestReadOnlyOnlyBounds(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec := cli(func(*allowlist.AgentSpec) {})
		spec.HasTools = true
		spec.Tools = named(drawSome(t, "tools", c.Tools("claude"))...)
		spec.Disallowed = named(drawSome(t, "disallowed", append(c.Tools("claude"), "Later"))...)
		bounded := spec
		bounded.ReadOnly, bounded.HasAllowed = true, rapid.Bool().Draw(t, "allowed is written")
		bounded.Allowed = named(drawSome(t, "allowed", c.Tools("claude"))...)
		free, bad := c.Compile(spec, servers())
		bound, worse := c.Compile(bounded, servers())
		if len(bad)+len(worse) > 0 {
			t.Fatal(bad, worse)
		}
		left := held(bound, decision.Facts{})
		if before := held(free, decision.Facts{}); !isSubset(left, before) || !isSubset(left, []string{"Read", "Grep", "Glob", "TodoWrite"}) {
			t.Errorf("read_only leaves %v of %v", left, before)
		}
		for _, name := range left {
			if bounded.HasAllowed && !slices.Contains(bounded.Allowed, allowlist.Named{Name: name}) {
				t.Errorf("%s is held and not pre-approved", name)
			}
		}
	})
}

func TestOrderOfEntriesDoesNotMatter(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	rapid.Check(t, func(t *rapid.T) {
		spec, facts := drawSpec(t, c), drawFacts(t)
		a, problems := c.Compile(spec, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		turned := spec
		turned.Grants, turned.Denies, turned.Tools = slices.Clone(spec.Grants), slices.Clone(spec.Denies), slices.Clone(spec.Tools)
		slices.Reverse(turned.Grants)
		slices.Reverse(turned.Denies)
		slices.Reverse(turned.Tools)
		b, problems := c.Compile(turned, servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		if one, other := held(a, facts), held(b, facts); !slices.Equal(one, other) {
			t.Errorf("%v and, with the entries turned round, %v", one, other)
		}
	})
}

func isSubset(small, big []string) bool {
	for _, s := range small {
		if !slices.Contains(big, s) {
			return false
		}
	}
	return true
}
