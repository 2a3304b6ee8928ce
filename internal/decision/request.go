package decision

// Kind is what a request asks about. The zero value is KindUnknown, which is
// always refused.
type Kind uint8

// The kinds of resources.
const (
	KindUnknown   Kind = iota
	KindTool           // ID is a tool name, or mcp__server__tool
	KindURL            // ID is a URL, or an authority (see Form)
	KindCommand        // ID is a shell script
	KindMCPServer      // ID is the name of an MCP server
)

// String returns the AuthZEN resource type.
func (k Kind) String() string {
	switch k {
	case KindTool:
		return "tool"
	case KindURL:
		return "url"
	case KindCommand:
		return "command"
	case KindMCPServer:
		return "mcp_server"
	case KindUnknown:
	}
	return "unknown"
}

// Guard returns the guard that answers for resources of this kind.
func (k Kind) Guard() Guard {
	switch k {
	case KindURL:
		return GuardURL
	case KindCommand:
		return GuardTerminal
	case KindTool, KindMCPServer, KindUnknown:
	}
	return GuardTool
}

// ParseKind returns the kind with that AuthZEN resource type; false for any
// other text, also for "unknown".
func ParseKind(s string) (Kind, bool) {
	for _, k := range []Kind{KindTool, KindURL, KindCommand, KindMCPServer} {
		if k.String() == s {
			return k, true
		}
	}
	return KindUnknown, false
}

// Form is how the ID of a KindURL resource is written. The zero value is
// FormURL.
type Form uint8

// The forms of a URL resource.
const (
	FormURL       Form = iota // an absolute URL: scheme://host[:port]/…
	FormAuthority             // host:port, the target of a CONNECT (RFC 9110, section 9.3.6)
)

// Resource is what the subject wants to use.
type Resource struct {
	Kind Kind
	ID   string
	Form Form
}

// Facts are the circumstances of a run that narrow a toolset. An empty string
// means the fact was not given. Planned is nil when the caller gave no plan; a
// plan that is present and empty declares no board tool at all.
type Facts struct {
	Run        string
	Stage      string
	TaskType   string
	Job        string
	Repository string
	Planned    []string
	HasPlan    bool
}

// Arguments are the named arguments of a tool call, where the caller has them:
// decoded JSON objects. Guards read only the values they know how to judge.
// A nil map means that the caller gave none.
type Arguments map[string]any

// Request is one question to the decision point.
type Request struct {
	Agent    string   // whose policy applies
	Version  string   // a pinned agent version; empty is the current one
	Action   string   // AuthZEN action name, for the log
	Resource Resource // what is asked for

	// Tool is the tool that dials, for KindURL. Empty: some tool of the agent,
	// which earns only what every tool of it may do.
	Tool string
	// Proven says that Tool is known to be the caller: the question came
	// through the authenticated API, or the connection showed a permit. Only a
	// proven tool earns what belongs to one tool: loopback, rules of its own,
	// and private exceptions.
	Proven bool

	Arguments Arguments
	Hops      []string  // redirect targets that follow Resource.ID, for KindURL
	From      *Endpoint // set when Resource.ID is the target of a redirect sent by From
	Facts     Facts
}
