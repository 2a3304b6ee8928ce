package policy

import (
	"maps"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// command answers whether a may run a script. Its agent must hold a shell
// tool: the one that the question names, else any that it holds.
func (s *Snapshot) command(a *agent, req *decision.Request) decision.Decision {
	tool, d := s.shell(a, req)
	if !d.Allowed() {
		return d
	}
	if v := s.conditions(a, tool, req); !v.Reason.Allows() {
		if d = stricter(d, settle(a, v)); !d.Allowed() {
			return d
		}
	}
	judged := s.judge(a, req.Resource.ID)
	if !d.Would && judged.Allowed() && !judged.Would {
		return judged // the question was about the command, so its guard speaks
	}
	return stricter(d, judged)
}

// shell answers whether a holds the shell tool that would run the script, and
// names it.
func (s *Snapshot) shell(a *agent, req *decision.Request) (string, decision.Decision) {
	if req.Tool != "" {
		if meta, ok := a.Tool(req.Tool); ok && meta.CommandArg == "" {
			return req.Tool, refuse(a, decision.BadRequest, decision.LayerRequest, req.Tool+" runs no commands")
		}
		return req.Tool, settle(a, a.Decide(req.Tool, &req.Facts))
	}
	tool, first := "", decision.Decision{Reason: decision.UnknownTool, Layer: decision.LayerName, Detail: "no shell tool is registered"}
	for i, name := range a.Shells() {
		d := settle(a, a.Decide(name, &req.Facts))
		if d.Allowed() && !d.Would {
			return name, d
		}
		if i == 0 {
			tool, first = name, d
		}
	}
	return tool, first
}

// conditions checks a script as the argument of the shell tool that would run
// it, so that a question about a command is answered like one about the call.
// A condition on another argument, which such a question rarely has, is not
// met.
func (s *Snapshot) conditions(a *agent, tool string, req *decision.Request) allowlist.Verdict {
	args := make(decision.Arguments, len(req.Arguments)+1)
	maps.Copy(args, req.Arguments)
	if meta, ok := a.Tool(tool); ok {
		args[meta.CommandArg] = req.Resource.ID
	}
	return a.CheckArguments(tool, &req.Facts, args, s.inventory)
}

// judge asks the terminal guard about a script.
func (s *Snapshot) judge(a *agent, script string) decision.Decision {
	v := s.commands.Judge(script)
	d := decision.Decision{
		Reason: v.Reason, Layer: decision.LayerTerminal,
		Detail: v.Detail, Rule: v.Rule, Position: v.Pos,
	}
	return withMode(a, d)
}

// terminalGate answers whether the terminal is switched on at all.
func (s *Snapshot) terminalGate(a *agent) decision.Decision {
	if s.commands.Enabled() {
		return decision.Decision{Effect: decision.Allow, Reason: decision.CommandOK, Layer: decision.LayerTerminal}
	}
	return refuse(a, decision.TerminalDisabled, decision.LayerTerminal, "")
}
