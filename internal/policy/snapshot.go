package policy

import (
	"context"
	"fmt"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// Snapshot is one compiled policy. It never changes. A nil Snapshot refuses
// every question with internal_error.
type Snapshot struct {
	revision  string
	agents    map[string]*agent
	names     []string // of the agents, in the order of the document
	inventory *allowlist.Inventory
	commands  *terminal.Judge
	urls      *urlguard.Guard
	resolver  Resolver
}

// agent is one compiled agent.
type agent struct {
	*allowlist.Agent
	name    string
	version string // name@sha256:…
	mode    decision.Mode
}

// Revision identifies the policy: a hash of the document and the catalogue.
func (s *Snapshot) Revision() string { return s.revision }

// Agents lists the agents in the order of the document.
func (s *Snapshot) Agents() []string { return s.names }

// Decide answers one question. It never panics: a fault inside a judge becomes
// a refusal.
func (s *Snapshot) Decide(ctx context.Context, req *decision.Request) (d decision.Decision) {
	if req == nil {
		return decision.Refuse(decision.InternalError, decision.GuardTool, "no question was put")
	}
	if s == nil {
		return decision.Refuse(decision.InternalError, req.Resource.Kind.Guard(), "no policy is loaded")
	}
	defer func() {
		if p := recover(); p != nil {
			d = decision.Refuse(decision.InternalError, req.Resource.Kind.Guard(), fmt.Sprint(p))
			d.Revision = s.revision
		}
	}()
	a, fault := s.agent(req)
	if fault != nil {
		d = *fault
	} else {
		d = s.ask(ctx, a, req)
		d.AgentVersion, d.Mode = a.version, a.mode
	}
	d.Guard, d.Revision = guardOfDecision(req.Resource.Kind, &d), s.revision
	if !d.Allowed() {
		d.Vetted = decision.Vetted{} // nothing that is refused can be dialled
	}
	return d
}

// agent returns whose policy answers, or the fault that leaves none.
func (s *Snapshot) agent(req *decision.Request) (*agent, *decision.Decision) {
	a, ok := s.agents[req.Agent]
	switch {
	case req.Facts.Run != "":
		// Runs are not kept yet, so no run is open.
		return nil, &decision.Decision{Reason: decision.UnknownRun, Detail: req.Facts.Run}
	case req.Agent == "":
		return nil, &decision.Decision{Reason: decision.NoIdentity}
	case !ok:
		return nil, &decision.Decision{Reason: decision.UnknownAgent, Detail: req.Agent}
	case req.Version != "" && req.Version != a.version:
		return nil, &decision.Decision{Reason: decision.UnknownVersion, Layer: decision.LayerVersion, Detail: req.Version}
	}
	return a, nil
}

// ask puts the question to the judges of its kind.
func (s *Snapshot) ask(ctx context.Context, a *agent, req *decision.Request) decision.Decision {
	switch req.Resource.Kind {
	case decision.KindTool:
		return s.tool(ctx, a, req)
	case decision.KindURL:
		return s.url(ctx, a, req)
	case decision.KindCommand:
		return s.command(a, req)
	case decision.KindMCPServer:
		return settle(a, a.DecideServer(req.Resource.ID, &req.Facts))
	case decision.KindUnknown:
	}
	return decision.Decision{Reason: decision.BadRequest, Detail: "resource type"}
}

// guardOfDecision is the guard that decided: for a tool call, the one whose
// layer refused.
func guardOfDecision(k decision.Kind, d *decision.Decision) decision.Guard {
	if d.Layer == decision.LayerTerminal {
		return decision.GuardTerminal
	}
	if d.Layer == decision.LayerURL {
		return decision.GuardURL
	}
	return k.Guard()
}
