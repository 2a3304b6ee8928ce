package allowlist

import (
	"fmt"

	"github.com/toolgate/toolgate/internal/decision"
)

// Compile turns what is configured for an agent into what answers for it. All
// problems are returned at once; with any, there is no agent.
func (c *Catalogue) Compile(spec AgentSpec, servers []Server) (*Agent, []Problem) {
	k := &compiler{c: c, spec: &spec}
	k.reg = c.registries[spec.Registry.Name]
	if k.reg == nil {
		k.problem(spec.Registry.Pos, suggest(spec.Registry.Name, c.names), "unknown registry %q", spec.Registry.Name)
		return nil, k.problems
	}
	a := &Agent{reg: k.reg, base: make([]Verdict, len(k.reg.tools)), http: map[string]Verdict{}}
	a.unregistered = Verdict{Reason: decision.UnknownTool, Layer: decision.LayerName}
	k.base(a)
	k.httpTools(a)
	k.servers(a, servers)
	k.denies(a)
	k.readOnly(a)
	k.conditions(a)
	if len(k.problems) > 0 {
		return nil, k.problems
	}
	return a, nil
}

// compiler gathers what is wrong with one agent.
type compiler struct {
	c        *Catalogue
	spec     *AgentSpec
	reg      *registry
	problems []Problem
}

func (k *compiler) problem(pos decision.Position, fix, format string, args ...any) {
	k.problems = append(k.problems, Problem{pos, fmt.Sprintf(format, args...), fix})
}

// entry resolves a tool or @group of the agent's registry.
func (k *compiler) entry(n Named) set {
	s, ok := k.reg.resolve(n.Name)
	if !ok || n.Name == everything {
		k.problem(n.Pos, suggest(n.Name, k.c.Entries(k.reg.name)), "registry %s has no tool or group %q", k.reg.name, n.Name)
	}
	return s
}

// base fills in what the agent holds before a run narrows anything: the role's
// defaults and the grants inside its remit, or an allow-list, or, where that
// list is written and empty, everything.
func (k *compiler) base(a *Agent) {
	switch {
	case k.declaredOnly():
		k.unused()
		k.fill(a, Verdict{Reason: decision.NotListed, State: decision.StateNotGranted, Layer: decision.LayerBase, Rule: "provider " + k.spec.ProviderName, Pos: k.spec.Pos})
		a.narrows = true
	case k.spec.Role.Name != "" && k.spec.HasTools:
		k.problem(k.spec.Role.Pos, "keep one of the two", "an agent has a role or an allow-list of tools, not both")
	case k.spec.Role.Name != "":
		k.role(a)
	case k.spec.HasTools && len(k.spec.Tools) > 0:
		k.list(a)
	case k.spec.HasTools, k.spec.ReadOnly, k.spec.ProviderName != "":
		k.unused()
		rule := "tools: []"
		if !k.spec.HasTools { // under read_only, that rule speaks instead
			rule = "provider " + k.spec.ProviderName
		}
		k.fill(a, Verdict{Reason: decision.Unrestricted, State: decision.StateGranted, Layer: decision.LayerBase, Rule: rule, Pos: k.spec.Pos})
		a.narrows = k.spec.NarrowUnrestricted
	default:
		k.problem(k.spec.Pos, "write role, tools or catalogue; tools: [] means every registered tool", "agent %s has no base", k.spec.Name)
	}
}

// unused checks the names that add nothing to such a base: a misspelt one must
// not wait for the day on which it does.
func (k *compiler) unused() {
	if r := k.spec.Role; r.Name != "" && k.c.roles[r.Name] == nil {
		k.problem(r.Pos, suggest(r.Name, k.c.Roles()), "unknown role %q", r.Name)
	}
	for _, list := range [][]Named{k.spec.Tools, k.spec.Grants} {
		for _, n := range list {
			k.entry(n)
		}
	}
}

// declaredOnly reports whether the agent has no built-in tools at all, because
// of its provider (seed 002).
func (k *compiler) declaredOnly() bool {
	return k.spec.Provider == ProviderDeclared && (k.spec.ReadOnly || k.spec.Role.Name == "" && !k.spec.HasTools)
}

func (k *compiler) fill(a *Agent, v Verdict) {
	for i := range a.base {
		a.base[i] = v
	}
}

