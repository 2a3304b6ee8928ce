package config

import (
	"net/netip"
	"time"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
)

// The comments of the types and fields below are published: the JSON Schema
// and docs/config.md are made from them and from the tags. A tag key names the
// key of a field in the document; a field without one is filled by Load.

// Document is a whole policy document (contracts, section 2), with defaults
// filled in. Agents, servers and rules keep the order of the file.
type Document struct {
	// File is the name that problems and positions carry.
	File string

	// Version of the format. There is one: 1.
	Version int `key:"version,required"`
	// Where toolgate listens.
	Listen Listen `key:"listen"`
	// Folder of what outlives a restart: the API token, agent versions, runs,
	// the decision log.
	State string `key:"state" default:"./toolgate-state"`
	// The decision API.
	API API `key:"api"`
	// What happens to a call that a policy or a guard refuses: enforce refuses
	// it; report records it (would_deny) and lets it through. Faults, cloud
	// metadata, toolgate's own listeners and a changed address are refused all
	// the same.
	Mode decision.Mode `key:"mode" default:"enforce"`
	// How long connections under way may go on after SIGTERM. New ones are
	// refused at once.
	DrainTimeout time.Duration `key:"drain_timeout" default:"10s" min:"0s" max:"10m"`
	// The guards under single tools.
	Tools Tools `key:"tools"`
	// The agents, by name: whose calls are judged, and by what policy.
	Agents []Agent `key:"agents"`
	// Repositories, their components and data sources: what jobs and runs that
	// are bound to a repository may name.
	Inventory Inventory `key:"inventory"`
	// The MCP servers that agents may be granted.
	MCP MCP `key:"mcp"`
	// The egress proxy and the outbound URL guard.
	Egress Egress `key:"egress"`
	// The decision log.
	Log Log `key:"log"`
}

// Agent returns the agent with that name.
func (d *Document) Agent(name string) (*Agent, bool) {
	for i := range d.Agents {
		if d.Agents[i].Name == name {
			return &d.Agents[i], true
		}
	}
	return nil, false
}

// Listen says where toolgate listens. Port 0 takes any free port.
type Listen struct {
	// Decisions: host:port, or unix:/path for a socket that only the owner may
	// use.
	API Address `key:"api" default:"127.0.0.1:8180"`
	// HTTP forward proxy and CONNECT: host:port.
	Proxy Address `key:"proxy" default:"127.0.0.1:8181"`
	// The MCP gateway. Not built yet: the key is refused.
	MCP Address `key:"mcp" later:"the MCP gateway is not built yet"`
	// Metrics and health (/metrics, /healthz, /readyz): host:port.
	Metrics Address `key:"metrics" default:"127.0.0.1:8183"`
}

// Address is a place to listen: host:port, or unix:/path.
type Address struct {
	Text string
	Pos  decision.Position // zero for a default
}

// String returns the address as it is written.
func (a Address) String() string { return a.Text }

// AddrPort returns the address to bind; false for a Unix socket. localhost is
// 127.0.0.1: what a hosts file calls it was not checked.
func (a Address) AddrPort() (netip.AddrPort, bool) {
	p, why := parseListen(a.Text)
	return p, why == ""
}

// API configures the decision API.
type API struct {
	// File that holds the API token. Without it, one is made at the first start
	// in the state folder, with mode 0600.
	TokenFile string `key:"token_file"`
}

// Tools configures the guards under single tools.
type Tools struct {
	// The guard under every tool that runs shell commands.
	Terminal Terminal `key:"terminal"`
}

// Terminal configures the terminal guard (contracts, section 3).
type Terminal struct {
	// Whether any command may run at all.
	Enabled bool `key:"enabled" default:"false"`
	// Which commands may run.
	Sandbox Sandbox `key:"sandbox"`
}

