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
	seen := map[string]bool{}
	for _, rules := range [][]CommandRule{t.Sandbox.Block, t.Sandbox.Allow} {
		for i := range rules {
			text := strings.Join(strings.Fields(rules[i].Cmd.Text), " ")
			if seen[text] {
				c.badAt(rules[i].Pos, c.pathAt(rules[i].Pos), "the rule "+decision.Quote(text)+" is there twice (block wins over allow)", "remove one")
			}
			seen[text] = true
			if isShadowed(text, rules, t.Sandbox.Block) {
				c.badAt(rules[i].Pos, c.pathAt(rules[i].Pos), "everything that "+decision.Quote(text)+" matches is blocked", "remove the rule, or narrow the block")
			}
		}
	}
}

// isShadowed reports whether a rule of allow begins with all the words of a
// rule of block, which wins.
func isShadowed(text string, rules, block []CommandRule) bool {
	if len(block) == 0 || len(rules) > 0 && &rules[0] == &block[0] {
		return false
	}
	for i := range block {
		blocked := strings.Join(strings.Fields(block[i].Cmd.Text), " ")
		if strings.HasPrefix(text, blocked+" ") {
			return true
		}
	}
	return false
}

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
	registry := agent.spec(c.cat).Registry.Name
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
	labels := strings.Split(domain, ".")
	switch {
	case len(labels) == 1:
		return domain != "localhost"
	case len(labels) == 2 && len(labels[1]) == 2:
		return slices.Contains([]string{"co", "com", "org", "net", "ac", "gov", "edu", "or", "ne", "go"}, labels[0])
	}
	return slices.Contains([]string{
		"github.io", "pages.dev", "workers.dev", "vercel.app", "netlify.app", "herokuapp.com", "appspot.com",
		"amazonaws.com", "s3.amazonaws.com", "cloudfront.net", "azurewebsites.net", "blob.core.windows.net",
		"ngrok.io", "ngrok-free.app", "nip.io", "sslip.io",
	}, domain)
}