// role applies a role's remit and defaults, and the grants.
func (k *compiler) role(a *Agent) {
	a.narrows = true
	role, known := k.reg.roles[k.spec.Role.Name]
	if !known {
		k.problem(k.spec.Role.Pos, suggest(k.spec.Role.Name, k.c.Roles()), "unknown role %q", k.spec.Role.Name)
		return
	}
	if role.remit.empty() {
		k.problem(k.spec.Role.Pos, "set registry to the one that the role is made for", "role %s can hold no tool of registry %s", k.spec.Role.Name, k.reg.name)
		return
	}
	rule, pos := "role "+k.spec.Role.Name, k.spec.Role.Pos
	for i := range a.base {
		switch {
		case !role.remit.has(i):
			a.base[i] = Verdict{Reason: decision.OutsideRemit, State: decision.StateNotGranted, Layer: decision.LayerRemit, Rule: rule, Pos: pos}
		case role.defaults.has(i):
			a.base[i] = Verdict{Reason: decision.RoleDefault, State: decision.StateGranted, Layer: decision.LayerBase, Rule: rule, Pos: pos}
		default:
			a.base[i] = Verdict{Reason: decision.NotGranted, State: decision.StateNotGranted, Layer: decision.LayerGrant, Rule: rule, Pos: pos}
		}
	}
	for _, g := range k.spec.Grants {
		granted := k.entry(g)
		for i := range a.base {
			if granted.has(i) {
				grant(&a.base[i], g)
			}
		}
	}
}

// grant applies one grant to a tool of a role. Outside the remit it is visible,
// with the reason, and without effect; a default stays one.
func grant(v *Verdict, g Named) {
	switch {
	case v.Reason == decision.NotGranted:
		*v = granting(g)
	case v.Reason == decision.OutsideRemit && v.State != decision.StateUnavailable:
		v.State, v.Rule, v.Pos = decision.StateUnavailable, "grant "+g.Name, g.Pos
	}
}

func granting(g Named) Verdict {
	return Verdict{Reason: decision.GrantedByOperator, State: decision.StateGranted, Layer: decision.LayerGrant, Rule: "grant " + g.Name, Pos: g.Pos}
}

// list applies an allow-list, and the grants beside it.
func (k *compiler) list(a *Agent) {
	a.narrows = true
	k.fill(a, Verdict{Reason: decision.NotListed, State: decision.StateNotGranted, Layer: decision.LayerBase, Rule: "tools", Pos: k.spec.Pos})
	add := func(n Named, v Verdict) {
		s := k.entry(n)
		for i := range a.base {
			if s.has(i) && !a.base[i].Reason.Allows() {
				a.base[i] = v
			}
		}
	}
	for _, n := range k.spec.Tools {
		add(n, Verdict{Reason: decision.Listed, State: decision.StateGranted, Layer: decision.LayerBase, Rule: n.Name, Pos: n.Pos})
	}
	for _, n := range k.spec.Grants {
		add(n, granting(n))
	}
}

// httpTools adds the tools that the agent's runtime declares: the declaration
// is the grant.
func (k *compiler) httpTools(a *Agent) {
	a.names = k.c.Tools(k.reg.name)
	for _, n := range k.spec.HTTPTools {
		if _, registered := k.reg.index[n.Name]; registered || a.http[n.Name].Reason.Allows() || !validToolName(n.Name) {
			k.problem(n.Pos, "give it a name of its own", "HTTP tool %q has the name of another tool, or no name", n.Name)
			continue
		}
		a.http[n.Name] = Verdict{Reason: decision.Listed, State: decision.StateGranted, Layer: decision.LayerBase, Rule: "http_tools " + n.Name, Pos: n.Pos}
		a.names = append(a.names, n.Name)
	}
}

// readOnly bounds the runtime's built-in tools to the read-only set.
func (k *compiler) readOnly(a *Agent) {
	if !k.spec.ReadOnly || k.spec.Provider == ProviderDeclared {
		return
	}
	if k.spec.Provider == ProviderUnbounded {
		k.problem(k.spec.Pos, "use a provider whose built-in tools can be bounded, such as claude-cli", "provider %s cannot be bounded: read_only is refused on it (%s)", k.spec.ProviderName, decision.ProviderUnsupported)
		return
	}
	allowed := k.reg.readOnly
	if k.spec.HasAllowed {
		narrow := newSet(len(k.reg.tools))
		for _, n := range k.spec.Allowed {
			if i, ok := k.reg.index[n.Name]; ok && allowed.has(i) {
				narrow.add(i)
			}
		}
		allowed = narrow
	}
	refusal := func(r decision.Reason) Verdict {
		return Verdict{Reason: r, State: decision.StateNarrowed, Layer: decision.LayerReadOnly, Rule: "read_only", Pos: k.spec.Pos}
	}
	a.readOnly = make([]Verdict, len(k.reg.tools))
	for i := range a.readOnly {
		switch {
		case allowed.has(i):
			a.readOnly[i] = Verdict{Reason: decision.ReadOnlySet, State: decision.StateGranted, Layer: decision.LayerReadOnly, Rule: "read_only", Pos: k.spec.Pos}
		case k.reg.exfiltration.has(i):
			a.readOnly[i] = refusal(decision.ReadOnlyExfiltration)
		case k.reg.writeCapable.has(i):
			a.readOnly[i] = refusal(decision.ReadOnlyWriteCapable)
		default:
			a.readOnly[i] = refusal(decision.ReadOnlyNotPreapproved)
		}
	}
	a.unregistered = refusal(decision.ReadOnlyNotPreapproved)
}
