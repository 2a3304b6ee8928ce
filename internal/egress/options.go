package egress

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
)

// Defaults of Options.
const (
	defaultHeadTimeout = 10 * time.Second
	defaultIdleTimeout = 5 * time.Minute
	defaultPoolIdle    = 90 * time.Second
	defaultHalfClosed  = 5 * time.Minute
	defaultMaxHead     = 64 << 10
	defaultMaxActive   = 16384
	defaultMaxConns    = 32768
	defaultPoolSize    = 1024
	defaultPoolPerKey  = 128
	// expectTimeout is how long an origin may think about "Expect:
	// 100-continue" before the body is sent all the same (RFC 9110, section
	// 10.1.1: a client does not wait for ever).
	expectTimeout = 2 * time.Second
)

// Identity is who a request speaks for.
type Identity struct {
	Agent string
	Tool  string // empty: some tool of the agent
	// Proven says that Tool is known to be the caller, because a permit was
	// shown (contracts, section 5).
	Proven  bool
	Version string // the agent version that the run pins; empty: the current one
	Run     string
}

// Identifier tells who holds credentials. It must be safe for concurrent use.
type Identifier interface {
	// Identify checks the user name (a tool) and the password (a run token or
	// a permit) of a Proxy-Authorization field. False: they are not good, or
	// no longer.
	Identify(user, password string) (Identity, bool)
	// Anonymous returns who a client without credentials is. False: nobody, so
	// credentials are asked for.
	Anonymous() (Identity, bool)
}

// Dialer connects to vetted addresses and to nothing else. Its errors may have
// the methods DecisionReason() decision.Reason and Timeout() bool; an error
// without the first is connect_failed.
type Dialer interface {
	Dial(ctx context.Context, v decision.Vetted) (net.Conn, error)
}

// Observer counts connections. All label values are from Modes and Results. It
// must be safe for concurrent use.
type Observer interface {
	// EgressConnection is told once for each request and CONNECT how it came
	// out.
	EgressConnection(mode, result string)
	// EgressActive is told when one that was let in begins (1) and ends (-1).
	EgressActive(mode string, delta int)
	// EgressBytes is told the payload of one that ended: bytes from the client
	// to the origin, and back.
	EgressBytes(sent, received int64)
}

// The modes an Observer is told.
const (
	ModeHTTP    = "http"    // an absolute-form request, WebSocket included
	ModeConnect = "connect" // a CONNECT tunnel
)

// The results an Observer is told.
const (
	ResultOK           = "ok"
	ResultDenied       = "denied"        // policy, identity or form
	ResultDNSError     = "dns_error"     // the name could not be resolved
	ResultConnectError = "connect_error" // no vetted address, or no usable answer from it
	ResultTimeout      = "timeout"       // the connection took too long
	ResultLimit        = "limit"         // a limit was reached, or the proxy is draining
)

// Modes yields every mode an Observer is told.
func Modes() []string { return []string{ModeHTTP, ModeConnect} }

// Results yields every result an Observer is told.
func Results() []string {
	return []string{ResultOK, ResultDenied, ResultDNSError, ResultConnectError, ResultTimeout, ResultLimit}
}

// Options configures a Proxy. Decider, Recorder, Identifier and Dialer are
// needed; for the rest, the zero value is the default.
type Options struct {
	// Decider answers for each target. It records its own decisions (see
	// decision.Recorded).
	Decider decision.Decider
	// Recorder is told of the refusals that are the proxy's own: malformed
	// requests, missing identity, loops, limits, and connections that failed
	// after an allow.
	Recorder decision.Recorder
	// Ends is told when a tunnel (CONNECT, WebSocket) ends, with the peer, the
	// bytes and the whole duration; the decision is the one it was opened by.
	// It is apart from Recorder so that nothing is counted twice. Nil: nobody.
	Ends       decision.Recorder
	Identifier Identifier
	Dialer     Dialer
	Observer   Observer         // nil: nobody counts
	Logger     *slog.Logger     // nil: nothing is logged
	Now        func() time.Time // for events and deadlines; nil: time.Now
	// Name is this process in the Via field: letters, digits and hyphens.
	// Empty: random. A request that comes back with it is a loop.
	Name string

	HeadTimeout time.Duration // for a request head to arrive; zero: 10 s
	IdleTimeout time.Duration // for a client connection between requests; zero: 5 min
	PoolIdle    time.Duration // for a pooled connection to an origin; zero: 90 s
	HalfClosed  time.Duration // for silence in a tunnel of which one side has ended; zero: 5 min
	MaxHead     int           // size of a request head in bytes; zero: 64 KiB
	MaxActive   int           // requests and tunnels at a time; zero: 16384
	MaxConns    int           // client connections at a time, idle ones too; zero: 32768
	PoolSize    int           // idle connections to origins, in all; zero: 1024
	PoolPerKey  int           // of those, for one identity and endpoint; zero: 128
}

// withDefaults checks o and fills in what was left out.
func (o Options) withDefaults() (Options, error) {
	switch {
	case o.Decider == nil:
		return o, errors.New("egress: no decider")
	case o.Recorder == nil:
		return o, errors.New("egress: no recorder")
	case o.Identifier == nil:
		return o, errors.New("egress: no identifier")
	case o.Dialer == nil:
		return o, errors.New("egress: no dialer")
	case o.HeadTimeout < 0 || o.IdleTimeout < 0 || o.PoolIdle < 0 || o.HalfClosed < 0:
		return o, errors.New("egress: times cannot be negative")
	case o.MaxHead < 0 || o.MaxActive < 0 || o.MaxConns < 0 || o.PoolSize < 0 || o.PoolPerKey < 0:
		return o, errors.New("egress: limits cannot be negative")
	case !isName(o.Name):
		return o, errors.New("egress: the name for Via may hold letters, digits and hyphens only")
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now //nolint:forbidigo // the default of an option
	}
	o.HeadTimeout = cmp.Or(o.HeadTimeout, defaultHeadTimeout)
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	o.PoolIdle = cmp.Or(o.PoolIdle, defaultPoolIdle)
	o.HalfClosed = cmp.Or(o.HalfClosed, defaultHalfClosed)
	o.MaxHead = cmp.Or(o.MaxHead, defaultMaxHead)
	o.MaxActive = cmp.Or(o.MaxActive, defaultMaxActive)
	o.MaxConns = cmp.Or(o.MaxConns, defaultMaxConns)
	o.PoolSize = cmp.Or(o.PoolSize, defaultPoolSize)
	o.PoolPerKey = cmp.Or(o.PoolPerKey, defaultPoolPerKey)
	return o, nil
}

// isName reports whether s may stand in a Via pseudonym; the empty name may.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '-' {
			return false
		}
	}
	return true
}

// nobody is the Observer where none was given.
type nobody struct{}

// EgressConnection implements Observer.
func (nobody) EgressConnection(string, string) {}

// EgressActive implements Observer.
func (nobody) EgressActive(string, int) {}

// EgressBytes implements Observer.
func (nobody) EgressBytes(int64, int64) {}
