package policy

import (
	"context"

	"github.com/toolgate/toolgate/internal/decision"
)

// ToolEntry is one tool or MCP server of an agent and what Decide says of it.
type ToolEntry struct {
	Tool     string // the name of the tool or server
	Decision decision.Decision
}

// Tools answers for every tool that can be listed, in registry order, with the
// very function that decides a call: what is listed and what is allowed cannot
// differ. req names agent, version and facts; its resource is not read. A
// fault, such as an unknown agent or stage, comes back as a decision and no
// list.
func (s *Snapshot) Tools(ctx context.Context, req *decision.Request) ([]ToolEntry, *decision.Decision) {
	return s.list(ctx, req, decision.KindTool, (*agent).Names)
}

// Servers answers for every declared MCP server, in the order of the document,
// as Tools does for tools.
func (s *Snapshot) Servers(ctx context.Context, req *decision.Request) ([]ToolEntry, *decision.Decision) {
	return s.list(ctx, req, decision.KindMCPServer, (*agent).ServerIDs)
}

// list puts one question for each name of an agent. No name that is listed is
// unknown, so a fault about the first one is about the facts, and no other name
// would fare better.
func (s *Snapshot) list(ctx context.Context, req *decision.Request, kind decision.Kind, names func(*agent) []string) ([]ToolEntry, *decision.Decision) {
	a, fault := s.agent(req)
	if fault != nil {
		fault.Revision = s.revision
		return nil, fault
	}
	one := *req
	one.Arguments, one.Hops, one.From = nil, nil, nil
	entries := make([]ToolEntry, 0, len(names(a)))
	for _, name := range names(a) {
		one.Resource = decision.Resource{Kind: kind, ID: name}
		d := s.Decide(ctx, &one)
		if d.Reason.Class() == decision.ClassFault && len(entries) == 0 {
			return nil, &d
		}
		entries = append(entries, ToolEntry{name, d})
	}
	return entries, nil
}

// Dials reports whether a tool of an agent dials targets that a model chooses,
// so that its connections need to be told from others.
func (s *Snapshot) Dials(agentName, tool string) bool {
	a := s.agents[agentName]
	if a == nil {
		return false
	}
	t, ok := a.Tool(tool)
	return ok && t.Network
}

// ToolNames lists every tool that some agent's policy knows, each once: the
// configured names that a metric may carry.
func (s *Snapshot) ToolNames() []string {
	var names []string
	seen := map[string]bool{}
	for _, name := range s.names {
		for _, tool := range s.agents[name].Names() {
			if !seen[tool] {
				seen[tool] = true
				names = append(names, tool)
			}
		}
	}
	return names
}
