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
