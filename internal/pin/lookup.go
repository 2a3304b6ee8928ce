package pin

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/miekg/dns"
)

const (
	// maxAddrs is how many addresses an answer may have. All of them are kept,
	// IPv4 first, so that all are judged; an answer with more is refused.
	maxAddrs = 512
	// maxWait is how long the second address family is waited for once the
	// first has answered.
	maxWait = 500 * time.Millisecond
	// halfTTL bounds how long half an answer is kept.
	halfTTL = 30 * time.Second
)

// errLate ends the wait for the second family.
var errLate = errors.New("the other address family answered long before")

// errBusy refuses a look-up that found no free slot.
var errBusy = errors.New("too many look-ups are open")

// half is the outcome for one address family.
type half struct {
	reply
	qtype uint16
	err   *DNSError
}

// found reports whether the family has addresses.
func (h half) found() bool { return h.err == nil && len(h.addrs) > 0 }

// empty reports whether a server said that the family has none.
func (h half) empty() bool {
	return h.err == nil && len(h.addrs) == 0 || h.err != nil && h.err.Kind == KindNXDomain
}

// missing reports whether the family was not answered by no fault of the
// answer's: the kind of failure that the other half may stand in for.
func (h half) missing() bool {
	if h.err == nil {
		return false
	}
	switch h.err.Kind {
	case KindServFail, KindRefused, KindTimeout, KindNetwork:
		return true
	case KindNXDomain, KindNoData, KindMalformed, KindLoop, KindName, KindCanceled:
	}
	return false
}

// resolve asks for both families of name and pins the answer.
func (r *Resolver) resolve(ctx context.Context, name string) (Answer, error) {
	ctx, stop := context.WithTimeout(ctx, r.timeout)
	defer stop()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return Answer{}, fail(KindTimeout, "%w", errBusy)
	}

	halves := make(chan half, 2)
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		go func() { halves <- r.family(ctx, name, qtype) }()
	}
	first := <-halves
	if first.found() {
		late := time.AfterFunc(maxWait, func() { cancel(errLate) })
		defer late.Stop()
	}
	second := <-halves
	if second.err != nil && errors.Is(second.err, errLate) {
		second.err = fail(KindTimeout, "%w", errLate)
	}

	if first.qtype != dns.TypeA {
		first, second = second, first // the answer's order must not depend on the network
	}
	now := r.now()
	a, err := merge(first, second, now)
	if err != nil {
		return Answer{}, err
	}
	n := r.pins.put(name, a, now)
	if r.observer != nil {
		r.observer.DNSPins(n)
	}
	return a, nil
}

// family asks for one type of address, and for the last alias again where a
// server does not follow the chain itself. No name is asked for that
// Options.Names refuses.
func (r *Resolver) family(ctx context.Context, host string, qtype uint16) half {
	out := half{reply: reply{ttl: maxTTL}, qtype: qtype}
	name := host
	for {
		rep, err := r.ask(ctx, name, qtype)
		more := rep.chain
		if err != nil {
			more = err.Chain
		}
		chain, loop := extend(host, out.chain, more)
		out.chain = chain
		switch {
		case loop != nil:
			out.err = loop
		case err != nil:
			out.err = err
		}
		if out.err != nil {
			out.err.Chain = chain
			return out
		}
		out.addrs, out.ttl = rep.addrs, min(out.ttl, rep.ttl)
		if rep.done {
			return out
		}
		name = chain[len(chain)-1]
		if out.err = r.permit(name); out.err != nil {
			out.err.Chain = chain
			return out
		}
	}
}

// merge makes one answer of two halves; see the package comment for what
// happens when one is missing.
func merge(a, b half, now time.Time) (Answer, error) {
	chain := slices.Clone(a.chain)
	for _, name := range b.chain {
		if !slices.Contains(chain, name) {
			chain = append(chain, name)
		}
	}
	usable := func(h half) bool { return h.found() || h.empty() || h.missing() }
	if !a.found() && !b.found() || !usable(a) || !usable(b) {
		err := *worst(a.err, b.err)
		err.Chain = chain
		return Answer{}, &err
	}
	ttl := maxTTL
	var out Answer
	for _, h := range []half{a, b} {
		switch {
		case h.found():
			ttl = min(ttl, h.ttl)
			out.Addrs = append(out.Addrs, h.addrs...)
		case h.missing():
			ttl = min(ttl, halfTTL)
		}
	}
	if out.Addrs = unique(out.Addrs); len(out.Addrs) > maxAddrs {
		err := fail(KindMalformed, "more than %d addresses", maxAddrs)
		err.Chain = chain
		return Answer{}, err
	}
	out.Chain = chain
	out.Expires = now.Add(ttl)
	return out, nil
}

// worst returns the error that explains a failed look-up best. An empty half
// counts as NODATA.
func worst(a, b *DNSError) *DNSError {
	for _, k := range kindsByWeight() {
		for _, err := range []*DNSError{a, b} {
			if err != nil && err.Kind == k {
				return err
			}
		}
	}
	return fail(KindNoData, "the name has no address")
}
