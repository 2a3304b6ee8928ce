package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// spec turns an agent of the document into what it is compiled from. An entry
// that starts from the catalogue takes from there what it does not say itself.
func (c *compiler) spec(d *config.Agent) allowlist.AgentSpec {
	spec := allowlist.AgentSpec{
		Name: d.Name, Pos: d.Pos, Registry: d.Registry,
		Role: d.Role, Tools: d.Tools.Items, HasTools: d.Tools.Set,
		Grants: d.Grant.Items, Denies: d.Deny.Items,
		ReadOnly: d.ReadOnly, Provider: boundOf(d.Provider), ProviderName: providerName(d.Provider),
		Allowed: d.AllowedTools.Items, HasAllowed: d.AllowedTools.Set, Disallowed: d.DisallowedTools.Items,
		HTTPTools: d.HTTPTools.Items, HasMCP: d.MCP.Set, StrictMCP: d.StrictMCP,
		NarrowUnrestricted: d.NarrowUnrestricted == config.NarrowSubtract,
	}
	for _, g := range d.MCP.Items {
		grant := allowlist.ServerGrant{Server: g.Server}
		if g.Tools.Set {
			grant.Tools = append([]allowlist.Named{}, g.Tools.Items...)
		}
		spec.MCP = append(spec.MCP, grant)
	}
	for i := range d.Conditions {
		spec.Conditions = append(spec.Conditions, condition(&d.Conditions[i]))
	}
	if d.Catalogue.Name != "" {
		c.fromCatalogue(d, &spec)
	}
	return spec
}

// fromCatalogue fills in what a seeded agent brings.
func (c *compiler) fromCatalogue(d *config.Agent, spec *allowlist.AgentSpec) {
	seeded, ok := c.Catalogue.Seeded(d.Catalogue.Name)
	if !ok {
		fix := ""
		if near, found := allowlist.Nearest(d.Catalogue.Name, c.Catalogue.SeededAgents()); found {
			fix = "write " + near
		}
		c.problem(d.Catalogue.Pos, fix, "the catalogue has no agent %q", d.Catalogue.Name)
		return
	}
	if d.Registry.Pos.IsZero() {
		spec.Registry = allowlist.Named{Name: seeded.Registry, Pos: d.Pos}
	}
	if spec.Role.Name == "" && !spec.HasTools {
		spec.Tools, spec.HasTools = seeded.Tools, true
	}
}

// boundOf tells how a provider's runtime can be bounded (seed 002).
func boundOf(p config.Provider) allowlist.Provider {
	switch p {
	case config.ProviderOpenAI, config.ProviderAnthropic:
		return allowlist.ProviderDeclared
	case config.ProviderCodexCLI, config.ProviderClaudeTmux:
		return allowlist.ProviderUnbounded
	case config.ProviderNone, config.ProviderClaudeCLI:
	}
	return allowlist.ProviderBuiltIns
}

// providerName is empty where none is named.
func providerName(p config.Provider) string {
	if p == config.ProviderNone {
		return ""
	}
	return p.String()
}

// condition turns an argument condition into its test.
func condition(c *config.Condition) allowlist.Condition {
	out := allowlist.Condition{Tool: c.Tool, Arg: c.Arg, Pos: c.Pos}
	one := func(t allowlist.Test, name, want string) {
		out.Test, out.Want, out.Text = t, []string{want}, c.Arg+" "+name+" "+want
	}
	switch {
	case c.Exact != nil:
		one(allowlist.TestExact, "exact", *c.Exact)
	case c.OneOf.Set:
		out.Test, out.Want = allowlist.TestOneOf, c.OneOf.Strings()
		out.Text = c.Arg + " one_of " + strings.Join(out.Want, ", ")
	case c.Prefix != nil:
		one(allowlist.TestPrefix, "prefix", *c.Prefix)
	case c.Glob != nil:
		one(allowlist.TestGlob, "glob", *c.Glob)
	case c.Under != nil:
		one(allowlist.TestUnder, "under", *c.Under)
	case c.HostIn != nil:
		out.Test, out.Host, out.Text = allowlist.TestHost, hostIn(c.HostIn), c.Arg+" host_in"
		for _, p := range c.HostIn {
			out.Text += " " + p.String()
		}
	}
	return out
}

// hostIn tests a URL, or a host with or without a port, against patterns.
func hostIn(patterns []urlguard.Pattern) func(string) bool {
	return func(v string) bool {
		e, f := urlguard.ParseURL(v)
		if !f.OK() && !strings.Contains(v, "://") {
			if e, f = urlguard.ParseAuthority(v); !f.OK() {
				e, f = urlguard.ParseURL("https://" + v)
			}
		}
		if !f.OK() {
			return false
		}
		for _, p := range patterns {
			if p.Match(e) {
				return true
			}
		}
		return false
	}
}

// agentVersion names an agent's configuration by its content: whatever changes
// a decision, the model or the prompt changes it; where it stands in the file
// does not.
func agentVersion(d *config.Agent, spec *allowlist.AgentSpec) string {
	type grant struct {
		Server string
		Tools  []string
	}
	content := struct {
		Registry, Role, Model, Prompt, Provider                     string
		HasTools, ReadOnly, HasAllowed, HasMCP, StrictMCP, Subtract bool
		Tools, Grants, Denies, Allowed, Disallowed, HTTPTools       []string
		MCP                                                         []grant
		Conditions                                                  []string
	}{
		spec.Registry.Name, spec.Role.Name, d.Model, d.Prompt, spec.ProviderName,
		spec.HasTools, spec.ReadOnly, spec.HasAllowed, spec.HasMCP, spec.StrictMCP, spec.NarrowUnrestricted,
		texts(spec.Tools), texts(spec.Grants), texts(spec.Denies), texts(spec.Allowed), texts(spec.Disallowed), texts(spec.HTTPTools),
		nil, nil,
	}
	for _, g := range spec.MCP {
		content.MCP = append(content.MCP, grant{g.Server.Name, texts(g.Tools)})
	}
	for _, c := range spec.Conditions {
		content.Conditions = append(content.Conditions, c.Tool.Name+" "+c.Text)
	}
	data, err := json.Marshal(content)
	if err != nil { // strings and truth values always marshal
		data = []byte(d.Name + decision.InternalError.String())
	}
	sum := sha256.Sum256(data)
	return d.Name + "@sha256:" + hex.EncodeToString(sum[:])
}

// texts returns the names of a list.
func texts(list []allowlist.Named) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Name
	}
	return out
}
