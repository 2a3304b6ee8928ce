package urlguard

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/ipclass"
)

// Rule is one entry of egress.rules. A nil list of agents or tools means all.
type Rule struct {
	Agents, Tools []string // tools are names; groups are expanded
	Allow, Deny   []Pattern
	Pos           decision.Position
}

// Private is one entry of egress.allow_private: an internal target that an
// operator opens by name and range and port.
type Private struct {
	Host  Pattern
	CIDR  netip.Prefix
	Ports []uint16
	Pos   decision.Position
}

// Rules is what an operator says about egress. The zero value permits no port.
type Rules struct {
	Ports   []uint16
	Rules   []Rule
	Private []Private
	// Loopback opens loopback to proven browser tools. Only the process
	// environment sets it.
	Loopback bool
	// Self reports toolgate's own listeners, which nothing may reach. Nil: none.
	Self func(netip.AddrPort) bool
}

// Caller is on whose behalf a URL is dialled.
type Caller struct {
	Agent string
	// Tool is the tool that dials. Empty: some tool of the agent, which earns
	// only what every tool of it may do, so all rules of the agent bind it.
	Tool    string
	Browser bool
	// Proven says that Tool is known, not claimed: only then loopback and
	// private exceptions are earned.
	Proven bool
}

// Verdict is what the guard says: url_ok, or why not. The zero value is a
// refusal (internal_error).
type Verdict struct {
	Reason decision.Reason
	Detail string // the offending name or address, for an operator
	Rule   string
	Pos    decision.Position
}

// Guard judges endpoints. It never changes. A nil Guard refuses everything.
type Guard struct {
	rules Rules
	table *ipclass.Table
}

// New checks the rules.
func New(r Rules, t *ipclass.Table) (*Guard, error) {
	if t == nil {
		return nil, errors.New("urlguard: no address table")
	}
	if slices.Contains(r.Ports, 0) {
		return nil, errors.New("urlguard: port 0 cannot be permitted")
	}
	for _, p := range r.Private {
		if !p.CIDR.IsValid() || p.Host.host == "" || len(p.Ports) == 0 {
			return nil, fmt.Errorf("urlguard: the private exception at %s needs a host, a range and ports", p.Pos)
		}
	}
	return &Guard{rules: r, table: t}, nil
}

// Before judges all that can be said before a name is looked up: the address
// of a literal, special names, egress rules, ports. An internal target gets
// its own reason on every port.
func (g *Guard) Before(c Caller, e decision.Endpoint) Verdict {
	switch {
	case g == nil:
		return Verdict{}
	case e.Addr.IsValid():
		if v := g.address(c, e, e.Addr); v.Reason != decision.URLOK {
			return v
		}
	case e.Host == "":
		return Verdict{Reason: decision.HostInvalid, Detail: "empty host"}
	default:
		if v := g.name(c, e, e.Host); v.Reason != decision.URLOK {
			return v
		}
	}
	local := g.IsLoopback(e)
	v, port := g.egress(c, e, local)
	if v.Reason != decision.URLOK {
		return v
	}
	if local || port || slices.Contains(g.rules.Ports, e.Port) || g.private(c, e) != nil {
		return v
	}
	return Verdict{Reason: decision.URLPort, Detail: e.Authority()}
}

// Addrs judges a whole answer: every alias on the way and every address. One
// that may not be reached refuses the answer; of several, one that no mode
// opens speaks first.
func (g *Guard) Addrs(c Caller, e decision.Endpoint, chain []string, addrs []netip.Addr) Verdict {
	if g == nil {
		return Verdict{}
	}
	if len(addrs) == 0 {
		return Verdict{Reason: decision.DNSFailed, Detail: e.Host}
	}
	worst := Verdict{Reason: decision.URLOK}
	for _, name := range chain {
		worst = worse(worst, g.name(Caller{}, e, name))
	}
	for _, a := range addrs {
		worst = worse(worst, g.address(c, e, a))
	}
	return worst
}

// worse keeps the first refusal, except that one that no mode opens wins.
func worse(a, b Verdict) Verdict {
	if a.Reason == decision.URLOK || b.Reason.Always() && b.Reason != decision.URLOK && !a.Reason.Always() {
		return b
	}
	return a
}

// Fault refines the fault of a host in a non-canonical spelling: one that means
// an internal target gets that target's reason, any other stays host_invalid
// (contracts, section 7). A disguise earns no exception.
func (g *Guard) Fault(f Fault) Verdict {
	v := Verdict{Reason: f.Reason, Detail: f.Detail}
	if g == nil || f.ok || f.Reason.Allows() {
		return Verdict{}
	}
	switch {
	case f.Addr.IsValid():
		if class, row := g.table.Lookup(f.Addr); class != ipclass.Global {
			v.Reason, v.Detail = classReason(class), f.Detail+" means "+describe(f.Addr, row)
		}
	case f.Name != "":
		if r := NameReason(f.Name); r != decision.URLOK {
			v.Reason, v.Detail = r, f.Detail+" means "+f.Name
		}
	}
	return v
}

