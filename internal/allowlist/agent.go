package allowlist

import (
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// Verdict is what the tool layers say. The zero value is a refusal
// (internal_error).
type Verdict struct {
	Reason decision.Reason
	State  decision.State
	Layer  decision.Layer
	Detail string
	Rule   string
	Pos    decision.Position
}

// Agent is one compiled agent. It never changes and is safe for concurrent use.
// A nil Agent refuses everything.
type Agent struct {
	reg   *registry
	base  []Verdict // per tool of the registry, before anything that a run narrows
	http  map[string]Verdict
	names []string // registry order, then the declared HTTP tools

	// narrows says that stage and task type bind: not for an unrestricted
	// agent, unless it asks for it (seed 001).
	narrows  bool
	readOnly []Verdict // per tool; nil without read_only

	// What answers for a name that no registry holds.
	unregistered Verdict
	denied       map[string]Verdict // denies of names that are not registered, MCP names included
	servers      map[string]*server
	serverIDs    []string
	strict       bool

	conditions map[string][]Condition
}

// server is an MCP server as one agent sees it.
type server struct {
	verdict  Verdict
	patterns []Named // nil: every tool
}

const (
	mcpPrefix = "mcp__"
	mcpInfix  = "__"
)

// mcpName splits mcp__server__tool. Server ids hold no double underscore, so
// the first one ends the server.
func mcpName(name string) (id, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, mcpPrefix)
	if !ok {
		return "", "", false
	}
	id, tool, _ = strings.Cut(rest, mcpInfix)
	return id, tool, true
}

// narrowing is what a run's facts do to a registry.
type narrowing struct {
	typeStrips, jobLeaves set
	stage                 stage
	job                   bool
	facts                 *decision.Facts
}

// narrow looks the facts up. An unknown stage, task type or job refuses: a
// misspelt one must not narrow nothing.
func (a *Agent) narrow(f *decision.Facts) (n narrowing, v Verdict, ok bool) {
	n.facts = f
	found := true
	if f.Stage != "" {
		if n.stage, found = a.reg.stages[f.Stage]; !found {
			return n, Verdict{Reason: decision.UnknownStage, Layer: decision.LayerStage, Detail: f.Stage}, false
		}
	}
	if f.TaskType != "" {
		if n.typeStrips, found = a.reg.taskTypes[f.TaskType]; !found {
			return n, Verdict{Reason: decision.UnknownTaskType, Layer: decision.LayerTaskType, Detail: f.TaskType}, false
		}
	}
	if f.Job != "" {
		if n.jobLeaves, found = a.reg.jobs[f.Job]; !found {
			return n, Verdict{Reason: decision.UnknownJob, Layer: decision.LayerJob, Detail: f.Job}, false
		}
		n.job = true
	}
	return n, Verdict{}, true
}

// Decide answers whether the agent may call a tool under these facts. Names are
// exact. The first layer that takes the tool away names the reason.
func (a *Agent) Decide(tool string, f *decision.Facts) Verdict {
	if a == nil {
		return Verdict{}
	}
	n, v, ok := a.narrow(f)
	if !ok {
		return v
	}
	if i, registered := a.reg.index[tool]; registered {
		return a.registered(i, &n)
	}
	if v, denied := a.denied[tool]; denied {
		return v
	}
	if v, declared := a.http[tool]; declared {
		if n.job && v.Reason.Allows() {
			return narrowed(decision.OutsideJob, decision.LayerJob, f.Job)
		}
		return v
	}
	if id, name, ok := mcpName(tool); ok {
		return a.mcpTool(id, name, &n)
	}
	v = a.unregistered
	v.Detail = tool
	return v
}

// registered walks the chain for a registered tool.
func (a *Agent) registered(i int, n *narrowing) Verdict {
	v := a.base[i]
	if !v.Reason.Allows() {
		return v
	}
	if a.narrows {
		switch {
		case n.typeStrips.has(i):
			return narrowed(decision.StrippedByTaskType, decision.LayerTaskType, n.facts.TaskType)
		case n.stage.writers.has(i):
			return narrowed(decision.StrippedByStageWriters, decision.LayerStage, n.facts.Stage)
		case n.stage.codeReading.has(i):
			return narrowed(decision.StrippedByStageCodeReading, decision.LayerStage, n.facts.Stage)
		}
	}
	if n.facts.HasPlan && a.reg.planned.has(i) && !contains(n.facts.Planned, a.reg.tools[i].Name) {
		return narrowed(decision.NotPlanned, decision.LayerPlanned, "planned")
	}
	if n.job && !n.jobLeaves.has(i) {
		return narrowed(decision.OutsideJob, decision.LayerJob, n.facts.Job)
	}
	if a.readOnly != nil {
		return a.readOnly[i]
	}
	return v
}

// narrowed is the verdict of a layer that took a tool away that the agent holds.
func narrowed(r decision.Reason, l decision.Layer, rule string) Verdict {
	return Verdict{Reason: r, State: decision.StateNarrowed, Layer: l, Rule: rule}
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

// mcpTool answers for mcp__id__name.
func (a *Agent) mcpTool(id, name string, n *narrowing) Verdict {
	if v, denied := a.denied[mcpPrefix+id]; denied {
		return v
	}
	s := a.servers[id]
	if s == nil {
		return Verdict{Reason: decision.MCPServerUnknown, Layer: decision.LayerMCP, Detail: id}
	}
	v := s.answer(n)
	if !v.Reason.Allows() || name == "" && s.patterns == nil {
		return v
	}
	if name == "" || s.patterns != nil && !s.matches(name) {
		return Verdict{
			Reason: decision.MCPServerNotPicked, State: decision.StateNotGranted, Layer: decision.LayerMCP,
			Detail: name, Rule: v.Rule, Pos: v.Pos,
		}
	}
	return v
}

// answer is what a server answers for a run: a job reaches none.
func (s *server) answer(n *narrowing) Verdict {
	if s.verdict.Reason.Allows() && n.job {
		return narrowed(decision.JobNoMCP, decision.LayerJob, n.facts.Job)
	}
	return s.verdict
}

// matches reports whether a tool of the server is granted.
func (s *server) matches(tool string) bool {
	for _, p := range s.patterns {
		if wildcard(p.Name, tool) {
			return true
		}
	}
	return false
}

// DecideServer answers whether the agent reaches an MCP server at all.
func (a *Agent) DecideServer(id string, f *decision.Facts) Verdict {
	if a == nil {
		return Verdict{}
	}
	n, v, ok := a.narrow(f)
	if !ok {
		return v
	}
	if v, denied := a.denied[mcpPrefix+id]; denied {
		return v
	}
	s := a.servers[id]
	if s == nil {
		return Verdict{Reason: decision.MCPServerUnknown, Layer: decision.LayerMCP, Detail: id}
	}
	return s.answer(&n)
}

// Tool returns a registered tool.
func (a *Agent) Tool(name string) (*Tool, bool) {
	if a == nil {
		return nil, false
	}
	i, ok := a.reg.index[name]
	if !ok {
		return nil, false
	}
	return &a.reg.tools[i], true
}

// Names lists what can be listed: every registered tool in registry order, then
// the declared HTTP tools. It must not be changed.
func (a *Agent) Names() []string { return a.names }

// Shells lists the registered tools that run commands.
func (a *Agent) Shells() []string { return a.reg.shells }

// ServerIDs lists the declared MCP servers in their order.
func (a *Agent) ServerIDs() []string { return a.serverIDs }
