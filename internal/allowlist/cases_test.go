package allowlist_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
)

// labelled is a labelled case. The same file is asked of the built binary in
// test/cases; here it is asked of the judge, against the built-in catalogue.
type labelled struct {
	ID    string
	Given struct {
		Registry string
		Policy   policy
		Versions map[string]policy
		Settings struct {
			NarrowUnrestricted string `json:"narrow_unrestricted"`
		}
		Servers     map[string]string
		MCPDeclared []string `json:"mcp_declared"`
		HTTPTools   []string `json:"http_tools"`
		LLM         *runtime
		Job         *struct {
			Repository string
			Components []string
		}
		Sources map[string][]string
		Bound   string
		Run     struct {
			Stage, Job string
			TaskType   string `json:"task_type"`
			Planned    *[]string
			Version    json.Number
		}
	}
	Ask struct {
		Op, Tool, Kind, ID string
		Command            *string
	}
	Expect struct {
		LoadError    bool `json:"load_error"`
		Decision     bool
		Reason       string
		Tools        *[]string
		Denied       *[]string
		Unavailable  *[]struct{ Tool, Reason string }
		Servers      *[]string
		Unrestricted *bool
	}
}

// policy is the tool policy of a case.
type policy struct {
	Role           string
	Tools          json.RawMessage // a list, or the name of a seeded agent
	Grants, Denies []string
	Servers        []string  `json:"mcp_servers"`
	Strict         *[]string `json:"strict_mcp"`
}

// runtime is the provider's side of a case.
type runtime struct {
	Provider   string
	ReadOnly   bool
	Allowed    *[]string `json:"allowedTools"`
	Disallowed []string  `json:"disallowedTools"`
}

// TestLabelledCases asks the judge every case that it alone can answer.
func TestLabelledCases(t *testing.T) {
	t.Parallel()
	c := builtIn(t)
	data, err := os.ReadFile("../../test/cases/testdata/policy.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for line := range bytes.Lines(data) {
		var l labelled
		if err := json.Unmarshal(line, &l); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains([]string{"decide", "resolve", "list_tools", "mcp_servers", "scope"}, l.Ask.Op) || l.Ask.Command != nil {
			continue // another part of toolgate answers
		}
		asked++
		t.Run(l.ID, func(t *testing.T) { l.check(t, c) })
	}
	if asked < 230 {
		t.Errorf("only %d cases were asked", asked)
	}
}

