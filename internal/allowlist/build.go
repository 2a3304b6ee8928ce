package allowlist

import (
	"fmt"
	"maps"
	"slices"

	"github.com/toolgate/toolgate/internal/decision"
)

// NewCatalogue checks a catalogue: every name that an entry uses must be a tool
// or a group of some registry, nothing may be there twice, and no entry may
// contradict another one. All problems are returned at once; with any, there is
// no catalogue.
func NewCatalogue(data CatalogueData) (*Catalogue, []Problem) {
	c := &Catalogue{registries: map[string]*registry{}}
	b := &builder{c: c, data: &data}
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
		b.narrow(c.registries[name])
		b.contradictions(c.registries[name])
	}
	if len(b.problems) > 0 {
		return nil, b.problems
	}
	return c, nil
}

// builder gathers what is wrong.
type builder struct {
	c        *Catalogue
	data     *CatalogueData
	problems []Problem
}

func (b *builder) problem(pos decision.Position, fix, format string, args ...any) {
	b.problems = append(b.problems, Problem{pos, fmt.Sprintf(format, args...), fix})
}

// byName indexes a list and refuses what is there twice.
func byName[T any](b *builder, what string, list []T, name func(*T) Named) map[string]*T {
	list = slices.Clone(list) // what the caller does with its own changes nothing
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
			t.Browser = t.Browser || slices.Contains(b.data.BrowserGroups, g)
			t.Network = t.Network || slices.Contains(b.data.NetworkGroups, g)
		}
		t.Network = t.Network || t.Browser || len(t.URLArgs) > 0
		if t.CommandArg != "" {
			r.shells = append(r.shells, t.Name)
		}
	}
	b.aliases(r, d.Pos)
	b.c.registries[d.Name] = r
	b.c.names = append(b.c.names, d.Name)
}

// aliases indexes what runtimes call the tools. It refuses an alias that means
// two tools of one registry to a runtime.
func (b *builder) aliases(r *registry, pos decision.Position) {
	r.aliased = map[string]set{}
	seen := map[[2]string]string{}
	for i := range r.tools {
		t := &r.tools[i]
		for _, runtime := range slices.Sorted(maps.Keys(t.Aliases)) {
			alias := t.Aliases[runtime]
			if other, twice := seen[[2]string{runtime, alias}]; twice {
				b.problem(pos, "give each tool an alias of its own", "%q of runtime %s is both %s and %s", alias, runtime, other, t.Name)
			}
			seen[[2]string{runtime, alias}] = t.Name
			if r.aliased[alias] == nil {
				r.aliased[alias] = newSet(len(r.tools))
			}
			r.aliased[alias].add(i)
		}
	}
}

// narrow works out what each role holds, and what each stage, task type and job
// takes away, in a registry.
func (b *builder) narrow(r *registry) {
	d := b.data
	r.stages, r.taskTypes, r.jobs = map[string]*stage{}, map[string]*taskType{}, map[string]*job{}
	r.roles = map[string]role{}
	for i := range d.Roles {
		r.roles[d.Roles[i].Name] = role{remit: r.all(d.Roles[i].Remit), defaults: r.all(d.Roles[i].Defaults)}
	}
	for i := range d.Stages {
		r.stages[d.Stages[i].Name] = b.stage(r, &d.Stages[i])
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
func (b *builder) stage(r *registry, d *StageData) *stage {
	rule := "stage " + d.Name
	s := &stage{
		codeReading:   r.all(d.NoCodeReading),
		noWriters:     narrowed(decision.StrippedByStageWriters, decision.LayerStage, rule, d.Pos),
		noCodeReading: narrowed(decision.StrippedByStageCodeReading, decision.LayerStage, rule, d.Pos),
	}
	if d.StripWriters {
		s.writers = r.all(b.data.StageStrips)
		s.writers.minus(r.all(d.Keep))
		s.writers.union(r.all(b.data.Writers))
	}
	return s
}
