package allowlist

import (
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// denies takes tools away. A deny wins over everything before it, also over a
// grant in the same breath, and is shown even for a tool never held. The first
// deny that names a tool speaks for it.
func (k *compiler) denies(a *Agent) {
	for _, n := range k.spec.Denies {
		if !k.deny(a, n) {
			k.problem(n.Pos, suggest(n.Name, append(k.c.Entries(k.reg.name), a.names...)), "registry %s has no tool or group %q to deny", k.reg.name, n.Name)
		}
	}
	for _, n := range k.spec.Disallowed {
		switch {
		case k.deny(a, n):
		case validToolName(n.Name): // an alias, or a tool that no registry knows yet
			denySet(a, k.reg.aliased[n.Name], n)
			a.denied = append(a.denied, pattern{n.Name, denying(n)})
		default:
			k.problem(n.Pos, "deny the whole tool, or bound its arguments under conditions", "%q is not the name of a tool", n.Name)
		}
	}
}

func denying(n Named) Verdict {
	return Verdict{Reason: decision.DeniedByOperator, State: decision.StateDenied, Layer: decision.LayerDeny, Rule: "deny " + n.Name, Pos: n.Pos}
}

// deny applies one deny; false if nothing can have that name.
func (k *compiler) deny(a *Agent, n Named) bool {
	if s, ok := k.reg.resolve(n.Name); ok && n.Name != everything {
		denySet(a, s, n)
		return true
	}
	if v, ok := a.http[n.Name]; ok {
		denyOnce(&v, n)
		a.http[n.Name] = v
		return true
	}
	return denyMCP(a, n)
}

func denySet(a *Agent, s set, n Named) {
	for i := range a.base {
		if s.has(i) {
			denyOnce(&a.base[i], n)
		}
	}
}

func denyOnce(v *Verdict, n Named) {
	if v.State != decision.StateDenied {
		*v = denying(n)
	}
}

// denyMCP applies a deny of mcp__server, mcp__server__tool, or a pattern of
// such names, in which * stands for any text: it is matched against the whole
// name, so it takes at least what it seems to take. A server that is denied as
// a whole is not reached either.
func denyMCP(a *Agent, n Named) bool {
	id, tool, ok := mcpName(n.Name)
	if !ok || !validMCPTool(id) || tool != "" && !validMCPTool(tool) {
		return false
	}
	if tool != "" && tool != everything {
		a.denied = append(a.denied, pattern{n.Name, denying(n)})
		return true
	}
	whole := mcpPrefix + id
	for id, s := range a.servers {
		if wildcard(whole, mcpPrefix+id) {
			denyOnce(&s.verdict, n)
		}
	}
	a.denied = append(a.denied, pattern{whole, denying(n)}, pattern{whole + mcpInfix + everything, denying(n)})
	return true
}

// servers works out which MCP servers the agent reaches. Listing any makes the
// list exact; strict_mcp means the declared ones only, also when none is, and
// so does read_only: what is declared is the grant (seed 002).
func (k *compiler) servers(a *Agent, declared []Server) {
	a.servers = make(map[string]*server, len(declared))
	ids := make([]string, 0, len(declared))
	bounded := k.spec.StrictMCP || k.spec.ReadOnly || k.declaredOnly()
	for _, s := range declared {
		if a.servers[s.ID] != nil || !validServerID(s.ID) {
			k.problem(decision.Position{}, "give each server a name of its own, without __ and not ending in _", "MCP server %q is there twice, or its tools could be read in two ways", s.ID)
		}
		ids = append(ids, s.ID)
		a.servers[s.ID] = &server{verdict: k.unlisted(s, bounded)}
	}
	a.serverIDs = ids
	reason := decision.MCPServerPicked
	if bounded {
		reason = decision.MCPDeclared
	}
	listed := map[string]bool{}
	for _, g := range k.spec.MCP {
		s := a.servers[g.Server.Name]
		switch {
		case s == nil:
			k.problem(g.Server.Pos, suggest(g.Server.Name, ids), "no MCP server %q is declared under mcp.servers", g.Server.Name)
			continue
		case listed[g.Server.Name]:
			k.problem(g.Server.Pos, "list it once, with all its tools", "MCP server %q is listed twice", g.Server.Name)
		}
		listed[g.Server.Name] = true
		s.verdict = Verdict{Reason: reason, State: decision.StateGranted, Layer: decision.LayerMCP, Rule: "mcp " + g.Server.Name, Pos: g.Server.Pos}
		s.patterns = g.Tools
	}
}

// validServerID reports whether mcp__ID__tool has one reading.
func validServerID(id string) bool {
	return validToolName(id) && !strings.Contains(id, mcpInfix) && !strings.HasSuffix(id, "_")
}

// unlisted is the verdict of a server that the agent does not list.
func (k *compiler) unlisted(s Server, bounded bool) Verdict {
	v := Verdict{Reason: decision.MCPServerNotPicked, State: decision.StateNotGranted, Layer: decision.LayerMCP, Rule: "mcp", Pos: k.spec.Pos}
	switch {
	case k.spec.StrictMCP:
		v.Reason, v.Rule = decision.MCPServerNotDeclared, "strict_mcp"
	case bounded:
		v.Reason = decision.MCPServerNotDeclared
	case !k.spec.HasMCP && s.All:
		v.Reason, v.State, v.Rule = decision.MCPServerAllAgents, decision.StateGranted, "agents: all"
	}
	return v
}

// conditions indexes the argument conditions by tool. One on a name that no
// call can have would bind nothing, so it is a problem.
func (k *compiler) conditions(a *Agent) {
	for _, c := range k.spec.Conditions {
		_, registered := k.reg.index[c.Tool.Name]
		_, declared := a.http[c.Tool.Name]
		id, tool, isMCP := mcpName(c.Tool.Name)
		switch {
		case registered || declared:
		case isMCP && a.servers[id] == nil:
			k.problem(c.Tool.Pos, suggest(id, a.serverIDs), "no MCP server %q is declared under mcp.servers", id)
			continue
		case isMCP && !validMCPTool(tool), strings.ContainsAny(c.Tool.Name, "@*"):
			k.problem(c.Tool.Pos, "write one condition for each tool", "a condition binds one tool, and %q is none", c.Tool.Name)
			continue
		case !isMCP:
			k.problem(c.Tool.Pos, suggest(c.Tool.Name, a.names), "registry %s has no tool %q", k.reg.name, c.Tool.Name)
			continue
		}
		if a.conditions == nil {
			a.conditions = map[string][]Condition{}
		}
		a.conditions[c.Tool.Name] = append(a.conditions[c.Tool.Name], c)
	}
}
