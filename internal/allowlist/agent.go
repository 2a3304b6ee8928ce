package allowlist

import (
	"slices"
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
// A nil Agent refuses everything and lists nothing.
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
	denied       []pattern // denies of such names, MCP names included
	servers      map[string]*server
	serverIDs    []string

	conditions map[string][]Condition
}

// server is an MCP server as one agent sees it.
type server struct {
	verdict  Verdict
	patterns []Named // nil: every tool
}

// pattern is a deny of names that are not registered.
type pattern struct {
	text    string // * stands for any text
	verdict Verdict
}

// deniedName returns the first deny that names an unregistered tool.
func (a *Agent) deniedName(tool string) (*pattern, bool) {
	for i := range a.denied {
		if p := &a.denied[i]; wildcard(p.text, tool) {
			return p, true
		}
	}
	return nil, false
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

// narrowing is what a run's facts do to a registry. Nil parts narrow nothing.
type narrowing struct {
	taskType *taskType
	stage    *stage
	job      *job
	facts    *decision.Facts
}

// narrow looks the facts up. An unknown stage, task type or job refuses: a
// misspelt one must not narrow nothing.
func (a *Agent) narrow(f *decision.Facts) (n narrowing, v Verdict, ok bool) {
	n.facts = f
	if f.Stage != "" {
		if n.stage = a.reg.stages[f.Stage]; n.stage == nil {
			return n, Verdict{Reason: decision.UnknownStage, Layer: decision.LayerStage, Detail: f.Stage}, false
		}
	}
	if f.TaskType != "" {
		if n.taskType = a.reg.taskTypes[f.TaskType]; n.taskType == nil {
			return n, Verdict{Reason: decision.UnknownTaskType, Layer: decision.LayerTaskType, Detail: f.TaskType}, false
		}
	}
	if f.Job != "" {
		if n.job = a.reg.jobs[f.Job]; n.job == nil {
			return n, Verdict{Reason: decision.UnknownJob, Layer: decision.LayerJob, Detail: f.Job}, false
		}
	}
	return n, Verdict{}, true
}

// Decide answers whether the agent may call a tool under these facts, which
// must not be nil. Names are exact. The first layer that takes the tool away
// names the reason.
func (a *Agent) Decide(tool string, f *decision.Facts) Verdict {
	v, _ := a.DecideTool(tool, f)
	return v
}

// DecideTool is Decide, and returns the tool too where it is registered, so that
// who needs both looks it up once.
func (a *Agent) DecideTool(tool string, f *decision.Facts) (Verdict, *Tool) {
	if a == nil {
		return Verdict{}, nil
	}
	n, v, ok := a.narrow(f)
	if !ok {
		return v, nil
	}
	if i, registered := a.reg.index[tool]; registered {
		return a.registered(i, &n), &a.reg.tools[i]
	}
	return a.other(tool, &n), nil
}

// other answers for a name that is not registered: a denied name, a declared
// HTTP tool, a tool of an MCP server, or none of these.
func (a *Agent) other(tool string, n *narrowing) Verdict {
	if p, denied := a.deniedName(tool); denied {
		return p.verdict
	}
	if v, declared := a.http[tool]; declared {
		if n.job != nil && v.Reason.Allows() {
			return n.job.outside
		}
		return v
	}
	if id, name, ok := mcpName(tool); ok {
		return a.mcpTool(id, name, n)
	}
	v := a.unregistered
	v.Detail = tool
	return v
}

// registered walks the chain for a registered tool.
func (a *Agent) registered(i int, n *narrowing) Verdict {
	if !a.base[i].Reason.Allows() {
		return a.base[i]
	}
	if a.narrows {
		switch {
		case n.taskType != nil && n.taskType.strips.has(i):
			return n.taskType.verdict
		case n.stage != nil && n.stage.writers.has(i):
			return n.stage.noWriters
		case n.stage != nil && n.stage.codeReading.has(i):
			return n.stage.noCodeReading
		}
	}
	if (n.facts.HasPlan || n.facts.Planned != nil) && a.reg.planned.has(i) && !slices.Contains(n.facts.Planned, a.reg.tools[i].Name) {
		return narrowed(decision.NotPlanned, decision.LayerPlanned, "planned", decision.Position{})
	}
	if n.job != nil && !n.job.leaves.has(i) {
		return n.job.outside
	}
	if a.readOnly != nil {
		return a.readOnly[i]
	}
	return a.base[i]
}

// narrowed is the verdict of a layer that took a tool away that the agent holds.
func narrowed(r decision.Reason, l decision.Layer, rule string, pos decision.Position) Verdict {
	return Verdict{Reason: r, State: decision.StateNarrowed, Layer: l, Rule: rule, Pos: pos}
}

// mcpTool answers for mcp__id__name, which no deny names.
func (a *Agent) mcpTool(id, name string, n *narrowing) Verdict {
	s := a.servers[id]
	if s == nil {
		return Verdict{Reason: decision.MCPServerUnknown, Layer: decision.LayerMCP, Detail: id}
	}
	v := s.answer(n)
	switch {
	case !v.Reason.Allows():
		return v
	case !validMCPTool(name):
		return Verdict{Reason: decision.UnknownTool, Layer: decision.LayerName, Detail: name}
	case s.patterns != nil && !s.matches(name):
		return Verdict{
			Reason: decision.MCPServerNotPicked, State: decision.StateNotGranted, Layer: decision.LayerMCP,
			Detail: name, Rule: v.Rule, Pos: v.Pos,
		}
	}
	return v
}

// maxToolName bounds the name of a tool, in bytes (MCP 2025-11-25, tools: 1 to
// 128 characters).
const maxToolName = 128

// validMCPTool reports whether a server's tool can have that name. One with
// blanks, control or non-ASCII characters could mean to a server what a deny
// spells without them.
func validMCPTool(name string) bool {
	if name == "" || len(name) > maxToolName {
		return false
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return false
		}
	}
	return true
}

// answer is what a server answers for a run: a job reaches none.
func (s *server) answer(n *narrowing) Verdict {
	if s.verdict.Reason.Allows() && n.job != nil {
		return n.job.noMCP
	}
	return s.verdict
}

// matches reports whether a tool of the server is granted.
func (s *server) matches(tool string) bool {
	for i := range s.patterns {
		if wildcard(s.patterns[i].Name, tool) {
			return true
		}
	}
	return false
}

// DecideServer answers whether the agent reaches an MCP server at all. f must
// not be nil.
func (a *Agent) DecideServer(id string, f *decision.Facts) Verdict {
	if a == nil {
		return Verdict{}
	}
	n, v, ok := a.narrow(f)
	if !ok {
		return v
	}
	s := a.servers[id]
	if s == nil {
		return Verdict{Reason: decision.MCPServerUnknown, Layer: decision.LayerMCP, Detail: id}
	}
	return s.answer(&n)
}

// Tool returns a registered tool, which must not be changed.
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
func (a *Agent) Names() []string {
	if a == nil {
		return nil
	}
	return a.names
}

// Shells lists the registered tools that run commands. It must not be changed.
func (a *Agent) Shells() []string {
	if a == nil {
		return nil
	}
	return a.reg.shells
}

// ServerIDs lists the declared MCP servers in their order. It must not be
// changed.
func (a *Agent) ServerIDs() []string {
	if a == nil {
		return nil
	}
	return a.serverIDs
}
