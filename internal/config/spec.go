package config

import (
	"strings"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// Spec returns the agent in the terms of package allowlist. An agent that
// starts from the catalogue has that one's tools and registry, as far as it does
// not write its own.
func (a *Agent) Spec(cat *allowlist.Catalogue) allowlist.AgentSpec {
	s := allowlist.AgentSpec{
		Name: a.Name, Pos: a.Pos, Registry: a.Registry,
		Role: a.Role, Tools: a.Tools.Items, HasTools: a.Tools.Set,
		Grants: a.Grant.Items, Denies: a.Deny.Items,
		ReadOnly: a.ReadOnly, Provider: a.Provider.bound(), ProviderName: a.Provider.String(),
		Allowed: a.AllowedTools.Items, HasAllowed: a.AllowedTools.Set, Disallowed: a.DisallowedTools.Items,
		HTTPTools: a.HTTPTools.Items, HasMCP: a.MCP.Set, StrictMCP: a.StrictMCP,
		NarrowUnrestricted: a.NarrowUnrestricted == NarrowSubtract,
	}
	for _, g := range a.MCP.Items {
		grant := allowlist.ServerGrant{Server: g.Server}
		if g.Tools.Set { // nil would mean every tool
			grant.Tools = append([]allowlist.Named{}, g.Tools.Items...)
		}
		s.MCP = append(s.MCP, grant)
	}
	for i := range a.Conditions {
		s.Conditions = append(s.Conditions, a.Conditions[i].spec())
	}
	if seeded, ok := cat.Seeded(a.Catalogue.Name); ok {
		if a.Registry.Pos.IsZero() {
			s.Registry = allowlist.Named{Name: seeded.Registry, Pos: a.Pos}
		}
		if a.Role.Name == "" && !a.Tools.Set {
			s.Tools, s.HasTools = seeded.Tools, true
		}
	}
	return s
}

// bound says how read_only can bound the provider (seed 002).
func (p Provider) bound() allowlist.Provider {
	switch p {
	case ProviderOpenAI, ProviderAnthropic:
		return allowlist.ProviderDeclared
	case ProviderCodexCLI, ProviderClaudeTmux:
		return allowlist.ProviderUnbounded
	case ProviderNone, ProviderClaudeCLI:
	}
	return allowlist.ProviderBuiltIns
}

// String returns the provider as it is written, "" for ProviderNone.
func (p Provider) String() string {
	switch p {
	case ProviderNone:
	case ProviderClaudeCLI:
		return "claude-cli"
	case ProviderClaudeTmux:
		return "claude-tmux"
	case ProviderCodexCLI:
		return "codex-cli"
	case ProviderOpenAI:
		return "openai-api"
	case ProviderAnthropic:
		return "anthropic"
	}
	return ""
}

// spec returns the condition in the terms of package allowlist.
func (c *Condition) spec() allowlist.Condition {
	s := allowlist.Condition{Tool: c.Tool, Arg: c.Arg, Pos: c.Pos}
	one := func(test allowlist.Test, name string, value *string) {
		if value != nil {
			s.Test, s.Want, s.Text = test, []string{*value}, c.Arg+" "+name+" "+*value
		}
	}
	one(allowlist.TestExact, "exact", c.Exact)
	one(allowlist.TestPrefix, "prefix", c.Prefix)
	one(allowlist.TestGlob, "glob", c.Glob)
	one(allowlist.TestUnder, "under", c.Under)
	if c.OneOf.Set {
		s.Test, s.Want = allowlist.TestOneOf, c.OneOf.Strings()
		s.Text = c.Arg + " one_of " + strings.Join(s.Want, ", ")
	}
	if len(c.HostIn) > 0 {
		s.Test, s.Host = allowlist.TestHost, hostIn(c.HostIn)
		texts := make([]string, len(c.HostIn))
		for i, p := range c.HostIn {
			texts[i] = p.String()
		}
		s.Text = c.Arg + " host_in " + strings.Join(texts, ", ")
	}
	return s
}

// hostIn reports whether a text is a URL, or host:port, of one of patterns. A
// text that is neither, or in no canonical spelling, is not.
func hostIn(patterns []urlguard.Pattern) func(string) bool {
	return func(text string) bool {
		e, fault := urlguard.ParseURL(text)
		if !fault.OK() && !strings.Contains(text, "//") {
			if e, fault = urlguard.ParseAuthority(text); !fault.OK() {
				e, fault = urlguard.ParseURL("https://" + text)
			}
		}
		return fault.OK() && matchesAny(patterns, e)
	}
}

func matchesAny(patterns []urlguard.Pattern, e decision.Endpoint) bool {
	for _, p := range patterns {
		if p.Match(e) {
			return true
		}
	}
	return false
}

// Declared returns the MCP servers in the terms of package allowlist, in the
// order of the document.
func (d *Document) Declared() []allowlist.Server {
	servers := make([]allowlist.Server, len(d.MCP.Servers))
	for i := range d.MCP.Servers {
		s := &d.MCP.Servers[i]
		servers[i] = allowlist.Server{ID: s.Name, All: s.Agents == ScopeAll}
	}
	return servers
}

// Scopes returns the inventory in the terms of package allowlist.
func (d *Document) Scopes() *allowlist.Inventory {
	inv := &allowlist.Inventory{Repositories: map[string][]string{}, Sources: map[string][]string{}}
	for i := range d.Inventory.Repositories {
		r := &d.Inventory.Repositories[i]
		inv.Repositories[r.Name] = r.Components.Strings()
	}
	for i := range d.Inventory.Sources {
		s := &d.Inventory.Sources[i]
		inv.Sources[s.Name] = s.Components.Strings()
	}
	return inv
}
