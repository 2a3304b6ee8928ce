package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// maxName bounds the name of an agent, a server, a repository, a component or
// a source, in bytes: names are metric labels and parts of paths.
const maxName = 64

// nameFault says what is wrong with a name, "" if nothing is.
func nameFault(s string) string {
	if len(s) > maxName {
		return "is longer than " + strconv.Itoa(maxName) + " bytes"
	}
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case i > 0 && strings.IndexByte("-_.:", c) >= 0:
		default:
			return "is not a name"
		}
	}
	return ""
}

// named checks a name that the document gives.
func (c *checker) named(what, name, path string, pos decision.Position) {
	if fault := nameFault(name); fault != "" {
		c.badAt(pos, path, what+" "+decision.Quote(name)+" "+fault, "write letters, digits, and - _ . : inside, at most 64")
	}
}

func (c *checker) inventory() {
	for i := range c.doc.Inventory.Repositories {
		r := &c.doc.Inventory.Repositories[i]
		path := join("inventory.repositories", r.Name)
		c.named("repository", r.Name, path, r.Pos)
		for _, n := range r.Components.Items {
			c.named("component", n.Name, path+".components", n.Pos)
		}
	}
	for i := range c.doc.Inventory.Sources {
		s := &c.doc.Inventory.Sources[i]
		path := join("inventory.sources", s.Name)
		c.named("source", s.Name, path, s.Pos)
		for _, n := range s.Components.Items {
			c.named("component", n.Name, path, n.Pos)
		}
	}
}

func (c *checker) servers() {
	for i := range c.doc.MCP.Servers {
		s := &c.doc.MCP.Servers[i]
		path := join("mcp.servers", s.Name)
		c.named("server", s.Name, path, s.Pos)
		if strings.Contains(s.Name, "__") || strings.HasSuffix(s.Name, "_") {
			c.badAt(s.Pos, path, "the name of a server holds __ or ends in _", "rename it: mcp__server__tool could be read in two ways")
		}
		hasURL, hasCommand := c.written(path+".url"), c.written(path+".command")
		switch {
		case hasURL == hasCommand:
			c.badAt(s.Pos, path, "a server is reached by url or by command", "write one of the two")
		case hasURL:
			if _, fault := urlguard.ParseURL(s.URL); !fault.OK() && !c.hasProblem(path+".url") {
				c.bad(path+".url", decision.Quote(s.URL)+" is no URL that may be dialled ("+fault.Reason.String()+")", "write one such as https://tracker.example/mcp")
			}
			if len(s.Env) > 0 {
				c.bad(path+".env", "a server that is reached by url has no environment", "remove env")
			}
		case len(s.Command) == 0 || s.Command[0] == "":
			c.bad(path+".command", "there is no program", "write [program, argument, …]")
		}
		for _, v := range s.Env {
			if !validVariable(v.Name) {
				c.badAt(v.Pos, path+".env", decision.Quote(v.Name)+" is not the name of a variable", "write letters, digits and _")
			}
		}
	}
}

// agents checks each agent by itself, and compiles it to see whether the
// catalogue knows what it names.
func (c *checker) agents() {
	for i := range c.doc.Agents {
		a := &c.doc.Agents[i]
		path := join("agents", a.Name)
		c.named("agent", a.Name, path, a.Pos)
		for j := range a.Conditions {
			c.condition(&a.Conditions[j], path+".conditions["+strconv.Itoa(j)+"]")
		}
		for _, g := range a.MCP.Items {
			c.serverGrant(&g, path+".mcp")
		}
		if c.cat != nil && c.hasBase(path) {
			c.compile(a, path)
		}
	}
}

// hasBase reports whether nothing is wrong with what an agent starts from, so
// that compiling it tells news.
func (c *checker) hasBase(path string) bool {
	for _, key := range [...]string{"", ".registry", ".role", ".tools", ".catalogue", ".provider"} {
		if c.hasProblem(path + key) {
			return false
		}
	}
	return true
}

