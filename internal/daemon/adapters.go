package daemon

import (
	"context"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/policy"
	"github.com/toolgate/toolgate/internal/runs"
)

// lister answers resource searches from the function that decides. It
// implements api.Lister.
type lister struct {
	pdp *policy.PDP
}

// Resources lists the tools or MCP servers that an agent may use.
func (l lister) Resources(ctx context.Context, req *decision.Request) []string {
	s := l.pdp.Current()
	if s == nil {
		return nil
	}
	list := s.Tools
	if req.Resource.Kind == decision.KindMCPServer {
		list = s.Servers
	}
	entries, fault := list(ctx, req)
	if fault != nil {
		return nil
	}
	var names []string
	for i := range entries {
		if entries[i].Decision.Allowed() {
			names = append(names, entries[i].Tool)
		}
	}
	return names
}

// issue returns the permit for an allowed request of a tool that dials.
func (d *daemon) issue(req *decision.Request, answer *decision.Decision) string {
	tool := req.Tool
	if req.Resource.Kind == decision.KindTool {
		tool = req.Resource.ID
	}
	s := d.pdp.Current()
	if tool == "" || s == nil || !s.Dials(req.Agent, tool) {
		return ""
	}
	return d.permits.Issue(runs.Grant{
		Agent: req.Agent, AgentVersion: answer.AgentVersion, Tool: tool, DecisionID: answer.ID,
	})
}

// Identify implements egress.Identifier: the user name is a tool, the password
// a permit for it. The policy in force judges each request afresh, so a permit
// outlives a reload without keeping anything open that it closed.
func (d *daemon) Identify(user, password string) (egress.Identity, bool) {
	g, ok := d.permits.Check(password)
	if !ok || g.Tool != user {
		return egress.Identity{}, false
	}
	return egress.Identity{Agent: g.Agent, Tool: g.Tool, Proven: true}, true
}

// Anonymous implements egress.Identifier: who the operator says a client
// without credentials is. Its tool is not proven, so it earns no exception.
func (d *daemon) Anonymous() (egress.Identity, bool) {
	a := d.loaded.Load().Document.Egress.Anonymous
	if a == nil {
		return egress.Identity{}, false
	}
	return egress.Identity{Agent: a.Agent.Name, Tool: a.Tool.Name}, true
}
