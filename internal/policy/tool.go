package policy

import (
	"context"
	"strings"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// tool answers whether a may call a tool with these arguments: the tool layers
// first, then the guards under them. The reason of an allowed call is that of
// the tool layer (contracts, section 7).
func (s *Snapshot) tool(ctx context.Context, a *agent, req *decision.Request) decision.Decision {
	v, meta := a.DecideTool(req.Resource.ID, &req.Facts)
	d := settle(a, v)
	if !d.Allowed() {
		return d
	}
	if req.Arguments != nil {
		if v := a.CheckArguments(req.Resource.ID, &req.Facts, req.Arguments, s.inventory); !v.Reason.Allows() {
			d = stricter(d, settle(a, v))
		}
	}
	if meta == nil || !d.Allowed() {
		return d
	}
	if meta.CommandArg != "" {
		d = stricter(d, s.commandArgument(a, meta, req.Arguments))
	}
	if len(meta.URLArgs) > 0 && req.Arguments != nil && d.Allowed() {
		d = stricter(d, s.urlArguments(ctx, a, req, meta))
	}
	return d
}

// commandArgument judges the command of a call to a shell tool. A caller that
// sends no arguments asks whether the tool is there at all; one that sends
// some must send the command.
func (s *Snapshot) commandArgument(a *agent, meta *allowlist.Tool, args decision.Arguments) decision.Decision {
	if args == nil {
		return s.terminalGate(a)
	}
	text, ok := args[meta.CommandArg].(string)
	if !ok {
		return refuse(a, decision.CommandUnresolvable, decision.LayerTerminal, "argument "+meta.CommandArg+" is missing or not text")
	}
	if key, found := lookAlike(args, meta.CommandArg); found {
		return refuse(a, decision.ArgumentNotAllowed, decision.LayerCondition, key)
	}
	return s.judge(a, text)
}

// urlArguments judges each URL argument of a call. An argument that is absent
// dials nothing; one whose name differs in case only is refused, because a
// runtime may read it.
func (s *Snapshot) urlArguments(ctx context.Context, a *agent, req *decision.Request, meta *allowlist.Tool) decision.Decision {
	d := decision.Decision{Effect: decision.Allow, Reason: decision.URLOK, Layer: decision.LayerURL}
	for _, name := range meta.URLArgs {
		if key, found := lookAlike(req.Arguments, name); found {
			return refuse(a, decision.ArgumentNotAllowed, decision.LayerCondition, key)
		}
		value, present := req.Arguments[name]
		if !present {
			continue
		}
		text, ok := value.(string)
		if !ok {
			return refuse(a, decision.URLInvalid, decision.LayerURL, "argument "+name+" is not text")
		}
		sub := decision.Request{
			Agent: req.Agent, Tool: meta.Name, Proven: true, Facts: req.Facts,
			Resource: decision.Resource{Kind: decision.KindURL, ID: text},
		}
		if d = stricter(d, s.chain(ctx, a, s.callerOf(a, &sub), &sub)); !d.Allowed() {
			return d
		}
	}
	return d
}

// lookAlike finds a key that differs from name in case only: nobody knows which
// of the two a runtime reads.
func lookAlike(args decision.Arguments, name string) (string, bool) {
	for key := range args {
		if key != name && strings.EqualFold(key, name) {
			return key, true
		}
	}
	return "", false
}
