package api

import (
	"github.com/toolgate/toolgate/internal/decision"
)

// request puts p as a question.
func (p *parts) request() (*decision.Request, error) {
	if err := p.complete(true); err != nil {
		return nil, err
	}
	req, err := p.build()
	if err != nil {
		return req, err
	}
	return req, nil
}

// complete checks that what AuthZEN requires is there (sections 6.1 and 8.5):
// an empty text is as good as none.
func (p *parts) complete(resourceID bool) error {
	if p.fault != "" {
		return malformed(string(p.fault))
	}
	for _, need := range [...]struct {
		name string
		ok   bool
	}{
		{"subject", p.subject.sent},
		{"subject.type", p.subject.typ != ""},
		{"subject.id", p.subject.id != ""},
		{"action", p.action.sent},
		{"action.name", p.action.name != ""},
		{"resource", p.resource.sent},
		{"resource.type", p.resource.typ != ""},
		{"resource.id", p.resource.id != "" || !resourceID},
	} {
		if !need.ok {
			return malformed(need.name + " is missing or empty")
		}
	}
	return nil
}

// build makes the request. It comes with an error too, as far as p can be
// understood.
func (p *parts) build() (*decision.Request, error) {
	kind, known := decision.ParseKind(p.resource.typ)
	c := &p.facts
	req := &decision.Request{
		Agent:    c.agent,
		Version:  c.version,
		Action:   p.action.name,
		Resource: decision.Resource{Kind: kind, ID: p.resource.id},
		Facts: decision.Facts{
			Run: c.run, Stage: c.stage, TaskType: c.taskType, Job: c.job, Repository: c.repository,
			Planned: c.planned, HasPlan: c.hasPlan,
		},
	}
	if kind == decision.KindURL {
		// Whoever may ask here is trusted to say which tool dials.
		req.Tool, req.Proven, req.Hops = c.tool, c.tool != "", p.resource.hops
	}
	switch {
	case p.resource.hasArgs:
		req.Arguments = p.resource.args
	case p.action.hasArgs:
		req.Arguments = p.action.args
	}
	if err := p.speaker(req); err != nil {
		return req, err
	}
	switch {
	case !known:
		return req, denied("resource.type " + decision.Quote(p.resource.typ) + " is unknown: tool, url, command or mcp_server")
	case p.action.name != actionOf(kind):
		return req, denied("action.name " + decision.Quote(p.action.name) + " does not fit a " + kind.String() + ": write " + actionOf(kind))
	case p.resource.hasArgs && p.action.hasArgs:
		return req, denied("arguments are given twice: write resource.properties.arguments or action.properties.arguments")
	}
	return req, nil
}

// speaker finds out whose policy applies. A person or a run without an agent
// leaves it empty, which the decision point answers with no_identity.
func (p *parts) speaker(req *decision.Request) error {
	switch p.subject.typ {
	case "agent":
		if req.Agent != "" && req.Agent != p.subject.id {
			return denied("context.agent and the subject name two agents")
		}
		req.Agent = p.subject.id
	case "run":
		if req.Facts.Run != "" && req.Facts.Run != p.subject.id {
			return denied("context.run and the subject name two runs")
		}
		req.Facts.Run = p.subject.id
	case "identity", "user":
	default:
		return denied("subject.type " + decision.Quote(p.subject.typ) + " is unknown: agent, run, identity or user")
	}
	return nil
}

// actionOf is the action that a kind of resource is asked with (contracts,
// section 4).
func actionOf(k decision.Kind) string {
	switch k {
	case decision.KindURL:
		return "fetch"
	case decision.KindCommand:
		return "execute"
	case decision.KindTool, decision.KindMCPServer, decision.KindUnknown:
	}
	return "tools/call"
}
