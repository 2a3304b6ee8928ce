package config

import (
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// Agent is the policy of one agent (contracts, section 1). It needs a base:
// role, tools or catalogue. An agent that is bounded in another way (read_only,
// or a provider without built-in tools) may go without one.
type Agent struct {
	Name string
	Pos  decision.Position
	// Parked says that the entry has keys of its own beside catalogue, so it no
	// longer follows the catalogue.
	Parked bool

	// The registry that its tools come from.
	Registry allowlist.Named `key:"registry" default:"std"`
	// Its role: an outer bound (the remit) and default tools.
	Role allowlist.Named `key:"role"`
	// An agent of the built-in catalogue to start from. An entry that says
	// nothing else follows the catalogue.
	Catalogue allowlist.Named `key:"catalogue"`
	// Allow-list: tool names and @groups. An empty list is unrestricted: every
	// tool of the registry.
	Tools Names `key:"tools"`
	// Tools added to the role's defaults, as far as the remit reaches.
	Grant Names `key:"grant"`
	// Tools taken away: names, @groups, and MCP names with * as a wildcard. A deny
	// wins over everything.
	Deny Names `key:"deny"`
	// MCP servers: a list of names, or a mapping from a name to the tools (with
	// * as a wildcard) that may be called. Listing any makes the list exact;
	// without one, the agent has the servers whose agents is all.
	MCP ServerGrants `key:"mcp"`
	// Only the servers listed in mcp, even if none is.
	StrictMCP bool `key:"strict_mcp" default:"false"`
	// Names of HTTP tools that the agent's runtime declares.
	HTTPTools Names `key:"http_tools"`
	// What arguments of its calls must look like.
	Conditions []Condition `key:"conditions"`
	// Which program runs the agent; it decides what read_only bounds.
	Provider Provider `key:"provider"`
	// Bounds the runtime's built-in tools to the read-only set.
	ReadOnly bool `key:"read_only" default:"false"`
	// The runtime's own pre-approved tools. With read_only they narrow the
	// read-only set; else they bound nothing.
	AllowedTools Names `key:"allowed_tools"`
	// The runtime's own denied tools. They are denied here too.
	DisallowedTools Names `key:"disallowed_tools"`
	// Providers to fall back on. Not built yet: the key is refused.
	Fallback []Provider `key:"fallback" later:"fallback providers are not built yet"`
	// The agent's model: part of its version.
	Model string `key:"model"`
	// The agent's prompt: part of its version.
	Prompt string `key:"prompt"`
	// The agent's own mode, in place of the document's.
	Mode *decision.Mode `key:"mode"`
	// What stage and task type do to an agent with an empty tools list: none
	// leaves it untouched, subtract takes their tools away.
	NarrowUnrestricted Narrowing `key:"narrow_unrestricted" default:"none"`
}

// ServerGrants are the MCP servers of an agent. Set tells an empty list from
// none.
type ServerGrants struct {
	Set   bool
	Pos   decision.Position
	Items []ServerGrant
}

// ServerGrant is one MCP server of an agent. Without a list of tools, every
// tool of the server is granted.
type ServerGrant struct {
	Server allowlist.Named
	Tools  Names // names, with * as a wildcard
}

// Condition is what one argument of a tool's calls must look like. Exactly one
// of the tests is written. A call without the argument does not meet it.
type Condition struct {
	Pos decision.Position

	// The tool whose calls are tested.
	Tool allowlist.Named `key:"tool,required"`
	// The argument that is tested.
	Arg string `key:"arg,required"`
	// It is this text.
	Exact *string `key:"exact"`
	// It is one of these.
	OneOf Names `key:"one_of"`
	// It begins with this text.
	Prefix *string `key:"prefix"`
	// It matches this pattern, in which * stands for any text without a slash,
	// ** for any text, ? for one character.
	Glob *string `key:"glob"`
	// It is a path that, cleaned, lies in this folder.
	Under *string `key:"under"`
	// It is a URL or host of one of these patterns.
	HostIn []urlguard.Pattern `key:"host_in"`
}

// Provider is a program that runs agents. The zero value is none in particular.
type Provider uint8

// The providers.
const (
	ProviderNone Provider = iota
	ProviderClaudeCLI
	ProviderClaudeTmux
	ProviderCodexCLI
	ProviderOpenAI
	ProviderAnthropic
)

// Narrowing says what stage and task type do to an unrestricted agent.
type Narrowing uint8

// The ways.
const (
	NarrowNone Narrowing = iota
	NarrowSubtract
)

// MCP lists the MCP servers. Until the gateway is built, they are declarations
// that tool policy reads.
type MCP struct {
	// The servers by name.
	Servers []Server `key:"servers"`
}

// Server is one MCP server: url or command.
type Server struct {
	Name string
	Pos  decision.Position

	// Address of a server that is reached over HTTP.
	URL string `key:"url"`
	// Program and arguments of a server that is started.
	Command []string `key:"command"`
	// Environment of the program.
	Env []Variable `key:"env"`
	// Which agents have it: all of them, or those that list it.
	Agents Scope `key:"agents" default:"listed"`
}

// Variable is an environment variable.
type Variable struct {
	Name, Value string
	Pos         decision.Position
}

// Scope says which agents have a server. The zero value is ScopeListed.
type Scope uint8

// The scopes.
const (
	ScopeListed Scope = iota
	ScopeAll
)

// decoded notes which keys the entry has.
func (a *Agent) decoded(seen map[string]bool) { a.Parked = seen["catalogue"] && len(seen) > 1 }