// IsLoopback reports whether e is this machine, by name or by literal address.
func (g *Guard) IsLoopback(e decision.Endpoint) bool {
	if !e.Addr.IsValid() {
		return localName(e.Host)
	}
	class, _ := g.table.Lookup(e.Addr)
	return class == ipclass.Loopback
}

// name judges a name, the target's own or an alias.
func (g *Guard) name(c Caller, e decision.Endpoint, name string) Verdict {
	r := NameReason(name)
	switch {
	case r == decision.URLOK:
	case r == decision.URLLoopback && localName(name) && g.loopbackEarned(c):
		return Verdict{Reason: decision.URLOK}
	case r == decision.URLInternal && g.private(c, e) != nil:
		return Verdict{Reason: decision.URLOK}
	default:
		return Verdict{Reason: r, Detail: name}
	}
	return Verdict{Reason: decision.URLOK}
}

// loopbackEarned reports whether c may reach loopback at all.
func (g *Guard) loopbackEarned(c Caller) bool {
	return g.rules.Loopback && c.Browser && c.Proven
}

// address judges one address that e is or resolved to.
func (g *Guard) address(c Caller, e decision.Endpoint, a netip.Addr) Verdict {
	if g.rules.Self != nil && g.rules.Self(netip.AddrPortFrom(a, e.Port)) {
		return Verdict{Reason: decision.URLSelf, Detail: e.Authority()}
	}
	class, row := g.table.Lookup(a)
	switch class {
	case ipclass.Global:
		return Verdict{Reason: decision.URLOK}
	case ipclass.Loopback:
		// Never for an ordinary name that resolves here: a page could have
		// rebound it.
		if g.loopbackEarned(c) && g.IsLoopback(e) {
			return Verdict{Reason: decision.URLOK}
		}
	case ipclass.Private, ipclass.CGNAT, ipclass.Reserved:
		if p := g.private(c, e); p != nil && p.CIDR.Contains(a.Unmap()) {
			return Verdict{Reason: decision.URLOK, Rule: p.Host.text, Pos: p.Pos}
		}
	case ipclass.LinkLocal, ipclass.Metadata, ipclass.Multicast, ipclass.EmbeddedV4:
	}
	return Verdict{Reason: classReason(class), Detail: describe(a, row)}
}

// private returns the exception that opens e to c, nil for none.
func (g *Guard) private(c Caller, e decision.Endpoint) *Private {
	if !c.Proven {
		return nil
	}
	for i := range g.rules.Private {
		p := &g.rules.Private[i]
		if p.Host.Match(e) && slices.Contains(p.Ports, e.Port) {
			return p
		}
	}
	return nil
}

// egress judges the operator's rules. It also tells whether one that matches
// names the port. Any deny wins. A caller whose tool is known must match the
// allow list of one rule that applies to it; one whose tool is not known must
// match every allow list of its agent. Rules that allow do not bind loopback:
// the process environment alone opens that.
func (g *Guard) egress(c Caller, e decision.Endpoint, local bool) (v Verdict, port bool) {
	v = Verdict{Reason: decision.URLOK}
	var missed *Rule
	matched := false
	for i := range g.rules.Rules {
		r := &g.rules.Rules[i]
		if !applies(r.Agents, c.Agent) || c.Tool != "" && !applies(r.Tools, c.Tool) {
			continue
		}
		if p := match(r.Deny, e); p != nil {
			return Verdict{decision.HostDenied, e.Authority(), p.text, r.Pos}, false
		}
		if len(r.Allow) == 0 || local {
			continue
		}
		if p := match(r.Allow, e); p != nil {
			matched, port = true, port || p.port != 0
			v.Rule, v.Pos = p.text, r.Pos
		} else {
			missed = r
		}
	}
	if missed != nil && (!matched || c.Tool == "") {
		return Verdict{decision.HostNotAllowed, e.Authority(), "egress.rules", missed.Pos}, false
	}
	return v, port
}

func applies(list []string, name string) bool { return list == nil || slices.Contains(list, name) }

func match(list []Pattern, e decision.Endpoint) *Pattern {
	for i := range list {
		if list[i].Match(e) {
			return &list[i]
		}
	}
	return nil
}

// classReason is the reason of a class of addresses.
func classReason(c ipclass.Class) decision.Reason {
	switch c {
	case ipclass.Global:
		return decision.URLOK
	case ipclass.Loopback:
		return decision.URLLoopback
	case ipclass.Private:
		return decision.URLPrivate
	case ipclass.LinkLocal:
		return decision.URLLinkLocal
	case ipclass.Metadata:
		return decision.URLMetadata
	case ipclass.CGNAT:
		return decision.URLCGNAT
	case ipclass.Multicast:
		return decision.URLMulticast
	case ipclass.EmbeddedV4:
		return decision.URLEmbeddedV4
	case ipclass.Reserved:
	}
	return decision.URLReserved
}

// describe names an address for an operator.
func describe(a netip.Addr, row *ipclass.Row) string {
	if row.Source == "" {
		return a.String() + " (" + row.Name + ")"
	}
	return a.String() + " (" + row.Name + ", " + row.Source + ")"
}
