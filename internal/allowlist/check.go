package allowlist

import (
	"slices"

	"github.com/toolgate/toolgate/internal/decision"
)

// names checks that every list names what is there.
func (b *builder) names() {
	d := b.data
	for i := range d.Roles { // only a role may speak of everything
		b.known(d.Roles[i].Remit, true)
		b.known(d.Roles[i].Defaults, true)
	}
	lists := [][]Named{d.JobAlways, d.Writers, d.StageStrips, d.Planned, d.ReadOnly, d.Exfiltration, d.WriteCapable}
	for i := range d.Stages {
		lists = append(lists, d.Stages[i].Keep, d.Stages[i].NoCodeReading)
	}
	for i := range d.Jobs {
		lists = append(lists, d.Jobs[i].Tools)
	}
	for _, list := range lists {
		b.known(list, false)
	}
	for _, g := range slices.Concat(d.BrowserGroups, d.NetworkGroups) {
		if _, ok := b.c.Expand("@" + g); !ok {
			b.problem(decision.Position{}, suggest("@"+g, b.c.entries()), "no registry has a group %q", g)
		}
	}
	for i := range d.Agents {
		b.seeded(&d.Agents[i])
	}
}

// known checks a list against all registries.
func (b *builder) known(list []Named, star bool) {
	for _, n := range list {
		if _, ok := b.c.Expand(n.Name); !ok || n.Name == everything && !star {
			b.problem(n.Pos, suggest(n.Name, b.c.entries()), "no registry has a tool or group %q", n.Name)
		}
	}
}

// seeded checks an agent of the catalogue. One without tools would be
// unrestricted.
func (b *builder) seeded(a *SeededData) {
	r := b.c.registries[a.Registry]
	if r == nil {
		b.problem(a.Pos, suggest(a.Registry, b.c.names), "agent %s names registry %q, which is not there", a.Name, a.Registry)
		return
	}
	if len(a.Tools) == 0 {
		b.problem(a.Pos, "list its tools", "agent %s has no tools, which would make it unrestricted", a.Name)
	}
	for _, n := range a.Tools {
		if _, ok := r.resolve(n.Name); !ok || n.Name == everything {
			b.problem(n.Pos, suggest(n.Name, b.c.Entries(r.name)), "registry %s has no tool or group %q", r.name, n.Name)
		}
	}
}

// entries lists what any registry's lists may name.
func (c *Catalogue) entries() []string {
	var all []string
	for _, name := range c.names {
		all = append(all, c.Entries(name)...)
	}
	return all
}

// contradictions finds entries that another one takes back in a registry.
func (b *builder) contradictions(r *registry) {
	d := b.data
	for i := range d.Roles {
		remit := r.roles[d.Roles[i].Name].remit
		if remit.empty() {
			continue // the role is made for another registry
		}
		for _, n := range outside(r, d.Roles[i].Defaults, remit) {
			b.problem(n.Pos, "add it to the remit, or remove it", "default %s of role %s is outside the remit", n.Name, d.Roles[i].Name)
		}
	}
	strips, writers := r.all(d.StageStrips), r.all(d.Writers)
	strips.minus(writers)
	for i := range d.Stages {
		for _, n := range outside(r, d.Stages[i].Keep, strips) {
			b.problem(n.Pos, "keep what stage_strips names", "stage %s cannot keep %s: it is a writer, or no stage strips it", d.Stages[i].Name, n.Name)
		}
	}
	out := r.all(d.Exfiltration)
	out.union(r.all(d.WriteCapable))
	in := r.all([]Named{{Name: everything}})
	in.minus(out)
	for _, n := range outside(r, d.ReadOnly, in) {
		b.problem(n.Pos, "name it in one of the two", "%s is in the read-only set and is what read_only takes away", n.Name)
	}
}

// outside returns the entries of a list that stand for a tool beyond bound.
func outside(r *registry, list []Named, bound set) []Named {
	var out []Named
	for _, n := range list {
		if s, _ := r.resolve(n.Name); !s.within(bound) {
			out = append(out, n)
		}
	}
	return out
}
