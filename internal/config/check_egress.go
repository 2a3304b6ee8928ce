package config

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

func (c *checker) egress() {
	e := &c.doc.Egress
	if e.Anonymous != nil && !c.hasProblemBelow("egress.anonymous") {
		c.anonymous(e.Anonymous)
	}
	if c.written("egress.ports") && len(e.Ports) == 0 && !c.hasProblemBelow("egress.ports") {
		c.bad("egress.ports", "the list is empty, so nothing could be dialled", "list ports, or remove the key for 80, 443, 8080 and 8443")
	}
	for i := range e.Rules {
		c.egressRule(&e.Rules[i], "egress.rules["+strconv.Itoa(i)+"]")
	}
	for i := range e.AllowPrivate {
		if path := "egress.allow_private[" + strconv.Itoa(i) + "]"; !c.hasProblemBelow(path) {
			c.private(&e.AllowPrivate[i], path)
		}
	}
	c.resolver(&e.Resolver)
}

func (c *checker) anonymous(a *Anonymous) {
	agent, ok := c.doc.Agent(a.Agent.Name)
	if !ok {
		c.badAt(a.Agent.Pos, "egress.anonymous.agent", "there is no agent "+decision.Quote(a.Agent.Name), instead(a.Agent.Name, c.agentNames()))
		return
	}
	if c.cat == nil || slices.Contains(agent.HTTPTools.Strings(), a.Tool.Name) {
		return
	}
	if _, ok := c.cat.Expand(a.Tool.Name); !ok || strings.HasPrefix(a.Tool.Name, "@") || a.Tool.Name == "*" {
		fix := cmp.Or(instead(a.Tool.Name, c.knownTools(agent)), "name a tool that dials")
		c.badAt(a.Tool.Pos, "egress.anonymous.tool", "no registry has a tool "+decision.Quote(a.Tool.Name), fix)
	}
}

func (c *checker) agentNames() []string {
	names := make([]string, len(c.doc.Agents))
	for i := range c.doc.Agents {
		names[i] = c.doc.Agents[i].Name
	}
	return names
}

func (c *checker) egressRule(r *EgressRule, path string) {
	if len(r.Allow) == 0 && len(r.Deny) == 0 && !c.hasProblemBelow(path) {
		c.badAt(r.Pos, path, "the rule neither allows nor denies a host", "write allow, deny or both")
	}
	c.filter(r.Agents, path+".agents", func(n allowlist.Named) {
		if _, ok := c.doc.Agent(n.Name); !ok {
			c.badAt(n.Pos, c.pathAt(n.Pos), "there is no agent "+decision.Quote(n.Name), instead(n.Name, c.agentNames()))
		}
	})
	c.filter(r.Tools, path+".tools", func(n allowlist.Named) {
		if c.cat == nil || c.declares(n.Name) {
			return
		}
		if _, ok := c.cat.Expand(n.Name); !ok || n.Name == "*" {
			c.badAt(n.Pos, c.pathAt(n.Pos), "no registry has a tool or group "+decision.Quote(n.Name), instead(n.Name, c.entries()))
		}
	})
}

// filter checks a list that narrows a rule: an empty one would leave nothing.
func (c *checker) filter(list Names, path string, check func(allowlist.Named)) {
	if list.Set && len(list.Items) == 0 && !c.hasProblemBelow(path) {
		c.badAt(list.Pos, path, "the list is empty, so the rule holds for nobody", "list names, or remove the key for all")
	}
	for _, n := range list.Items {
		if n.Name != "" {
			check(n)
		}
	}
}

// declares reports whether some agent declares an HTTP tool with that name.
func (c *checker) declares(tool string) bool {
	return slices.ContainsFunc(c.doc.Agents, func(a Agent) bool {
		return slices.Contains(a.HTTPTools.Strings(), tool)
	})
}

// entries lists the tools and groups of all registries.
func (c *checker) entries() []string {
	var all []string
	for _, r := range c.cat.Registries() {
		all = append(all, c.cat.Entries(r)...)
	}
	return all
}

// private checks an exception for a private range. What it may never open is
// refused here, so that a document cannot even say it.
func (c *checker) private(p *Private, path string) {
	if _, wild := p.Host.Wildcard(); wild || p.Host.Port() != 0 {
		c.bad(path+".host", decision.Quote(p.Host.String())+" is not one name", "write a host without wildcard and port")
	}
	if len(p.Ports) == 0 {
		c.bad(path+".ports", "the list is empty, so nothing could be dialled", "list ports")
	}
	if !isPrivate(p.CIDR) {
		c.bad(path+".cidr", p.CIDR.String()+" does not lie in a private range", "write part of 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 or fc00::/7; loopback, link-local and metadata never open")
		return
	}
	for _, m := range metadata() {
		if p.CIDR.Contains(m) {
			c.bad(path+".cidr", p.CIDR.String()+" holds the metadata address "+m.String(), "write a range without it")
			return
		}
	}
}

// isPrivate reports whether a range lies in private address space (RFC 1918,
// RFC 4193).
func isPrivate(p netip.Prefix) bool {
	for _, text := range [...]string{"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"} {
		private := netip.MustParsePrefix(text)
		if p.IsValid() && private.Contains(p.Addr()) && p.Bits() >= private.Bits() {
			return true
		}
	}
	return false
}

// metadata lists addresses of metadata services inside private address space.
// Package ipclass knows all of them and has the last word.
func metadata() []netip.Addr {
	return []netip.Addr{
		netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd20:ce::254"),
		netip.MustParseAddr("fd00:c1::a9fe:a9fe"), netip.MustParseAddr("fd00:42::42"),
		netip.MustParseAddr("fd00:a9fe:a9fe::1"), netip.MustParseAddr("fd00:100::100:200"),
	}
}

func (c *checker) resolver(r *Resolver) {
	const path = "egress.resolver"
	if c.written(path+".servers") && len(r.Servers) == 0 && !c.hasProblemBelow(path+".servers") {
		c.bad(path+".servers", "the list is empty, so no name could be resolved", "write [system], or IP:port")
	}
	for i, s := range r.Servers {
		at := path + ".servers[" + strconv.Itoa(i) + "]"
		if s == "system" || c.hasProblem(at) {
			continue
		}
		addr, err := netip.ParseAddrPort(s)
		if err != nil || addr.Port() == 0 || addr.Addr().Zone() != "" {
			c.bad(at, decision.Quote(s)+" is neither system nor IP:port", "write system, or an address such as 192.0.2.53:53")
		}
	}
	for i := range r.Hosts {
		h := &r.Hosts[i]
		p, err := urlguard.ParsePattern(h.Name)
		_, wild := p.Wildcard()
		if err != nil || wild || p.Port() != 0 || !isHostName(h.Name) {
			c.badAt(h.Pos, join(path+".hosts", h.Name), decision.Quote(h.Name)+" is not a host name", "write a name in lower case, without wildcard, port and final dot")
		}
	}
}

// isHostName reports whether a static answer can be found under that name: the
// canonical spelling is the one that is looked up.
func isHostName(s string) bool {
	_, err := netip.ParseAddr(s)
	return err != nil && s == strings.ToLower(s) && !strings.HasSuffix(s, ".") && !strings.HasPrefix(s, "[") &&
		!strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}
