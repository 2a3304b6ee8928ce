package policy

import (
	"context"
	"net/netip"
	"sync/atomic"

	"github.com/toolgate/toolgate/internal/decision"
)

// Answer is what a name resolved to: every address, and every alias on the way.
type Answer struct {
	Addrs []netip.Addr
	Chain []string
}

// Resolver resolves a canonical host name. A failure carries its reason
// (dns_failed, or that of a refused alias) in a method DecisionReason of the
// error, like the errors of package pin.
type Resolver interface {
	Lookup(ctx context.Context, host string) (Answer, error)
}

// PDP answers questions from the current snapshot. The zero value has none and
// refuses everything with internal_error. It is safe for concurrent use.
type PDP struct {
	current atomic.Pointer[Snapshot]
}

// Swap makes s the current snapshot. Questions under way finish on the one they
// began with.
func (p *PDP) Swap(s *Snapshot) { p.current.Store(s) }

// Current returns the snapshot in force, nil before the first Swap.
func (p *PDP) Current() *Snapshot { return p.current.Load() }

// Decide implements decision.Decider.
func (p *PDP) Decide(ctx context.Context, req *decision.Request) decision.Decision {
	return p.current.Load().Decide(ctx, req)
}
