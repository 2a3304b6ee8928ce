package allowlist

import "github.com/toolgate/toolgate/internal/decision"

// Named is a name and where it is written.
type Named struct {
	Name string
	Pos  decision.Position
}

// Problem is what is wrong with a catalogue or an agent, and what to write.
type Problem struct {
	Pos     decision.Position
	Message string
	Fix     string
}

// Tool is one registered tool.
type Tool struct {
	Name    string
	Groups  []string
	Aliases map[string]string // runtime -> the tool's name there
	// Which arguments are URLs, which one is a shell command, and which ones
	// name a repository, a component or a data source. Empty: none.
	URLArgs                                []string
	CommandArg                             string
	RepositoryArg, ComponentArg, SourceArg string

	// Browser and Network are set by NewCatalogue from the groups.
	Browser, Network bool
}

// RegistryData is an ordered list of tools.
type RegistryData struct {
	Name  string
	Pos   decision.Position
	Tools []Tool
}

// RoleData is a role: the remit bounds every grant, the defaults are what an
// agent holds without any (seed 000). Entries are tool names, @groups or "*".
type RoleData struct {
	Name            string
	Pos             decision.Position
	Remit, Defaults []Named
}

// SeededData is an agent of the catalogue (seed 001).
type SeededData struct {
	Name     string
	Pos      decision.Position
	Registry string
	Tools    []Named
}

// StageData is a board column. Entries are tool names or @groups.
type StageData struct {
	Name          string
	Pos           decision.Position
	StripWriters  bool
	Keep          []Named // of CatalogueData.StageStrips, exempt; never granted by it
	NoCodeReading []Named
	Gate          string // for the end of a run; not judged here
}

// TaskTypeData is a type of task.
type TaskTypeData struct {
	Name              string
	Pos               decision.Position
	NoWorkspaceWrites bool
}

// JobData is a job with its fixed tools.
type JobData struct {
	Name  string
	Pos   decision.Position
	Tools []Named
}

// CatalogueData is the built-in catalogue as it is written: all tool names of
// the product are in it.
type CatalogueData struct {
	Registries []RegistryData
	Roles      []RoleData
	Agents     []SeededData
	Stages     []StageData
	TaskTypes  []TaskTypeData
	Jobs       []JobData

	JobAlways   []Named // always-on readers of every job
	Writers     []Named // workspace writers: stripped by task type and stage
	StageStrips []Named // what a judging stage strips beside the writers
	Planned     []Named // board tools that a subtask must declare

	ReadOnly     []Named // the pre-approved set of read_only
	Exfiltration []Named // out under read_only because they carry data out
	WriteCapable []Named // out under read_only because they change things

	BrowserGroups []string // tools in them may earn loopback
	NetworkGroups []string // tools in them dial model-chosen targets
}

// Server is an MCP server that is declared in the document.
type Server struct {
	ID  string
	All bool // open to all agents, unless one lists servers
}

// ServerGrant is one MCP server of an agent. Nil Tools: every tool of it.
// Patterns have * as a wildcard.
type ServerGrant struct {
	Server Named
	Tools  []Named
}

// Provider is how an agent's runtime can be bounded.
type Provider uint8

// The kinds of providers (seed 002).
const (
	ProviderBuiltIns  Provider = iota // has built-in tools that read-only bounds
	ProviderDeclared                  // no built-ins: the declared tools are the grant
	ProviderUnbounded                 // read-only cannot bound it: refused
)

// AgentSpec is what is configured for one agent.
type AgentSpec struct {
	Name     string
	Pos      decision.Position
	Registry Named

	Role     Named   // with grants; or:
	Tools    []Named // an allow-list
	HasTools bool    // Tools is written; written and empty is unrestricted

	Grants, Denies []Named

	ReadOnly           bool
	Provider           Provider
	ProviderName       string
	Allowed            []Named // pre-approved by the runtime; narrows under ReadOnly
	HasAllowed         bool
	Disallowed         []Named // denies, as the runtime spells them
	HTTPTools          []Named
	MCP                []ServerGrant
	HasMCP             bool // MCP is written, even empty
	StrictMCP          bool
	Conditions         []Condition
	NarrowUnrestricted bool // stage and task type narrow an unrestricted agent too
}

// Test is what an argument must be. Text that climbs out of what it begins with
// (a segment .., however it is spelled) meets neither TestPrefix nor TestGlob.
type Test uint8

// The tests. The zero value is met by nothing.
const (
	TestNone Test = iota
	TestExact
	TestOneOf
	TestPrefix
	TestGlob  // * without a slash, ** with, ? one character
	TestUnder // a path that, cleaned, lies in the folder
	TestHost  // decided by Host
)

// Condition is what one argument of a tool's calls must look like.
type Condition struct {
	Tool Named
	Arg  string
	Test Test
	Want []string          // one value; several for TestOneOf
	Host func(string) bool // for TestHost: whether a URL or host is one of the configured
	Text string            // the condition as it is shown
	Pos  decision.Position
}

// Inventory is what jobs and repository-bound runs are scoped by.
type Inventory struct {
	Repositories map[string][]string // repository -> components
	Sources      map[string][]string // data source -> components that use it
}
