package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// lints warns of what a document allows and its author may not have meant.
func lints(doc *Document, d *decoder, cat *allowlist.Catalogue) Problems {
	c := &checker{decoder: &decoder{file: d.file, places: d.places}, doc: doc, cat: cat}
	c.lintListeners()
	c.lintTerminal()
	c.lintAgents()
	c.lintEgress()
	return c.problems.sorted()
}

func (c *checker) lintListeners() {
	for _, l := range c.doc.listenAddresses() {
		addr, why := parseListen(l.Text)
		if why == "" && !addr.Addr().IsLoopback() {
			c.badAt(l.Pos, l.path, l.Text+" can be reached from other machines", "keep it on loopback, or see that only its clients reach it")
		}
	}
	if c.doc.Mode == decision.Report {
		c.bad("mode", "report mode lets refused calls through", "write enforce once the log shows what you expect")
	}
}

func (c *checker) lintTerminal() {
	t := &c.doc.Tools.Terminal
	const path = "tools.terminal.sandbox"
	switch {
	case !t.Enabled:
		return
	case t.Sandbox.Mode == terminal.ModeOff:
		c.bad(path+".mode", "mode off lets every command run", "write allowlist or blocklist")
	case t.Sandbox.Mode == terminal.ModeAllowlist && len(t.Sandbox.Allow) == 0:
		c.bad("tools.terminal.enabled", "the terminal is enabled, and no rule allows a command", "add rules to sandbox.allow")
	case t.Sandbox.Mode == terminal.ModeBlocklist && len(t.Sandbox.Allow) > 0:
		c.bad(path+".allow", "mode blocklist does not read allow", "remove the rules, or write mode: allowlist")
	}
	if t.Sandbox.Redirects == terminal.RedirectsAny {
		c.bad(path+".redirects", "commands may write any file", "write workspace or none")
	}
	c.lintRules(t.Sandbox.Block, t.Sandbox.Allow)
}

// lintRules warns of rules that change nothing: one that is there twice, and
// one of allow that begins with all the words of one of block.
func (c *checker) lintRules(block, allow []CommandRule) {
	seen := map[string]bool{}
	twice := func(r *CommandRule) bool {
		text := words(r)
		if seen[text] {
			c.badAt(r.Pos, c.pathAt(r.Pos), "the rule "+decision.Quote(text)+" is there twice (block wins over allow)", "remove one")
		}
		known := seen[text]
		seen[text] = true
		return known
	}
	for i := range block {
		twice(&block[i])
	}
	for i := range allow {
		if twice(&allow[i]) {
			continue
		}
		text := words(&allow[i])
		if slices.ContainsFunc(block, func(b CommandRule) bool { return strings.HasPrefix(text, words(&b)+" ") }) {
			c.badAt(allow[i].Pos, c.pathAt(allow[i].Pos), "everything that "+decision.Quote(text)+" matches is blocked", "remove the rule, or narrow the block")
		}
	}
}

// words is the text of a rule with single blanks.
func words(r *CommandRule) string { return strings.Join(strings.Fields(r.Cmd.Text), " ") }

func (c *checker) lintAgents() {
	for i := range c.doc.Agents {
		a := &c.doc.Agents[i]
		path := join("agents", a.Name)
		if a.Tools.Set && len(a.Tools.Items) == 0 && !a.ReadOnly {
			c.badAt(a.Tools.Pos, path+".tools", "the agent is unrestricted: it holds every tool of registry "+a.Registry.Name, "list its tools, unless that is what you want")
		}
		if a.Mode != nil && *a.Mode == decision.Report {
			c.bad(path+".mode", "report mode lets refused calls through", "write enforce once the log shows what you expect")
		}
		if c.cat == nil {
			continue
		}
		for _, list := range []Names{a.AllowedTools, a.DisallowedTools} {
			for _, n := range list.Items {
				known := c.knownTools(a)
				if !slices.Contains(known, n.Name) && !strings.HasPrefix(n.Name, "mcp__") && !strings.HasPrefix(n.Name, "@") {
					c.badAt(n.Pos, c.pathAt(n.Pos), "no tool "+decision.Quote(n.Name)+" is registered", instead(n.Name, known))
				}
			}
		}
		for _, n := range slices.Concat(a.Deny.Items, a.DisallowedTools.Items) {
			c.lintMCPDeny(n)
		}
	}
}

// lintMCPDeny warns of a deny inside a server that is not there.
func (c *checker) lintMCPDeny(n allowlist.Named) {
	rest, ok := strings.CutPrefix(n.Name, "mcp__")
	if !ok {
		return
	}
	id, _, _ := strings.Cut(rest, "__")
	ids := make([]string, len(c.doc.MCP.Servers))
	for i := range c.doc.MCP.Servers {
		ids[i] = c.doc.MCP.Servers[i].Name
	}
	if !slices.Contains(ids, id) {
		c.badAt(n.Pos, c.pathAt(n.Pos), "no MCP server "+decision.Quote(id)+" is declared", instead(id, ids))
	}
}

func (c *checker) lintEgress() {
	if a := c.doc.Egress.Anonymous; a != nil && c.cat != nil {
		c.lintAnonymous(a)
	}
	for i := range c.doc.Egress.Rules {
		r := &c.doc.Egress.Rules[i]
		for j, p := range r.Allow {
			if wide(p) {
				c.bad("egress.rules["+strconv.Itoa(i)+"].allow["+strconv.Itoa(j)+"]", p.String()+" matches the hosts of everybody", "name a domain that one owner holds")
			}
		}
	}
}

// lintAnonymous warns where a client without credentials gets nowhere.
func (c *checker) lintAnonymous(a *Anonymous) {
	agent, ok := c.doc.Agent(a.Agent.Name)
	if !ok || slices.Contains(agent.HTTPTools.Strings(), a.Tool.Name) {
		return
	}
	registry := agent.Spec(c.cat).Registry.Name
	switch tool, registered := c.cat.Lookup(registry, a.Tool.Name); {
	case !registered:
		c.badAt(a.Tool.Pos, "egress.anonymous.tool", "registry "+registry+" of agent "+agent.Name+" has no tool "+decision.Quote(a.Tool.Name),
			instead(a.Tool.Name, c.knownTools(agent)))
	case !tool.Network:
		c.badAt(a.Tool.Pos, "egress.anonymous.tool", a.Tool.Name+" is not a tool that dials", "name one that does")
	}
}

// wide reports whether a wildcard stands above the domains of single owners,
// by the look of it: a short top-level domain below a short second level
// (*.co.uk), or a well-known shared one.
func wide(p urlguard.Pattern) bool {
	domain, wild := p.Wildcard()
	if !wild {
		return false
	}
	top := strings.LastIndexByte(domain, '.')
	if top >= 0 && len(domain)-top-1 == 2 &&
		slices.Contains([]string{"co", "com", "org", "net", "ac", "gov", "edu", "or", "ne", "go"}, domain[:top]) {
		return true
	}
	return slices.Contains([]string{
		"github.io", "pages.dev", "workers.dev", "vercel.app", "netlify.app", "herokuapp.com", "appspot.com",
		"amazonaws.com", "s3.amazonaws.com", "cloudfront.net", "azurewebsites.net", "blob.core.windows.net",
		"ngrok.io", "ngrok-free.app", "nip.io", "sslip.io",
	}, domain)
}
