package decision

import (
	"net/netip"
	"strconv"
)

// Effect is the outcome. The zero value is Deny.
type Effect uint8

// The effects.
const (
	Deny Effect = iota
	Allow
)

// String returns "deny" or "allow", as in logs and metric labels.
func (e Effect) String() string {
	if e == Allow {
		return "allow"
	}
	return "deny"
}

// Mode says whether refusals are enforced. The zero value enforces.
type Mode uint8

// The enforcement modes.
const (
	Enforce Mode = iota
	Report       // policy and guard refusals are recorded as would_deny and let through
)

// String returns the mode as it is written in a configuration.
func (m Mode) String() string {
	if m == Report {
		return "report"
	}
	return "enforce"
}

// Guard is the part of toolgate that gave a decision. The zero value is
// GuardTool.
type Guard uint8

// The guards.
const (
	GuardTool     Guard = iota // tool allow-lists
	GuardTerminal              // run_terminal
	GuardURL                   // the outbound URL guard
)

// String returns the guard as in log field and metric label.
func (g Guard) String() string {
	switch g {
	case GuardTool:
		return "tool"
	case GuardTerminal:
		return "terminal"
	case GuardURL:
		return "url"
	}
	return "tool"
}

// Guards yields all guards.
func Guards() []Guard { return []Guard{GuardTool, GuardTerminal, GuardURL} }

// State is where a tool stands for an agent. The zero value is StateNone, for
// decisions that are not about a tool's place in a toolset.
type State uint8

// The states of a tool (seed 000; contracts, section 4).
const (
	StateNone        State = iota
	StateGranted           // in the toolset
	StateDenied            // denied by an operator
	StateUnavailable       // granted but outside the remit
	StateNotGranted        // never granted
	StateNarrowed          // held, and taken away for this run
)

// String returns the state's name; empty for StateNone.
func (s State) String() string {
	switch s {
	case StateNone:
		return ""
	case StateGranted:
		return "granted"
	case StateDenied:
		return "denied"
	case StateUnavailable:
		return "unavailable"
	case StateNotGranted:
		return "not_granted"
	case StateNarrowed:
		return "narrowed"
	}
	return ""
}

// Layer is the link of the chain that decided, in the order of resolution
// (contracts, section 1). The zero value is LayerRequest: the question itself
// could not be used.
type Layer uint8

// The layers, in the order in which they are asked.
const (
	LayerRequest   Layer = iota
	LayerVersion         // the pinned agent version
	LayerName            // canonical tool name
	LayerRemit           // the role's outer bound
	LayerBase            // role defaults or allow-list
	LayerGrant           // grants inside the bound
	LayerDeny            // operator denies
	LayerTaskType        // the task type's narrowing
	LayerStage           // the stage's narrowing
	LayerPlanned         // a subtask's declared board tools
	LayerJob             // a job's fixed tools
	LayerReadOnly        // read-only and provider rules
	LayerMCP             // MCP server grants
	LayerScope           // repository, component and data-source scope
	LayerCondition       // argument conditions
	LayerTerminal        // the terminal guard
	LayerURL             // the URL guard
)

// String returns the layer's name.
func (l Layer) String() string {
	names := [...]string{
		"request", "version", "name", "remit", "base", "grant", "deny", "task_type", "stage",
		"planned", "job", "read_only", "mcp", "scope", "condition", "terminal", "url",
	}
	if int(l) < len(names) {
		return names[l]
	}
	return names[LayerRequest]
}

// Position is where a rule stands in a configuration. The zero value means
// that no rule decided.
type Position struct {
	File      string
	Line, Col int
}

// IsZero reports whether p names no place.
func (p Position) IsZero() bool { return p == Position{} }

// String returns file:line:column, or "" for the zero value.
func (p Position) String() string {
	if p.IsZero() {
		return ""
	}
	return p.File + ":" + strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Col)
}

// Endpoint is a target in its one canonical spelling. Only package urlguard
// makes one from text.
type Endpoint struct {
	Scheme string     // http, https, ws, wss; empty for a CONNECT authority
	Host   string     // lower-case A-labels without a final dot, or an address without brackets
	Addr   netip.Addr // valid when the host is an address literal
	Port   uint16
}

// Authority returns host:port, with brackets around IPv6.
func (e Endpoint) Authority() string {
	port := strconv.Itoa(int(e.Port))
	if e.Addr.Is6() {
		return "[" + e.Host + "]:" + port
	}
	return e.Host + ":" + port
}

// Vetted is what a PEP may dial: the endpoint, and every address that was
// judged for it. The zero value has no address and cannot be dialled.
type Vetted struct {
	Endpoint Endpoint
	Addrs    []netip.Addr // never modified after the decision; shared with the pin table
}

// Decision is an answer. The zero value denies with internal_error.
type Decision struct {
	ID       string // set by the Recorder: the id of the log line
	Effect   Effect
	Reason   Reason
	Guard    Guard
	State    State
	Layer    Layer
	Mode     Mode
	Would    bool // report mode: Effect is Allow although Reason refuses
	Hop      int  // index of the redirect that was refused; 0 is the resource itself
	Rule     string
	Position Position
	// Detail names the offending token, for an operator. It may be text of the
	// request, so it is never shown unescaped.
	Detail       string
	AgentVersion string
	Revision     string
	Vetted       Vetted // for an allowed KindURL: what to dial
	Permit       string // for an allowed network tool: proves the tool to the egress proxy
	Timeout      bool   // for a fault of the network: nobody answered in time
}

// Allowed reports whether the PEP may go on.
func (d *Decision) Allowed() bool { return d.Effect == Allow }

// Refuse returns a refusal for r. It is what a PEP uses for faults of its own.
func Refuse(r Reason, g Guard, detail string) Decision {
	return Decision{Reason: r, Guard: g, Detail: detail}
}
