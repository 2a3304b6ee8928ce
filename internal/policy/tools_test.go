package policy_test

import (
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
)

func TestListingAndDecidingAreOne(t *testing.T) {
	t.Parallel()
	for _, text := range []string{document, strings.Replace(document, "enabled: true", "enabled: false", 1)} {
		s, problems := compile(t, text, nil)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		for _, agent := range s.Agents() {
			entries, fault := s.Tools(t.Context(), &decision.Request{Agent: agent, Facts: decision.Facts{Stage: "in_qa"}})
			if fault != nil {
				t.Fatal(fault)
			}
			for _, e := range entries {
				r := tool(agent, e.Tool, nil)
				r.Facts.Stage = "in_qa"
				if d := s.Decide(t.Context(), r); d.Reason != e.Decision.Reason || d.Allowed() != e.Decision.Allowed() {
					t.Errorf("%s %s: listed as %v, decided as %v", agent, e.Tool, e.Decision.Reason, d.Reason)
				}
			}
		}
	}
	// A shell that is switched off is in no list.
	s, _ := compile(t, strings.Replace(document, "enabled: true", "enabled: false", 1), nil)
	if d := s.Decide(t.Context(), tool("all", "run_terminal", nil)); d.Reason != decision.TerminalDisabled {
		t.Errorf("a disabled terminal is listed: %v", d.Reason)
	}
	if _, fault := s.Tools(t.Context(), &decision.Request{Agent: "all", Facts: decision.Facts{Stage: "nowhere"}}); fault == nil || fault.Reason != decision.UnknownStage {
		t.Errorf("an unknown stage lists tools: %v", fault)
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	text := document + "mcp: {servers: {tracker: {url: \"https://tracker.example/mcp\", agents: all}, files: {url: \"https://files.example/mcp\", agents: listed}}}\n"
	s, problems := compile(t, text, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	entries, fault := s.Servers(t.Context(), &decision.Request{Agent: "dev"})
	if fault != nil || len(entries) != 2 || entries[0].Tool != "tracker" || !entries[0].Decision.Allowed() || entries[1].Decision.Allowed() {
		t.Errorf("servers %+v, fault %v", entries, fault)
	}
	for name, req := range map[string]*decision.Request{
		"an unknown agent": {Agent: "nobody"},
		"an unknown stage": {Agent: "dev", Facts: decision.Facts{Stage: "nowhere"}},
	} {
		if entries, fault := s.Servers(t.Context(), req); fault == nil || entries != nil || fault.Revision != "r1" {
			t.Errorf("%s: servers %v, fault %v", name, entries, fault)
		}
	}
}
