package pin

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/toolgate/toolgate/internal/decision"
)

// Kind says what went wrong in a look-up. It is one of a closed list and may
// be a metric label.
type Kind string

// The kinds of DNS failures.
const (
	KindNXDomain  Kind = "nxdomain"  // no such name (RCODE 3)
	KindNoData    Kind = "nodata"    // the name exists and has no address
	KindServFail  Kind = "servfail"  // RCODE 2, or another that says that the server cannot answer
	KindRefused   Kind = "refused"   // RCODE 5: the server does not want to answer
	KindTimeout   Kind = "timeout"   // no server answered in time
	KindNetwork   Kind = "network"   // no server could be reached
	KindMalformed Kind = "malformed" // the answer cannot be read in one certain way
	KindLoop      Kind = "loop"      // aliases in a circle, or more than eight of them
	KindName      Kind = "name"      // not a DNS name, or one that Options.Names refuses; not asked
	KindCanceled  Kind = "canceled"  // the caller went away
)

// resultOK is the result of a question that was answered, also with NODATA.
const resultOK = "ok"

// Results yields every value of the label result that an Observer is told.
func Results() []string {
	out := []string{resultOK}
	for _, k := range kindsByWeight() {
		out = append(out, string(k))
	}
	return out
}

// kindsByWeight lists the kinds, the one that explains a failed look-up best
// first: as long as one half of the question is open, nobody can say that a
// name does not exist.
func kindsByWeight() []Kind {
	return []Kind{
		KindName, KindLoop, KindMalformed, KindCanceled, KindServFail, KindRefused,
		KindTimeout, KindNetwork, KindNXDomain, KindNoData,
	}
}

// DNSError says why a name has no addresses. It is a fault of the network and
// not policy, unless Options.Names refused a name.
type DNSError struct {
	Host   string
	Kind   Kind
	Reason decision.Reason // dns_failed, or the reason of Options.Names
	Chain  []string        // the aliases seen on the way, which a judge may want to see
	Err    error           // what lies under it; may be nil
}

// Error implements error.
func (e *DNSError) Error() string {
	s := "pin: resolve " + strconv.QuoteToASCII(e.Host) + ": " + string(e.Kind)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns what lies under e.
func (e *DNSError) Unwrap() error { return e.Err }

// DecisionReason returns the reason of a refusal that e leads to.
func (e *DNSError) DecisionReason() decision.Reason { return e.Reason }

// Timeout reports whether asking again later may help, for 504 instead of 502.
func (e *DNSError) Timeout() bool { return e.Kind == KindTimeout }

// fail returns a DNSError; Lookup fills in the host.
func fail(kind Kind, format string, args ...any) *DNSError {
	return &DNSError{Kind: kind, Reason: decision.DNSFailed, Err: fmt.Errorf(format, args...)}
}

// ErrPinMismatch is what errors.Is finds in the error of a dial that would
// leave, or left, the vetted set.
var ErrPinMismatch = errors.New("not a vetted address")

// VetError says that a dial was stopped: its address, or the peer it reached,
// was not in the vetted set, or is one that may never be dialled.
type VetError struct {
	Addr   netip.AddrPort  // invalid where nothing was vetted at all
	Reason decision.Reason // url_pin_mismatch, url_self, or the reason of DialerOptions.Check
	Err    error
}

// Error implements error.
func (e *VetError) Error() string {
	if !e.Addr.IsValid() {
		return "pin: dial: " + e.Err.Error()
	}
	return fmt.Sprintf("pin: dial %s: %v", e.Addr, e.Err)
}

// Unwrap returns what lies under e.
func (e *VetError) Unwrap() error { return e.Err }

// DecisionReason returns the reason of a refusal that e leads to.
func (e *VetError) DecisionReason() decision.Reason { return e.Reason }

// ConnectError says that no vetted address accepted the connection.
type ConnectError struct {
	Endpoint decision.Endpoint
	Tried    int // how many addresses were tried
	Err      error
}

// Error implements error. It names addresses, so it is for the log and not for
// the client.
func (e *ConnectError) Error() string {
	return fmt.Sprintf("pin: connect %q: %d addresses tried: %v", e.Endpoint.Authority(), e.Tried, e.Err)
}

// Unwrap returns what lies under e.
func (e *ConnectError) Unwrap() error { return e.Err }

// DecisionReason returns connect_failed.
func (e *ConnectError) DecisionReason() decision.Reason { return decision.ConnectFailed }

// Timeout reports whether the last word was a time-out, for 504 instead of 502.
func (e *ConnectError) Timeout() bool {
	var t interface{ Timeout() bool }
	return errors.As(e.Err, &t) && t.Timeout()
}

// ReasonOf returns the reason of a refusal that err leads to; internal_error
// for an error that carries none.
func ReasonOf(err error) decision.Reason {
	var r interface{ DecisionReason() decision.Reason }
	if errors.As(err, &r) {
		return r.DecisionReason()
	}
	return decision.InternalError
}