// builtIn is the catalogue that toolgate ships with.
func builtIn(t testing.TB) *allowlist.Catalogue {
	t.Helper()
	c, problems := config.LoadCatalogue("catalogue.yaml", configs.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	return c.Ready
}

func (l *labelled) check(t *testing.T, c *allowlist.Catalogue) {
	t.Helper()
	a, problems := c.Compile(l.spec(t, c), l.servers())
	if l.Expect.LoadError {
		if a != nil || len(problems) == 0 {
			t.Error("the agent compiles")
		}
		return
	}
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	f := l.facts()
	switch l.Ask.Op {
	case "decide":
		l.answer(t, a.Decide(l.Ask.Tool, &f))
	case "scope":
		args := decision.Arguments{l.Ask.Kind: l.Ask.ID}
		l.answer(t, a.CheckArguments("query_error_groups", &f, args, l.inventory()))
	default:
		l.list(t, a, &f)
	}
}

func (l *labelled) answer(t *testing.T, v allowlist.Verdict) {
	t.Helper()
	if v.Reason.Allows() != l.Expect.Decision || v.Reason.String() != l.Expect.Reason {
		t.Errorf("%s, want %s", v.Reason, l.Expect.Reason)
	}
}

// list compares the whole toolset.
func (l *labelled) list(t *testing.T, a *allowlist.Agent, f *decision.Facts) {
	t.Helper()
	var tools, denied, unavailable, servers, wantUnavailable []string
	unrestricted := false
	for _, name := range a.Names() {
		switch v := a.Decide(name, f); {
		case v.Reason.Allows():
			tools = append(tools, name)
			unrestricted = unrestricted || v.Reason == decision.Unrestricted
		case v.State == decision.StateDenied:
			denied = append(denied, name)
		case v.State == decision.StateUnavailable:
			unavailable = append(unavailable, name+" "+v.Reason.String())
		}
	}
	for _, id := range a.ServerIDs() {
		if a.DecideServer(id, f).Reason.Allows() {
			servers = append(servers, id)
		}
	}
	equal := func(what string, got []string, want *[]string) {
		if want != nil && !slices.Equal(got, *want) {
			t.Errorf("%s: %v, want %v", what, got, *want)
		}
	}
	equal("tools", tools, l.Expect.Tools)
	equal("denied", denied, l.Expect.Denied)
	if l.Expect.Servers != nil { // a JSON object has no order to keep
		want := slices.Sorted(slices.Values(*l.Expect.Servers))
		equal("servers", servers, &want)
	}
	if l.Expect.Unavailable != nil {
		for _, u := range *l.Expect.Unavailable {
			wantUnavailable = append(wantUnavailable, u.Tool+" "+u.Reason)
		}
		equal("unavailable", unavailable, &wantUnavailable)
	}
	if u := l.Expect.Unrestricted; u != nil && *u != unrestricted {
		t.Errorf("unrestricted: %t, want %t", unrestricted, *u)
	}
}

// spec is the agent of the case. A run that pins a version has that one's.
func (l *labelled) spec(t *testing.T, c *allowlist.Catalogue) allowlist.AgentSpec {
	t.Helper()
	s := allowlist.AgentSpec{
		Name: "a", Registry: allowlist.Named{Name: "std"},
		NarrowUnrestricted: l.Given.Settings.NarrowUnrestricted == "subtract",
	}
	if l.Given.Registry != "" {
		s.Registry.Name = l.Given.Registry
	}
	if l.Given.LLM != nil {
		l.runtime(&s)
		return s
	}
	p := l.Given.Policy
	if v := l.Given.Run.Version; v != "" {
		p = l.Given.Versions[v.String()]
	}
	s.Role.Name, s.Grants, s.Denies = p.Role, named(p.Grants...), named(p.Denies...)
	l.tools(t, c, p, &s)
	grant := func(ids []string) {
		for _, id := range ids {
			mcp(id)(&s)
		}
	}
	grant(p.Servers)
	if p.Strict != nil {
		s.StrictMCP, s.HasMCP = true, true
		grant(*p.Strict)
	}
	return s
}

// tools fills in the base: a list, a seeded agent, or nothing beside a role.
func (l *labelled) tools(t *testing.T, c *allowlist.Catalogue, p policy, s *allowlist.AgentSpec) {
	t.Helper()
	var name string
	var list []string
	switch {
	case p.Role != "":
		return
	case json.Unmarshal(p.Tools, &name) == nil:
		seeded, ok := c.Seeded(name)
		if !ok {
			t.Fatalf("no seeded agent %q", name)
		}
		s.Registry.Name, s.Tools = seeded.Registry, seeded.Tools
	case json.Unmarshal(p.Tools, &list) == nil:
		s.Tools = named(list...)
	}
	s.HasTools = true
}

// runtime fills in what the provider of the case brings.
func (l *labelled) runtime(s *allowlist.AgentSpec) {
	r := l.Given.LLM
	s.Registry.Name, s.ProviderName, s.ReadOnly = "claude", r.Provider, r.ReadOnly
	s.Provider = map[string]allowlist.Provider{
		"claude-cli": allowlist.ProviderBuiltIns,
		"openai-api": allowlist.ProviderDeclared, "anthropic": allowlist.ProviderDeclared,
		"codex-cli": allowlist.ProviderUnbounded, "claude-tmux": allowlist.ProviderUnbounded,
	}[r.Provider]
	if r.Allowed != nil {
		s.HasAllowed, s.Allowed = true, named(*r.Allowed...)
	}
	s.Disallowed, s.HTTPTools = named(r.Disallowed...), named(l.Given.HTTPTools...)
	for _, id := range l.Given.MCPDeclared {
		mcp(id)(s)
	}
}

func (l *labelled) servers() []allowlist.Server {
	var out []allowlist.Server
	for _, id := range slices.Sorted(maps.Keys(l.Given.Servers)) {
		out = append(out, allowlist.Server{ID: id, All: l.Given.Servers[id] == "all"})
	}
	for _, id := range l.Given.MCPDeclared {
		out = append(out, allowlist.Server{ID: id})
	}
	return out
}

func (l *labelled) facts() decision.Facts {
	run := &l.Given.Run
	f := decision.Facts{Stage: run.Stage, TaskType: run.TaskType, Job: run.Job, Repository: l.Given.Bound}
	if run.Planned != nil {
		f.HasPlan, f.Planned = true, *run.Planned
	}
	if l.Given.Job != nil {
		f.Job, f.Repository = "define_errors", l.Given.Job.Repository
	}
	return f
}

func (l *labelled) inventory() *allowlist.Inventory {
	inv := &allowlist.Inventory{Sources: l.Given.Sources}
	if j := l.Given.Job; j != nil {
		inv.Repositories = map[string][]string{j.Repository: j.Components}
	}
	return inv
}
