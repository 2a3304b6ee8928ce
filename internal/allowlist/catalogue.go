package allowlist

import (
	"maps"
	"slices"
	"strings"
)

// everything is the entry that stands for all tools of a registry.
const everything = "*"

// Catalogue is a checked catalogue, ready to compile agents against. It never
// changes.
type Catalogue struct {
	registries map[string]*registry
	names      []string // of the registries, in order
	roles      map[string]*RoleData
	seeded     map[string]*SeededData
	stages     map[string]*StageData
	taskTypes  map[string]*TaskTypeData
	jobs       map[string]*JobData
}

// registry is one ordered list of tools with everything that narrows it.
type registry struct {
	name   string
	tools  []Tool
	index  map[string]int
	groups map[string]set
	// aliased are the tools that some runtime calls so.
	aliased map[string]set
	shells  []string

	roles     map[string]role
	stages    map[string]*stage
	taskTypes map[string]*taskType
	jobs      map[string]*job
	planned   set

	readOnly, exfiltration, writeCapable set
}

// role is a role in the tools of one registry.
type role struct {
	remit, defaults set
}

// stage is what a stage strips, and what it says of it.
type stage struct {
	writers, codeReading     set
	noWriters, noCodeReading Verdict
}

// taskType is what a task type strips.
type taskType struct {
	strips  set
	verdict Verdict
}

// job is what a job leaves.
type job struct {
	leaves         set
	outside, noMCP Verdict
}

// validToolName reports whether s can be the name of a registered tool: not one
// of an MCP server's.
func validToolName(s string) bool {
	return s != "" && len(s) <= maxToolName && !strings.HasPrefix(s, mcpPrefix) &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || r == '@' || r == '*' || r == '(' || r == ')' || r == ','
		})
}

// resolve returns the tools that an entry stands for: a tool name, an @group,
// or everything.
func (r *registry) resolve(entry string) (set, bool) {
	s := newSet(len(r.tools))
	if group, ok := strings.CutPrefix(entry, "@"); ok {
		g, found := r.groups[group]
		s.union(g)
		return s, found
	}
	if entry == everything {
		for i := range r.tools {
			s.add(i)
		}
		return s, true
	}
	i, found := r.index[entry]
	if found {
		s.add(i)
	}
	return s, found
}

// all returns the tools of this registry that a list of entries stands for.
// Entries that only other registries know stand for nothing here.
func (r *registry) all(list []Named) set {
	s := newSet(len(r.tools))
	for _, n := range list {
		part, _ := r.resolve(n.Name)
		s.union(part)
	}
	return s
}

// Registries lists the registries in their order.
func (c *Catalogue) Registries() []string { return slices.Clone(c.names) }

// Roles lists the roles, sorted.
func (c *Catalogue) Roles() []string { return slices.Sorted(maps.Keys(c.roles)) }

// SeededAgents lists the agents of the catalogue, sorted.
func (c *Catalogue) SeededAgents() []string { return slices.Sorted(maps.Keys(c.seeded)) }

// Stages lists the stages, sorted.
func (c *Catalogue) Stages() []string { return slices.Sorted(maps.Keys(c.stages)) }

// TaskTypes lists the task types, sorted.
func (c *Catalogue) TaskTypes() []string { return slices.Sorted(maps.Keys(c.taskTypes)) }

// Jobs lists the jobs, sorted.
func (c *Catalogue) Jobs() []string { return slices.Sorted(maps.Keys(c.jobs)) }

// Seeded returns an agent of the catalogue.
func (c *Catalogue) Seeded(name string) (SeededData, bool) {
	if a := c.seeded[name]; a != nil {
		return *a, true
	}
	return SeededData{}, false
}

// Tools lists the tools of a registry in its order, nil for an unknown one.
func (c *Catalogue) Tools(registry string) []string {
	r := c.registries[registry]
	if r == nil {
		return nil
	}
	names := make([]string, len(r.tools))
	for i := range r.tools {
		names[i] = r.tools[i].Name
	}
	return names
}

// Expand returns the tool names that an entry (a tool or an @group) stands for
// in any registry; false if none knows it.
func (c *Catalogue) Expand(entry string) ([]string, bool) {
	var names []string
	found := false
	for _, name := range c.names {
		r := c.registries[name]
		s, ok := r.resolve(entry)
		found = found || ok
		for i := range r.tools {
			if s.has(i) && !slices.Contains(names, r.tools[i].Name) {
				names = append(names, r.tools[i].Name)
			}
		}
	}
	return names, found
}

// Lookup returns a tool of a registry.
func (c *Catalogue) Lookup(registry, tool string) (Tool, bool) {
	if r := c.registries[registry]; r != nil {
		if i, ok := r.index[tool]; ok {
			return r.tools[i], true
		}
	}
	return Tool{}, false
}

// Entries lists what a registry's lists may name: tools and @groups.
func (c *Catalogue) Entries(registry string) []string {
	r := c.registries[registry]
	if r == nil {
		return nil
	}
	names := c.Tools(registry)
	for _, g := range slices.Sorted(maps.Keys(r.groups)) {
		names = append(names, "@"+g)
	}
	return names
}
