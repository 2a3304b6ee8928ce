package decision

// Reason is a stable code that says why a decision came out as it did. The
// list is closed: the response, the log line and the metric label all read it.
// The zero value is InternalError, a fault, which always denies.
type Reason uint8

// The reasons, in the order of the contract (section 7). Their codes, classes
// and sentences stand in reasonTable.
const (
	InternalError Reason = iota

	// Allowed, and by what.
	RoleDefault
	GrantedByOperator
	Listed
	Unrestricted
	KeptByStage
	ReadOnlySet
	MCPServerAllAgents
	MCPServerPicked
	MCPDeclared
	InScope
	URLOK
	CommandOK
	TerminalOff

	// Refused by tool policy.
	DeniedByOperator
	OutsideRemit
	NotGranted
	NotListed
	StrippedByTaskType
	StrippedByStageWriters
	StrippedByStageCodeReading
	NotPlanned
	OutsideJob
	JobNoMCP
	ReadOnlyWriteCapable
	ReadOnlyExfiltration
	ReadOnlyNotPreapproved
	MCPServerNotPicked
	MCPServerNotDeclared
	ScopeRepository
	ScopeComponent
	ScopeDataSource
	ArgumentNotAllowed

	// Refused by the terminal guard.
	TerminalDisabled
	CommandNotAllowed
	CommandBlocked
	CommandUnresolvable
	CommandUnparseable
	CommandRedirect
	CommandAssignment

	// Refused by the URL guard.
	URLInvalid
	URLScheme
	URLPort
	URLUserinfo
	HostInvalid
	HostNotAllowed
	HostDenied
	URLLoopback
	URLPrivate
	URLLinkLocal
	URLMetadata
	URLCGNAT
	URLMulticast
	URLReserved
	URLEmbeddedV4
	URLInternal
	URLRedirect
	URLPinMismatch
	URLNameMismatch
	URLSelf
	DNSFailed
	DNSRefused
	ConnectFailed
	ProxyLoop
	ProtocolInvalid

	// Gates at the end of a run.
	Grounded
	CoveredByPassedCase
	UngroundedQA
	UngroundedPMUAT
	CoverageGap

	// Faults: the question could not be answered, so the answer is no.
	UnknownAgent
	UnknownTool
	UnknownStage
	UnknownTaskType
	UnknownJob
	UnknownRun
	UnknownVersion
	MCPServerUnknown
	ProviderUnsupported
	BadRequest
	NoIdentity
	LimitExceeded

	reasonCount
)

// Class groups reasons by what stands behind them. The zero value is
// ClassFault.
type Class uint8

// The classes of reasons.
const (
	ClassFault    Class = iota // the question could not be answered; always a refusal
	ClassAllow                 // allowed
	ClassPolicy                // tool policy refused
	ClassTerminal              // the terminal guard refused
	ClassURL                   // the URL guard refused
	ClassGate                  // a gate at the end of a run
)

// String returns the class as it is written in docs and logs.
func (c Class) String() string {
	switch c {
	case ClassFault:
		return "fault"
	case ClassAllow:
		return "allow"
	case ClassPolicy:
		return "policy"
	case ClassTerminal:
		return "terminal"
	case ClassURL:
		return "url"
	case ClassGate:
		return "gate"
	}
	return "fault"
}

// String returns the code: lower case, words joined by underscores.
func (r Reason) String() string { return r.row().code }

// Class tells what stands behind r.
func (r Reason) Class() Class { return r.row().class }

// Allows reports whether r explains a yes.
func (r Reason) Allows() bool {
	c := r.row()
	return c.class == ClassAllow || c.class == ClassGate && c.pass
}

// Sentence says r in words that a person or a model understands, without any
// text from the request. It ends in a full stop.
func (r Reason) Sentence() string { return r.row().sentence }

// Hint is the operator's next step: what to look at or to change. Empty where
// nothing is to be done.
func (r Reason) Hint() string { return r.row().hint }

// Always reports whether r refuses in report mode too: faults, whatever leaves
// no vetted value to act on, and the addresses that no mode may open
// (contracts, section 2: url_metadata, url_self, url_pin_mismatch; and
// url_loopback, which only the process environment may open).
func (r Reason) Always() bool {
	row := r.row()
	return row.class == ClassFault || row.always
}

// ParseReason returns the reason with that code.
func ParseReason(code string) (Reason, bool) {
	for r := range reasonCount {
		if r.String() == code {
			return r, true
		}
	}
	return InternalError, false
}

// Reasons yields the whole closed list in its order.
func Reasons() []Reason {
	all := make([]Reason, reasonCount)
	for r := range reasonCount {
		all[r] = r
	}
	return all
}

func (r Reason) row() *reasonRow {
	if r >= reasonCount {
		r = InternalError
	}
	return &reasonTable[r]
}

// MarshalText writes the code.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
