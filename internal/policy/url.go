package policy

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// maxHops is how many redirects one chain may have (contracts, section 4).
const maxHops = 10

// url answers whether a may dial a URL on behalf of a tool: the agent must hold
// the tool, and the URL guard must let every hop through.
func (s *Snapshot) url(ctx context.Context, a *agent, req *decision.Request) decision.Decision {
	held := decision.Decision{Effect: decision.Allow}
	if req.Tool != "" {
		if held = settle(a, a.Decide(req.Tool, &req.Facts)); !held.Allowed() {
			return held
		}
	}
	d := s.chain(ctx, a, s.callerOf(a, req), req)
	// Unlike stricter: between equals the URL guard speaks, for the question is
	// about the URL.
	if held.Would && d.Allowed() && !d.Would {
		held.Vetted = d.Vetted
		return held
	}
	return d
}

// callerOf says who dials.
func (s *Snapshot) callerOf(a *agent, req *decision.Request) urlguard.Caller {
	c := urlguard.Caller{Agent: a.name, Tool: req.Tool, Proven: req.Proven && req.Tool != ""}
	if meta, ok := a.Tool(req.Tool); ok {
		c.Browser = meta.Browser
	}
	return c
}

// chain judges the resource and then each redirect that follows it. The answer
// carries what may be dialled for the resource itself. A chain that is too long
// or runs in a circle is refused in report mode too: its end is never reached,
// so nobody could vet it.
func (s *Snapshot) chain(ctx context.Context, a *agent, c urlguard.Caller, req *decision.Request) decision.Decision {
	first := s.hop(ctx, a, c, req.Resource, req.From)
	if !first.Allowed() {
		if req.From != nil {
			return redirected(a, first, 0)
		}
		return first
	}
	if n := len(req.Hops); n > maxHops {
		return redirected(a, decision.Decision{Detail: strconv.Itoa(n) + " redirects"}, maxHops+1)
	}
	from := first.Vetted.Endpoint
	for i, target := range req.Hops {
		if target == req.Resource.ID || slices.Contains(req.Hops[:i], target) {
			return redirected(a, decision.Decision{Detail: "the redirects run in a circle: " + target}, i+1)
		}
		next := s.hop(ctx, a, c, decision.Resource{Kind: decision.KindURL, ID: target}, &from)
		if !next.Allowed() {
			return redirected(a, next, i+1)
		}
		if next.Would && !first.Would {
			next.Vetted, next.Hop = first.Vetted, i+1
			first = next
		}
		from = next.Vetted.Endpoint
	}
	return first
}

// redirected is the refusal of a redirect: the code says so, the detail keeps
// why its target is refused.
func redirected(a *agent, why decision.Decision, hop int) decision.Decision {
	d := decision.Decision{
		Reason: decision.URLRedirect, Layer: decision.LayerURL, Hop: hop,
		Detail: why.Detail, Rule: why.Rule, Position: why.Position, Mode: a.mode,
	}
	if why.Reason.Class() == decision.ClassURL {
		d.Detail = why.Reason.String() + ": " + why.Detail
	}
	return d
}

// hop judges one URL: what it says, where it comes from, what may be said
// before any name leaves the machine, and every address of the answer.
func (s *Snapshot) hop(ctx context.Context, a *agent, c urlguard.Caller, res decision.Resource, from *decision.Endpoint) decision.Decision {
	e, fault := parse(res)
	if !fault.OK() {
		return unusable(guarded(a, s.urls.Fault(fault)))
	}
	v := s.urls.Before(c, e)
	if v.Reason.Allows() && from != nil && s.urls.IsLoopback(e) && !s.urls.IsLoopback(*from) {
		// Report mode stands in a file, and no file opens loopback.
		return unusable(refuse(a, decision.URLRedirect, decision.LayerURL, "a page outside leads to this machine"))
	}
	d := guarded(a, v)
	if !d.Allowed() {
		return d
	}
	answer, failed := s.resolve(ctx, a, e)
	if !failed.Allowed() {
		return failed
	}
	later := s.addresses(a, c, e, answer)
	later.Vetted = decision.Vetted{Endpoint: e, Addrs: answer.Addrs}
	return stricter(d, later)
}

// parse reads a resource in the form it is written in.
func parse(res decision.Resource) (decision.Endpoint, urlguard.Fault) {
	if res.Form == decision.FormAuthority {
		return urlguard.ParseAuthority(res.ID)
	}
	return urlguard.ParseURL(res.ID)
}

// guarded turns a verdict of the URL guard into a decision.
func guarded(a *agent, v urlguard.Verdict) decision.Decision {
	return withMode(a, decision.Decision{
		Reason: v.Reason, Layer: decision.LayerURL, Detail: v.Detail, Rule: v.Rule, Position: v.Pos,
	})
}

// resolve returns the addresses of an endpoint: the literal itself, or one
// look-up.
func (s *Snapshot) resolve(ctx context.Context, a *agent, e decision.Endpoint) (Answer, decision.Decision) {
	ok := decision.Decision{Effect: decision.Allow}
	if e.Addr.IsValid() {
		return Answer{Addrs: []netip.Addr{e.Addr}}, ok
	}
	answer, err := s.resolver.Lookup(ctx, e.Host)
	if err == nil && len(answer.Addrs) > 0 {
		return answer, ok
	}
	reason := decision.DNSFailed
	var r interface{ DecisionReason() decision.Reason }
	if errors.As(err, &r) {
		reason = r.DecisionReason()
	}
	d := unusable(refuse(a, reason, decision.LayerURL, e.Host))
	var late interface{ Timeout() bool }
	d.Timeout = errors.As(err, &late) && late.Timeout()
	return Answer{}, d
}

// unusable makes a refusal stand in report mode too: without a canonical target
// or an address there is nothing to let through, and loopback is not a file's
// to open.
func unusable(d decision.Decision) decision.Decision {
	d.Effect, d.Would = decision.Deny, false
	return d
}

// addresses judges an answer. In report mode each address is asked about on its
// own, so that one that no mode may open is not hidden behind a milder one.
func (s *Snapshot) addresses(a *agent, c urlguard.Caller, e decision.Endpoint, answer Answer) decision.Decision {
	d := guarded(a, s.urls.Addrs(c, e, answer.Chain, answer.Addrs))
	if !d.Would {
		return d
	}
	for i := range answer.Addrs {
		if answer.Addrs[i].Unmap().IsUnspecified() {
			return unusable(d) // this machine to the kernel; the dialer would refuse it too
		}
		if one := guarded(a, s.urls.Addrs(c, e, nil, answer.Addrs[i:i+1])); !one.Allowed() {
			return one
		}
	}
	return d
}