// hasProblemBelow reports whether something is wrong at path or inside it, so
// that what follows from it is not told as well.
func (c *checker) hasProblemBelow(path string) bool {
	return slices.ContainsFunc(c.problems, func(p Problem) bool {
		rest, ok := strings.CutPrefix(p.Path, path)
		return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
	})
}

func (c *checker) compile(a *Agent, path string) {
	if name := a.Catalogue.Name; name != "" {
		switch _, ok := c.cat.Seeded(name); {
		case !ok:
			c.badAt(a.Catalogue.Pos, path+".catalogue", "the catalogue has no agent "+decision.Quote(name), instead(name, c.cat.SeededAgents()))
			return
		case a.Role.Name != "":
			c.badAt(a.Role.Pos, path+".role", "an agent of the catalogue has an allow-list, and so no role", "keep catalogue or role")
			return
		}
	}
	spec := a.Spec(c.cat)
	if r := spec.Registry; !slices.Contains(c.cat.Registries(), r.Name) {
		c.badAt(r.Pos, path+".registry", "unknown registry "+decision.Quote(r.Name), instead(r.Name, c.cat.Registries()))
		return
	}
	for _, n := range a.Tools.Items {
		if n.Name == "*" {
			c.badAt(n.Pos, c.pathAt(n.Pos), "* is not a tool", "write tools: [] for every tool of the registry")
		}
	}
	_, problems := c.cat.Compile(spec, c.doc.Declared())
	for _, p := range problems {
		if p.Pos.IsZero() || c.hasProblemAt(p.Pos) {
			continue // about a value that could not be read, or told already
		}
		at := c.pathAt(p.Pos)
		if at == "" || p.Pos == a.Pos {
			at = path
		}
		c.badAt(p.Pos, at, p.Message, p.Fix)
	}
}

// hasProblemAt reports whether something is already known to be wrong at pos.
func (c *checker) hasProblemAt(pos decision.Position) bool {
	return slices.ContainsFunc(c.problems, func(p Problem) bool { return p.Pos == pos })
}

func (c *checker) condition(t *Condition, path string) {
	written := 0
	for _, test := range []string{"exact", "one_of", "prefix", "glob", "under", "host_in"} {
		if c.written(path + "." + test) {
			written++
		}
	}
	switch {
	case written != 1:
		c.badAt(t.Pos, path, "a condition has "+strconv.Itoa(written)+" tests", "write one of exact, one_of, prefix, glob, under and host_in")
	case t.OneOf.Set && len(t.OneOf.Items) == 0, c.written(path+".host_in") && len(t.HostIn) == 0:
		if !c.hasProblemBelow(path) {
			c.badAt(t.Pos, path, "the list is empty, so no call could meet the condition", "write what is allowed, or deny the tool")
		}
	case t.Prefix != nil && *t.Prefix == "", t.Glob != nil && *t.Glob == "", t.Under != nil && *t.Under == "":
		c.badAt(t.Pos, path, "the test is empty", "write what the argument must look like")
	}
	c.notEmpty(path+".arg", t.Arg)
}

func (c *checker) serverGrant(g *ServerGrant, path string) {
	path = join(path, g.Server.Name)
	if g.Tools.Set && len(g.Tools.Items) == 0 && !c.hasProblem(path) {
		c.badAt(g.Tools.Pos, path, "an empty list grants no tool of the server", "list tools, write [\"*\"], or remove the server")
	}
	for _, t := range g.Tools.Items {
		if strings.ContainsFunc(t.Name, func(r rune) bool { return r <= ' ' || r >= 0x7f }) || strings.HasPrefix(t.Name, "mcp__") {
			c.badAt(t.Pos, path, decision.Quote(t.Name)+" is not the name of a tool of the server", "write the name alone, with * as a wildcard")
		}
	}
}

// knownTools lists the tools that an agent could hold.
func (c *checker) knownTools(a *Agent) []string {
	return slices.Concat(c.cat.Tools(a.Spec(c.cat).Registry.Name), a.HTTPTools.Strings())
}
