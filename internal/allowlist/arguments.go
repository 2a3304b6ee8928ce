package allowlist

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// CheckArguments answers whether a call's arguments stay inside the run's
// scope (repository, component, data source) and meet the agent's conditions.
// It is asked only after Decide allowed the tool. An argument of a condition
// that is missing does not meet it.
func (a *Agent) CheckArguments(tool string, f *decision.Facts, args decision.Arguments, inv *Inventory) Verdict {
	if a == nil {
		return Verdict{}
	}
	if t, ok := a.Tool(tool); ok {
		if v := scope(t, f, args, inv); !v.Reason.Allows() {
			return v
		}
	}
	for i := range a.conditions[tool] {
		c := &a.conditions[tool][i]
		text, ok := argument(args, c.Arg)
		if !ok || !c.holds(text) {
			return Verdict{Reason: decision.ArgumentNotAllowed, Layer: decision.LayerCondition, Detail: c.Arg, Rule: c.Text, Pos: c.Pos}
		}
	}
	return Verdict{Reason: decision.InScope, State: decision.StateGranted, Layer: decision.LayerScope}
}

// argument returns an argument as text: a string, or a number or truth value in
// its JSON spelling. A second key that differs only in case makes it unusable:
// nobody knows which one the tool reads.
func argument(args decision.Arguments, name string) (string, bool) {
	for key := range args {
		if key != name && strings.EqualFold(key, name) {
			return "", false
		}
	}
	switch v := args[name].(type) {
	case string:
		return v, true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	}
	return "", false
}

// holds reports whether a value meets the condition.
func (c *Condition) holds(v string) bool {
	switch c.Test {
	case TestExact, TestOneOf:
		return slices.Contains(c.Want, v)
	case TestPrefix:
		return len(c.Want) == 1 && strings.HasPrefix(v, c.Want[0]) && !climbs(v)
	case TestGlob:
		return len(c.Want) == 1 && len(v) <= maxGlobbed && glob(c.Want[0], v) && !climbs(v)
	case TestUnder:
		return len(c.Want) == 1 && under(c.Want[0], v)
	case TestHost:
		return c.Host != nil && c.Host(v)
	case TestNone:
	}
	return false
}

// maxGlobbed bounds the text that a glob is tried on, in bytes.
const maxGlobbed = 4096

// scope judges the arguments that name a repository, a component or a data
// source (seed 001). A job names only its own repository, the components of
// it, and the sources that these use or nobody uses. Outside a job, a run that
// is bound to a repository names only that one.
func scope(t *Tool, f *decision.Facts, args decision.Arguments, inv *Inventory) Verdict {
	ok := Verdict{Reason: decision.InScope, State: decision.StateGranted, Layer: decision.LayerScope}
	if f.Job == "" && f.Repository == "" {
		return ok
	}
	if inv == nil {
		inv = &Inventory{}
	}
	components := inv.Repositories[f.Repository]
	for _, check := range []struct {
		arg    string
		jobs   bool // binds jobs only
		reason decision.Reason
		inside func(string) bool
	}{
		{t.RepositoryArg, false, decision.ScopeRepository, func(v string) bool { return v != "" && v == f.Repository }},
		{t.ComponentArg, true, decision.ScopeComponent, func(v string) bool { return slices.Contains(components, v) }},
		{t.SourceArg, true, decision.ScopeDataSource, func(v string) bool { return inv.reads(v, components) }},
	} {
		if check.arg == "" || check.jobs && f.Job == "" || !mentions(args, check.arg) {
			continue
		}
		if v, usable := argument(args, check.arg); !usable || !check.inside(v) {
			return Verdict{Reason: check.reason, State: decision.StateNarrowed, Layer: decision.LayerScope, Detail: v, Rule: "inventory"}
		}
	}
	return ok
}

// mentions reports whether args has a key that is name, whatever its case.
func mentions(args decision.Arguments, name string) bool {
	for key := range args {
		if strings.EqualFold(key, name) {
			return true
		}
	}
	return false
}

// reads reports whether a data source is used by one of these components, or by
// no component at all. An unknown source is read by nobody.
func (inv *Inventory) reads(source string, components []string) bool {
	users, known := inv.Sources[source]
	if !known {
		return false
	}
	return len(users) == 0 || slices.ContainsFunc(users, func(u string) bool { return slices.Contains(components, u) })
}
