package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/toolgate/toolgate/internal/daemon"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/policy"
)

type explainCmd struct {
	configFlag
	factFlags
	Agent string `arg:"" help:"Agent to explain."`
	JSON  bool   `help:"Print JSON."`
}

// explained is one line of the answer.
type explained struct {
	Tool     string `json:"tool"`
	Decision bool   `json:"decision"`
	State    string `json:"state,omitempty"`
	Reason   string `json:"reason"`
	Layer    string `json:"layer"`
	Rule     string `json:"rule,omitempty"`
	Position string `json:"position,omitempty"`
	Would    bool   `json:"would_deny,omitempty"`
}

// explanation is the whole answer.
type explanation struct {
	Agent    string      `json:"agent"`
	Version  string      `json:"agent_version"`
	Revision string      `json:"policy_revision"`
	Mode     string      `json:"mode"`
	Tools    []explained `json:"tools"`
	Servers  []explained `json:"mcp_servers"`
}

func (c *explainCmd) Run(e *env) error {
	p, err := c.load(e)
	if err != nil {
		return err
	}
	req := decision.Request{Agent: c.Agent, Version: c.Version, Facts: c.facts()}
	tools, fault := p.Snapshot.Tools(e.ctx, &req)
	if fault != nil {
		return unanswerable(fault, p)
	}
	servers, fault := p.Snapshot.Servers(e.ctx, &req)
	if fault != nil {
		return unanswerable(fault, p)
	}
	out := explanation{Agent: c.Agent, Revision: p.Snapshot.Revision(), Tools: explainAll(tools), Servers: explainAll(servers)}
	if len(tools) > 0 {
		out.Version, out.Mode = tools[0].Decision.AgentVersion, tools[0].Decision.Mode.String()
	}
	if c.JSON {
		enc := json.NewEncoder(e.stdout)
		enc.SetIndent("", "  ")
		return enc.Encode(out)
	}
	s := newScreen(e.stdout, e.getenv)
	out.print(s)
	return s.err
}

// unanswerable says why an agent cannot be explained.
func unanswerable(fault *decision.Decision, p *daemon.Policy) error {
	text := fault.AdminText()
	if fault.Reason == decision.UnknownAgent {
		text += "\nhint: the agents are: " + strings.Join(p.Snapshot.Agents(), ", ")
	}
	return &exitError{exitUsage, errors.New(text)}
}

func explainAll(entries []policy.ToolEntry) []explained {
	out := make([]explained, len(entries))
	for i := range entries {
		d := &entries[i].Decision
		out[i] = explained{
			Tool: entries[i].Tool, Decision: d.Allowed(), State: d.State.String(), Reason: d.Reason.String(),
			Layer: d.Layer.String(), Rule: d.Rule, Position: d.Position.String(), Would: d.Would,
		}
	}
	return out
}

// print writes the tables.
func (x *explanation) print(s *screen) {
	allowed := 0
	for _, t := range x.Tools {
		if t.Decision {
			allowed++
		}
	}
	s.line("agent %s: %d of %d registered tools, mode %s", x.Agent, allowed, len(x.Tools), x.Mode)
	s.line("%s", s.paint(dim, cut(x.Version+", policy "+x.Revision, s.width)))
	s.table([]string{"TOOL", "", "STATE", "REASON", "LAYER", "RULE"}, explainRows(x.Tools))
	if len(x.Servers) > 0 {
		s.line("")
		s.table([]string{"MCP SERVER", "", "STATE", "REASON", "LAYER", "RULE"}, explainRows(x.Servers))
	}
}

func explainRows(list []explained) [][]string {
	var rows [][]string
	for _, t := range list {
		verdict, rule := "no", t.Rule
		if t.Decision {
			verdict = "yes"
		}
		if t.Would {
			verdict = "would deny"
		}
		if t.Position != "" {
			rule += " (" + t.Position + ")"
		}
		rows = append(rows, []string{t.Tool, verdict, t.State, t.Reason, t.Layer, rule})
	}
	return rows
}
