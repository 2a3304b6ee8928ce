package policy

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/terminal"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// Options is what a snapshot is compiled from. Document, Catalogue, Addresses
// and Resolver are needed.
type Options struct {
	Document  *config.Document
	Catalogue *allowlist.Catalogue
	Revision  string // identifies document and catalogue
	Addresses *ipclass.Table
	Resolver  Resolver
	// Loopback is what the process environment says; nothing else may set it.
	Loopback bool
	// Self reports toolgate's own listeners. Nil: none.
	Self func(netip.AddrPort) bool
	// Programs tells which file a bare command name stands for. Nil: an
	// absolute path never stands for a name.
	Programs terminal.Programs
}

// Compile turns a document into a snapshot. Problems of the document come back
// all at once; the error is for what is not the document's fault.
func Compile(o Options) (*Snapshot, []allowlist.Problem, error) {
	if o.Document == nil || o.Catalogue == nil || o.Resolver == nil {
		return nil, nil, errors.New("policy: a document, a catalogue and a resolver are needed")
	}
	c := &compiler{Options: o}
	s := &Snapshot{
		revision: o.Revision, agents: map[string]*agent{}, inventory: o.Document.Scopes(), resolver: o.Resolver,
	}
	var err error
	if s.commands, err = terminal.New(c.terminal()); err != nil {
		return nil, nil, fmt.Errorf("policy: %w", err)
	}
	if s.urls, err = urlguard.New(c.egress(), o.Addresses); err != nil {
		return nil, nil, fmt.Errorf("policy: %w", err)
	}
	c.agents(s)
	c.anonymous(s)
	if len(c.problems) > 0 {
		return nil, c.problems, nil
	}
	return s, nil, nil
}

// compiler gathers the problems of a document.
type compiler struct {
	Options
	problems []allowlist.Problem
}

func (c *compiler) problem(pos decision.Position, fix, format string, args ...any) {
	c.problems = append(c.problems, allowlist.Problem{Pos: pos, Message: fmt.Sprintf(format, args...), Fix: fix})
}

// terminal returns what the terminal guard is made from.
func (c *compiler) terminal() terminal.Options {
	t := &c.Document.Tools.Terminal
	o := terminal.Options{
		Enabled: t.Enabled, Mode: t.Sandbox.Mode, Redirects: t.Sandbox.Redirects,
		EnvAllow: t.Sandbox.EnvAllow, Programs: c.Programs,
	}
	for i := range t.Sandbox.Allow {
		o.Allow = append(o.Allow, commandRule(&t.Sandbox.Allow[i]))
	}
	for i := range t.Sandbox.Block {
		o.Block = append(o.Block, commandRule(&t.Sandbox.Block[i]))
	}
	return o
}

func commandRule(r *config.CommandRule) terminal.Rule {
	out := r.Cmd
	out.Pos, out.Why, out.Children = r.Pos, r.Why, r.Children
	return out
}

// egress returns what the URL guard is made from.
func (c *compiler) egress() urlguard.Rules {
	e := &c.Document.Egress
	r := urlguard.Rules{Ports: e.Ports, Loopback: c.Loopback, Self: c.Self}
	for i := range e.Rules {
		rule := &e.Rules[i]
		r.Rules = append(r.Rules, urlguard.Rule{
			Agents: rule.Agents.Strings(), Tools: c.tools(rule.Tools), Allow: rule.Allow, Deny: rule.Deny, Pos: rule.Pos,
		})
	}
	for _, p := range e.AllowPrivate {
		r.Private = append(r.Private, urlguard.Private{Host: p.Host, CIDR: p.CIDR, Ports: p.Ports, Pos: p.Pos})
	}
	return r
}

// tools expands the tools and groups of an egress rule. A list that was written
// stays a list, even when it names nothing: nil would mean every tool. A name
// that no registry has is a tool that some agent declares; the document was
// refused otherwise.
func (c *compiler) tools(names config.Names) []string {
	if !names.Set {
		return nil
	}
	out := []string{}
	for _, n := range names.Items {
		expanded, ok := c.Catalogue.Expand(n.Name)
		if !ok {
			expanded = []string{n.Name}
		}
		out = append(out, expanded...)
	}
	return out
}

// agents compiles every agent.
func (c *compiler) agents(s *Snapshot) {
	servers := c.Document.Declared()
	for i := range c.Document.Agents {
		d := &c.Document.Agents[i]
		spec := d.Spec(c.Catalogue)
		compiled, problems := c.Catalogue.Compile(spec, servers)
		c.problems = append(c.problems, problems...)
		if compiled == nil {
			continue
		}
		mode := c.Document.Mode
		if d.Mode != nil {
			mode = *d.Mode
		}
		s.agents[d.Name] = &agent{Agent: compiled, name: d.Name, version: agentVersion(d, &spec), mode: mode}
		s.names = append(s.names, d.Name)
	}
}

// anonymous checks who a client without credentials is. Where browsers may reach
// loopback, it is no browser tool: whoever finds the proxy would be let in. (That
// the agent exists is checked when the document loads; a tool that it lacks is
// refused at every request.)
func (c *compiler) anonymous(s *Snapshot) {
	anon := c.Document.Egress.Anonymous
	if anon == nil {
		return
	}
	a := s.agents[anon.Agent.Name]
	if a == nil {
		return
	}
	if t, ok := a.Tool(anon.Tool.Name); ok && t.Browser && c.Loopback {
		c.problem(anon.Tool.Pos, "name a tool that is no browser, or unset the variable", "egress.anonymous: %s is a browser tool, and ALLOW_LOOPBACK_TOOL_URLS lets browsers reach loopback", t.Name)
	}
}