// Sandbox says which commands may run.
type Sandbox struct {
	// allowlist: only what allow names. blocklist: all but what block names.
	// off: everything, counted.
	Mode terminal.Mode `key:"mode" default:"allowlist"`
	// Rules for what may run, read in mode allowlist. An empty list allows
	// nothing.
	Allow []CommandRule `key:"allow"`
	// Rules for what may not run. block wins over allow, whatever the order.
	Block []CommandRule `key:"block"`
	// Files that a command may redirect its output to: none; workspace (literal
	// paths in the workspace, and /tmp); any.
	Redirects terminal.Redirects `key:"redirects" default:"none"`
	// Variables that a command may set, by name or NAME*.
	EnvAllow []string `key:"env_allow" default:"[LANG, LC_*, TZ, TERM, COLUMNS, LINES, NO_COLOR, FORCE_COLOR, CI]"`
	// Kernel confinement without which no command runs. Only none is built yet.
	Require Require `key:"require" default:"none"`
	// What becomes of code that reaches an interpreter as data: refuse it. Only
	// refuse is built yet.
	DataEval DataEval `key:"data_eval" default:"refuse"`
}

// CommandRule is one rule for commands. In a document it is the rule itself
// ("git status|log|diff"), or a mapping with these keys.
type CommandRule struct {
	Pos decision.Position

	// The rule: words split on blanks. A word is a literal, a|b for
	// alternatives, or * for any one word; a final $ lets nothing follow.
	Cmd terminal.Rule `key:"cmd,required"`
	// Why the rule is there. A refusal shows it.
	Why string `key:"why"`
	// What a command of this rule may execute itself, for the kernel gate. It
	// is kept and not enforced until that is built.
	Children []string `key:"children"`
	// Commands that the rule must match, checked when the document loads.
	Match []string `key:"match"`
	// Commands that the rule must not match, checked when the document loads.
	NotMatch []string `key:"not_match"`
}

// Require names the kernel confinement that commands need.
type Require uint8

// The confinements.
const (
	RequireNone Require = iota
	RequireLandlock
	RequireLandlockNoexec
)

// DataEval says what becomes of code that reaches an interpreter as data.
type DataEval uint8

// What becomes of it.
const (
	DataRefuse DataEval = iota
	DataGated
)

// Inventory lists what tools may name.
type Inventory struct {
	// Repositories by name.
	Repositories []Repository `key:"repositories"`
	// Data sources by name, each with the components that use it. A source that
	// no component uses is open to every job.
	Sources []Source `key:"sources"`
}

// Repository is a repository of the inventory.
type Repository struct {
	Name string
	Pos  decision.Position

	// Its components.
	Components Names `key:"components"`
}

// Source is a data source of the inventory.
type Source struct {
	Name       string
	Pos        decision.Position
	Components Names // the components that use it
}

// Log configures the decision log, which goes to standard output.
type Log struct {
	// Least level that is written.
	Level Level `key:"level" default:"info"`
	// One line of JSON a decision.
	Format LogFormat `key:"format" default:"json"`
	// What happens when the log cannot take a decision: deny refuses the call;
	// drop lets it go on and counts it.
	OnFull OnFull `key:"on_full" default:"deny"`
}

// Level is a log level.
type Level uint8

// The levels.
const (
	LevelDebug Level = iota
	LevelInfo
	LevelWarn
	LevelError
)

// LogFormat is how log lines are written.
type LogFormat uint8

// The formats.
const (
	LogJSON LogFormat = iota
)

// OnFull is what happens when the log cannot take a decision.
type OnFull uint8

// What happens.
const (
	FullDeny OnFull = iota
	FullDrop
)

// Names is a list of words. Set tells a list that was written, even an empty
// one, from one that was not.
type Names struct {
	Set   bool
	Pos   decision.Position
	Items []allowlist.Named
}

// Strings returns the words without their places, nil for a list that was not
// written.
func (n Names) Strings() []string {
	if !n.Set {
		return nil
	}
	out := make([]string, len(n.Items))
	for i, item := range n.Items {
		out[i] = item.Name
	}
	return out
}
