package decision

// reasonRow is what is known of a reason. It never holds text of a request.
type reasonRow struct {
	code     string
	class    Class
	always   bool // refuses in report mode too
	pass     bool // a gate that passed
	sentence string
	hint     string
}

// reasonTable is the one closed list of reason codes. Order: the constants.
//
//nolint:gochecknoglobals // constant data; Go has no constant arrays
var reasonTable = [reasonCount]reasonRow{
	InternalError: {code: "internal_error", sentence: "toolgate could not answer, so the answer is no.", hint: "See the log line with this id; please report it."},

	RoleDefault:        {code: "role_default", class: ClassAllow, sentence: "The agent's role holds this tool by default."},
	GrantedByOperator:  {code: "granted_by_operator", class: ClassAllow, sentence: "An operator granted this tool inside the role's remit."},
	Listed:             {code: "listed", class: ClassAllow, sentence: "The tool is on the agent's allow-list."},
	Unrestricted:       {code: "unrestricted", class: ClassAllow, sentence: "The agent is unrestricted: every registered tool is available to it."},
	KeptByStage:        {code: "kept_by_stage", class: ClassAllow, sentence: "The stage keeps this tool for agents that hold it."},
	ReadOnlySet:        {code: "read_only_set", class: ClassAllow, sentence: "The tool is in the read-only set."},
	MCPServerAllAgents: {code: "mcp_server_all_agents", class: ClassAllow, sentence: "The MCP server is open to all agents."},
	MCPServerPicked:    {code: "mcp_server_picked", class: ClassAllow, sentence: "The agent's policy picks this MCP server."},
	MCPDeclared:        {code: "mcp_declared", class: ClassAllow, sentence: "The agent declares this MCP server, and the declaration is the grant."},
	InScope:            {code: "in_scope", class: ClassAllow, sentence: "What the call names is in the run's scope."},
	URLOK:              {code: "url_ok", class: ClassAllow, sentence: "The URL, its host and every address it resolves to may be reached."},
	CommandOK:          {code: "command_ok", class: ClassAllow, sentence: "Every command in the script is permitted."},
	TerminalOff:        {code: "terminal_off", class: ClassAllow, sentence: "The sandbox mode is off, so commands are counted and not judged.", hint: "Set tools.terminal.sandbox.mode to allowlist to judge commands."},

	DeniedByOperator:           {code: "denied_by_operator", class: ClassPolicy, sentence: "An operator denied this tool, and a deny always wins.", hint: "Remove it from the agent's deny list if it should be allowed."},
	OutsideRemit:               {code: "outside_remit", class: ClassPolicy, sentence: "The tool is outside the remit of the agent's role, and a grant cannot widen a remit.", hint: "Give the work to an agent whose role may hold the tool."},
	NotGranted:                 {code: "not_granted", class: ClassPolicy, sentence: "The tool is inside the role's remit but nobody granted it.", hint: "Add it to the agent's grant list."},
	NotListed:                  {code: "not_listed", class: ClassPolicy, sentence: "The tool is not on the agent's allow-list.", hint: "Add it to the agent's tools."},
	StrippedByTaskType:         {code: "stripped_by_task_type", class: ClassPolicy, sentence: "This type of task does not change the workspace, so writers are taken away."},
	StrippedByStageWriters:     {code: "stripped_by_stage_writers", class: ClassPolicy, sentence: "This stage judges work and does not change it, so writers are taken away."},
	StrippedByStageCodeReading: {code: "stripped_by_stage_code_reading", class: ClassPolicy, sentence: "This stage judges the running product, so reading the code is taken away."},
	NotPlanned:                 {code: "not_planned", class: ClassPolicy, sentence: "The subtask did not declare this board tool.", hint: "Declare it in the subtask's plan."},
	OutsideJob:                 {code: "outside_job", class: ClassPolicy, sentence: "The tool is not among the fixed tools of this job."},
	JobNoMCP:                   {code: "job_no_mcp", class: ClassPolicy, sentence: "A job reaches no MCP server."},
	ReadOnlyWriteCapable:       {code: "read_only_write_capable", class: ClassPolicy, sentence: "The agent is read-only and this tool can change things."},
	ReadOnlyExfiltration:       {code: "read_only_exfiltration", class: ClassPolicy, sentence: "The agent is read-only and this tool can carry data out."},
	ReadOnlyNotPreapproved:     {code: "read_only_not_preapproved", class: ClassPolicy, sentence: "The agent is read-only and this tool is not in the read-only set."},
	MCPServerNotPicked:         {code: "mcp_server_not_picked", class: ClassPolicy, sentence: "The agent's policy does not include this MCP server or tool.", hint: "List the server under the agent's mcp key."},
	MCPServerNotDeclared:       {code: "mcp_server_not_declared", class: ClassPolicy, sentence: "The agent reaches only the MCP servers it declares, and this is not one.", hint: "Declare the server under the agent's mcp key."},
	ScopeRepository:            {code: "scope_repository", class: ClassPolicy, sentence: "The call names a repository other than the run's own.", hint: "Name the repository that the run is bound to."},
	ScopeComponent:             {code: "scope_component", class: ClassPolicy, sentence: "The call names a component outside the job's repository.", hint: "Name a component of that repository, as in inventory."},
	ScopeDataSource:            {code: "scope_data_source", class: ClassPolicy, sentence: "The call names a data source that the job's components do not use.", hint: "Name a source of these components, as in inventory."},
	ArgumentNotAllowed:         {code: "argument_not_allowed", class: ClassPolicy, sentence: "An argument of the call does not meet the agent's conditions for this tool.", hint: "See the agent's conditions."},

	TerminalDisabled:    {code: "terminal_disabled", class: ClassTerminal, sentence: "The terminal tool is switched off.", hint: "Set tools.terminal.enabled to true to switch it on."},
	CommandNotAllowed:   {code: "command_not_allowed", class: ClassTerminal, sentence: "A command in the script is not on the allow-list.", hint: "Add a rule under tools.terminal.sandbox.allow."},
	CommandBlocked:      {code: "command_blocked", class: ClassTerminal, sentence: "A command in the script is blocked, and a block beats every allow.", hint: "See tools.terminal.sandbox.block."},
	CommandUnresolvable: {code: "command_unresolvable", class: ClassTerminal, sentence: "What the script would run cannot be known before it runs.", hint: "Write the command, its options and its code out literally."},
	CommandUnparseable:  {code: "command_unparseable", class: ClassTerminal, sentence: "The script cannot be read in one certain way, so it is refused.", hint: "Fix the syntax and remove control or invisible characters."},
	CommandRedirect:     {code: "command_redirect", class: ClassTerminal, sentence: "The script redirects to or from a place that is not permitted.", hint: "Write to the workspace or /tmp with a literal path."},
	CommandAssignment:   {code: "command_assignment", class: ClassTerminal, sentence: "The script sets a variable that changes what runs.", hint: "Leave it out, or add a harmless name to env_allow."},

	URLInvalid:      {code: "url_invalid", class: ClassURL, always: true, sentence: "The URL cannot be read in one certain way.", hint: "Write scheme, host and path out plainly."},
	URLScheme:       {code: "url_scheme", class: ClassURL, always: true, sentence: "Only http, https, ws and wss URLs may be dialled."},
	URLPort:         {code: "url_port", class: ClassURL, sentence: "The port is not one of the permitted ports.", hint: "See egress.ports."},
	URLUserinfo:     {code: "url_userinfo", class: ClassURL, always: true, sentence: "The URL carries a user name or password before the host.", hint: "Send credentials in a header."},
	HostInvalid:     {code: "host_invalid", class: ClassURL, always: true, sentence: "The host is not written in the one canonical way.", hint: "Write a plain DNS name, a dotted-decimal IPv4 or a bracketed IPv6 address."},
	HostNotAllowed:  {code: "host_not_allowed", class: ClassURL, sentence: "The host is not among the hosts this tool may reach.", hint: "See egress.rules."},
	HostDenied:      {code: "host_denied", class: ClassURL, sentence: "An egress rule denies this host, and a deny always wins.", hint: "See egress.rules."},
	URLLoopback:     {code: "url_loopback", class: ClassURL, always: true, sentence: "The target is this machine itself (loopback).", hint: "Only browser tools may, and only with ALLOW_LOOPBACK_TOOL_URLS=true in toolgate's environment."},
	URLPrivate:      {code: "url_private", class: ClassURL, sentence: "The target is a private network address.", hint: "One internal host can be opened under egress.allow_private."},
	URLLinkLocal:    {code: "url_link_local", class: ClassURL, sentence: "The target is a link-local address."},
	URLMetadata:     {code: "url_metadata", class: ClassURL, always: true, sentence: "The target is a cloud metadata or platform endpoint."},
	URLCGNAT:        {code: "url_cgnat", class: ClassURL, sentence: "The target is in the shared address space (carrier NAT)."},
	URLMulticast:    {code: "url_multicast", class: ClassURL, sentence: "The target is a multicast address."},
	URLReserved:     {code: "url_reserved", class: ClassURL, sentence: "The target is in a reserved or special-purpose range."},
	URLEmbeddedV4:   {code: "url_embedded_v4", class: ClassURL, always: true, sentence: "The target is an IPv6 form that carries an IPv4 address that may not be reached."},
	URLInternal:     {code: "url_internal", class: ClassURL, sentence: "The name belongs to an internal or special-use domain, so it is not even looked up."},
	URLRedirect:     {code: "url_redirect", class: ClassURL, sentence: "A redirect leads to a target that may not be reached."},
	URLPinMismatch:  {code: "url_pin_mismatch", class: ClassURL, always: true, sentence: "The connection would not go to the address that was vetted."},
	URLNameMismatch: {code: "url_name_mismatch", class: ClassURL, sentence: "The TLS server name is not the name of the tunnel's target."},
	URLSelf:         {code: "url_self", class: ClassURL, always: true, sentence: "The target is one of toolgate's own listeners."},
	DNSFailed:       {code: "dns_failed", class: ClassURL, always: true, sentence: "The name could not be resolved; this is a network fault, not policy.", hint: "Check the name and egress.resolver."},
	DNSRefused:      {code: "dns_refused", class: ClassURL, always: true, sentence: "The DNS question is of a kind that is not answered here."},
	ConnectFailed:   {code: "connect_failed", class: ClassURL, always: true, sentence: "No vetted address accepted the connection; this is a network fault, not policy.", hint: "Check that the target is up and listens on that port."},
	ProxyLoop:       {code: "proxy_loop", class: ClassURL, always: true, sentence: "The request has been through this proxy before."},
	ProtocolInvalid: {code: "protocol_invalid", class: ClassURL, always: true, sentence: "The request is not one that a forward proxy may pass on.", hint: "Send an absolute http:// URL or CONNECT host:port."},

	Grounded:            {code: "grounded", class: ClassGate, pass: true, sentence: "The run exercised the product."},
	CoveredByPassedCase: {code: "covered_by_passed_case", class: ClassGate, pass: true, sentence: "Every approval is backed by a passed test case."},
	UngroundedQA:        {code: "ungrounded_qa", class: ClassGate, sentence: "The QA run never exercised the product."},
	UngroundedPMUAT:     {code: "ungrounded_pm_uat", class: ClassGate, sentence: "The acceptance run never exercised the product and nothing backs its approvals."},
	CoverageGap:         {code: "coverage_gap", class: ClassGate, sentence: "Some approved criteria are backed by no passed test case."},

	UnknownAgent:        {code: "unknown_agent", sentence: "No agent of that name is configured.", hint: "Check the agents section."},
	UnknownTool:         {code: "unknown_tool", sentence: "No tool of that name is registered.", hint: "Tool names are exact and case-sensitive."},
	UnknownStage:        {code: "unknown_stage", sentence: "No stage of that name is known.", hint: "Name a stage of the catalogue, or none."},
	UnknownTaskType:     {code: "unknown_task_type", sentence: "No task type of that name is known.", hint: "Name a task type of the catalogue, or none."},
	UnknownJob:          {code: "unknown_job", sentence: "No job of that name is known.", hint: "Name a job of the catalogue, or none."},
	UnknownRun:          {code: "unknown_run", sentence: "No run of that id is open.", hint: "Leave the run out: runs are not kept yet."},
	UnknownVersion:      {code: "unknown_version", sentence: "No such version of the agent is kept.", hint: "Leave the version out to ask about the current one."},
	MCPServerUnknown:    {code: "mcp_server_unknown", sentence: "No MCP server of that name is declared.", hint: "Check mcp.servers."},
	ProviderUnsupported: {code: "provider_unsupported", sentence: "A read-only agent cannot be bounded on this provider.", hint: "Use a provider whose built-in tools can be bounded."},
	BadRequest:          {code: "bad_request", sentence: "The request is malformed.", hint: "Mend what the detail names."},
	NoIdentity:          {code: "no_identity", sentence: "The request does not say for which agent and tool it speaks.", hint: "Send a permit, or configure egress.anonymous."},
	LimitExceeded:       {code: "limit_exceeded", sentence: "A limit is reached; nothing more is taken on.", hint: "Ask for less at a time, or later."},
}
