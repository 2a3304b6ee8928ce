package allowlist

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
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
	data       CatalogueData
}

// registry is one ordered list of tools with everything that narrows it.
type registry struct {
	name   string
	tools  []Tool
	index  map[string]int
	groups map[string]set
	shells []string

	stages    map[string]*stage
	taskTypes map[string]*taskType
	jobs      map[string]*job
	planned   set

	readOnly, exfiltration, writeCapable set
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

// NewCatalogue checks a catalogue: every name that an entry uses must be a tool
// or a group of some registry, and nothing may be there twice.
func NewCatalogue(data CatalogueData) (*Catalogue, []Problem) {
	c := &Catalogue{registries: map[string]*registry{}, data: data}
	b := &builder{c: c}
	for i := range data.Registries {
		b.registry(&data.Registries[i])
	}
	c.roles = byName(b, "role", data.Roles, func(r *RoleData) Named { return Named{r.Name, r.Pos} })
	c.seeded = byName(b, "agent", data.Agents, func(a *SeededData) Named { return Named{a.Name, a.Pos} })
	c.stages = byName(b, "stage", data.Stages, func(s *StageData) Named { return Named{s.Name, s.Pos} })
	c.taskTypes = byName(b, "task type", data.TaskTypes, func(t *TaskTypeData) Named { return Named{t.Name, t.Pos} })
	c.jobs = byName(b, "job", data.Jobs, func(j *JobData) Named { return Named{j.Name, j.Pos} })
	b.names()
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	for _, name := range c.names {
		c.narrow(c.registries[name])
	}
	return c, nil
}

// builder gathers what is wrong.
type builder struct {
	c        *Catalogue
	problems []Problem
}

func (b *builder) problem(pos decision.Position, fix, format string, args ...any) {
	b.problems = append(b.problems, Problem{pos, fmt.Sprintf(format, args...), fix})
}

// byName indexes a list and refuses what is there twice.
func byName[T any](b *builder, what string, list []T, name func(*T) Named) map[string]*T {
	out := make(map[string]*T, len(list))
	for i := range list {
		n := name(&list[i])
		if _, twice := out[n.Name]; twice || n.Name == "" {
			b.problem(n.Pos, "give each "+what+" a name of its own", "%s %q is there twice or has no name", what, n.Name)
		}
		out[n.Name] = &list[i]
	}
	return out
}

// registry indexes one registry.
func (b *builder) registry(d *RegistryData) {
	if _, twice := b.c.registries[d.Name]; twice || d.Name == "" {
		b.problem(d.Pos, "give each registry a name of its own", "registry %q is there twice or has no name", d.Name)
		return
	}
	r := &registry{name: d.Name, tools: slices.Clone(d.Tools), index: map[string]int{}, groups: map[string]set{}}
	for i := range r.tools {
		t := &r.tools[i]
		if _, twice := r.index[t.Name]; twice || !validToolName(t.Name) {
			b.problem(d.Pos, "", "tool %q of registry %s is there twice or is not a name", t.Name, d.Name)
		}
		r.index[t.Name] = i
		for _, g := range t.Groups {
			if r.groups[g] == nil {
				r.groups[g] = newSet(len(r.tools))
			}
			r.groups[g].add(i)
			t.Browser = t.Browser || slices.Contains(b.c.data.BrowserGroups, g)
			t.Network = t.Network || slices.Contains(b.c.data.NetworkGroups, g)
		}
		t.Network = t.Network || t.Browser || len(t.URLArgs) > 0
		if t.CommandArg != "" {
			r.shells = append(r.shells, t.Name)
		}
	}
	b.c.registries[d.Name] = r
	b.c.names = append(b.c.names, d.Name)
}

// validToolName reports whether s can be the name of a registered tool: not one
// of an MCP server's.
func validToolName(s string) bool {
	return s != "" && len(s) <= maxToolName && !strings.HasPrefix(s, mcpPrefix) &&
		!strings.ContainsFunc(s, func(r rune) bool {
			return r <= ' ' || r >= 0x7f || r == '@' || r == '*' || r == '(' || r == ')' || r == ','
		})
}

// names checks every entry of the catalogue's lists.
func (b *builder) names() {
	d := &b.c.data
	lists := [][]Named{d.JobAlways, d.Writers, d.StageStrips, d.Planned, d.ReadOnly, d.Exfiltration, d.WriteCapable}
	for i := range d.Roles {
		lists = append(lists, d.Roles[i].Remit, d.Roles[i].Defaults)
	}
	for i := range d.Agents {
		lists = append(lists, d.Agents[i].Tools)
		if b.c.registries[d.Agents[i].Registry] == nil {
			b.problem(d.Agents[i].Pos, "", "agent %s names registry %q, which is not there", d.Agents[i].Name, d.Agents[i].Registry)
		}
	}
	for i := range d.Stages {
		lists = append(lists, d.Stages[i].Keep, d.Stages[i].NoCodeReading)
	}
	for i := range d.Jobs {
		lists = append(lists, d.Jobs[i].Tools)
	}
	for _, list := range lists {
		for _, n := range list {
			if !b.c.known(n.Name) {
				b.problem(n.Pos, "", "no registry has a tool or group %q", n.Name)
			}
		}
	}
}

// known reports whether some registry knows an entry.
func (c *Catalogue) known(entry string) bool {
	for _, r := range c.registries {
		if _, ok := r.resolve(entry); ok {
			return true
		}
	}
	return false
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

// narrow works out what each stage, task type and job does to a registry.
func (c *Catalogue) narrow(r *registry) {
	d := &c.data
	r.stages, r.taskTypes, r.jobs = map[string]*stage{}, map[string]*taskType{}, map[string]*job{}
	for i := range d.Stages {
		r.stages[d.Stages[i].Name] = c.stage(r, &d.Stages[i])
	}
	for i := range d.TaskTypes {
		t := &taskType{verdict: narrowed(decision.StrippedByTaskType, decision.LayerTaskType, "task type "+d.TaskTypes[i].Name, d.TaskTypes[i].Pos)}
		if d.TaskTypes[i].NoWorkspaceWrites {
			t.strips = r.all(d.Writers)
		}
		r.taskTypes[d.TaskTypes[i].Name] = t
	}
	for i := range d.Jobs {
		rule, pos := "job "+d.Jobs[i].Name, d.Jobs[i].Pos
		j := &job{
			leaves:  r.all(d.JobAlways),
			outside: narrowed(decision.OutsideJob, decision.LayerJob, rule, pos),
			noMCP:   narrowed(decision.JobNoMCP, decision.LayerJob, rule, pos),
		}
		j.leaves.union(r.all(d.Jobs[i].Tools))
		r.jobs[d.Jobs[i].Name] = j
	}
	r.planned = r.all(d.Planned)
	r.readOnly, r.exfiltration, r.writeCapable = r.all(d.ReadOnly), r.all(d.Exfiltration), r.all(d.WriteCapable)
}

// stage works out what one stage strips of a registry. Its keep-list exempts
// from what goes beside the writers, never a writer (contracts, section 1).
func (c *Catalogue) stage(r *registry, d *StageData) *stage {
	rule := "stage " + d.Name
	s := &stage{
		codeReading:   r.all(d.NoCodeReading),
		noWriters:     narrowed(decision.StrippedByStageWriters, decision.LayerStage, rule, d.Pos),
		noCodeReading: narrowed(decision.StrippedByStageCodeReading, decision.LayerStage, rule, d.Pos),
	}
	if d.StripWriters {
		s.writers = r.all(c.data.StageStrips)
		s.writers.minus(r.all(d.Keep))
		s.writers.union(r.all(c.data.Writers))
	}
	return s
}

// Registries lists the registries in their order.
func (c *Catalogue) Registries() []string { return slices.Clone(c.names) }

// Roles, SeededAgents, Stages, TaskTypes and Jobs list the names that are
// known, sorted.
func (c *Catalogue) Roles() []string        { return slices.Sorted(maps.Keys(c.roles)) }
func (c *Catalogue) SeededAgents() []string { return slices.Sorted(maps.Keys(c.seeded)) }
func (c *Catalogue) Stages() []string       { return slices.Sorted(maps.Keys(c.stages)) }
func (c *Catalogue) TaskTypes() []string    { return slices.Sorted(maps.Keys(c.taskTypes)) }
func (c *Catalogue) Jobs() []string         { return slices.Sorted(maps.Keys(c.jobs)) }

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
