package config

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// Catalogue is a catalogue that was read and checked.
type Catalogue struct {
	allowlist.CatalogueData

	// Ready is the catalogue in the form that agents are compiled against.
	Ready *allowlist.Catalogue
	// Gates are the checks at the end of a run, by the name that stages use.
	Gates []Gate
}

// Gate is a check at the end of a run.
type Gate struct {
	Name string
	Pos  decision.Position

	// Tools whose calls count as having exercised the product.
	Execution Names `key:"execution,required"`
}

// LoadCatalogue reads a catalogue. name is what positions carry.
func LoadCatalogue(name string, data []byte) (*Catalogue, Problems) {
	root, problems := parse(name, data)
	if root == nil {
		return nil, problems
	}
	d := newDecoder(name)
	var f catalogueFile
	d.value(root, reflect.ValueOf(&f).Elem(), "")
	if f.Version != 1 && len(d.problems) == 0 {
		d.problem(root, "version", "unknown version "+strconv.Itoa(f.Version), "write version: 1")
	}
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	c := &Catalogue{CatalogueData: f.data(), Gates: f.Gates}
	ready, bad := allowlist.NewCatalogue(c.CatalogueData)
	for _, p := range bad {
		d.badAt(p.Pos, d.pathAt(p.Pos), p.Message, p.Fix)
	}
	if ready != nil {
		f.checkGates(d, ready)
	}
	if len(d.problems) > 0 {
		return nil, d.problems.sorted()
	}
	c.Ready = ready
	return c, nil
}

// checkGates checks that stages name gates, and gates name tools.
func (f *catalogueFile) checkGates(d *decoder, c *allowlist.Catalogue) {
	var known []string
	for i := range f.Gates {
		known = append(known, f.Gates[i].Name)
		for _, t := range f.Gates[i].Execution.Items {
			if _, ok := c.Expand(t.Name); !ok {
				d.badAt(t.Pos, d.pathAt(t.Pos), "no registry has a tool or group "+decision.Quote(t.Name), "")
			}
		}
	}
	for i := range f.Stages {
		if g := f.Stages[i].Gate; g.Name != "" && !slices.Contains(known, g.Name) {
			d.badAt(g.Pos, d.pathAt(g.Pos), "unknown gate "+decision.Quote(g.Name), instead(g.Name, known))
		}
	}
}

// data returns the file in the types of package allowlist.
func (f *catalogueFile) data() allowlist.CatalogueData {
	out := allowlist.CatalogueData{
		JobAlways: f.JobAlways.Items, Writers: f.Writers.Items, StageStrips: f.StageStrips.Items, Planned: f.Planned.Items,
		ReadOnly: f.ReadOnly.Set.Items, Exfiltration: f.ReadOnly.Exfiltration.Items, WriteCapable: f.ReadOnly.WriteCapable.Items,
		BrowserGroups: f.BrowserGroups.Strings(), NetworkGroups: f.NetworkGroups.Strings(),
	}
	for i := range f.Registries {
		out.Registries = append(out.Registries, f.Registries[i].data())
	}
	for _, r := range f.Roles {
		out.Roles = append(out.Roles, allowlist.RoleData{Name: r.Name, Pos: r.Pos, Remit: r.Remit.Items, Defaults: r.Defaults.Items})
	}
	for _, a := range f.Agents {
		out.Agents = append(out.Agents, allowlist.SeededData{Name: a.Name, Pos: a.Pos, Registry: a.Registry.Name, Tools: a.Tools.Items})
	}
	for _, s := range f.Stages {
		out.Stages = append(out.Stages, allowlist.StageData{
			Name: s.Name, Pos: s.Pos, StripWriters: s.StripWriters,
			Keep: s.Keep.Items, NoCodeReading: s.NoCodeReading.Items, Gate: s.Gate.Name,
		})
	}
	for _, t := range f.TaskTypes {
		out.TaskTypes = append(out.TaskTypes, allowlist.TaskTypeData{Name: t.Name, Pos: t.Pos, NoWorkspaceWrites: t.NoWorkspaceWrites})
	}
	for _, j := range f.Jobs {
		out.Jobs = append(out.Jobs, allowlist.JobData{Name: j.Name, Pos: j.Pos, Tools: j.Tools.Items})
	}
	return out
}

func (r *registryEntry) data() allowlist.RegistryData {
	out := allowlist.RegistryData{Name: r.Name, Pos: r.Pos}
	for _, t := range r.Tools {
		tool := allowlist.Tool{
			Name: t.Name, Groups: t.Groups.Strings(), URLArgs: t.URLArgs, CommandArg: t.CommandArg,
			RepositoryArg: t.RepositoryArg, ComponentArg: t.ComponentArg, SourceArg: t.SourceArg,
		}
		for _, a := range t.Aliases {
			if tool.Aliases == nil {
				tool.Aliases = map[string]string{}
			}
			tool.Aliases[a.Name] = a.Tool.Name
		}
		out.Tools = append(out.Tools, tool)
	}
	return out
}

// The types below are the catalogue in YAML.

type catalogueFile struct {
	Version       int             `key:"version,required"`
	Registries    []registryEntry `key:"registries,required"`
	BrowserGroups Names           `key:"browser_groups"`
	NetworkGroups Names           `key:"network_groups"`
	Roles         []roleEntry     `key:"roles"`
	Agents        []agentEntry    `key:"agents"`
	Writers       Names           `key:"writers"`
	StageStrips   Names           `key:"stage_strips"`
	Stages        []stageEntry    `key:"stages"`
	TaskTypes     []taskTypeEntry `key:"task_types"`
	Planned       Names           `key:"planned"`
	Jobs          []jobEntry      `key:"jobs"`
	JobAlways     Names           `key:"job_always"`
	ReadOnly      readOnlyEntry   `key:"read_only"`
	Gates         []Gate          `key:"gates"`
}

type registryEntry struct {
	Name  string
	Pos   decision.Position
	Tools []toolEntry `key:"tools,required"`
}

type toolEntry struct {
	Name          string
	Pos           decision.Position
	Groups        Names    `key:"groups"`
	Aliases       []alias  `key:"aliases"`
	URLArgs       []string `key:"url_args"`
	CommandArg    string   `key:"command_arg"`
	RepositoryArg string   `key:"repository_arg"`
	ComponentArg  string   `key:"component_arg"`
	SourceArg     string   `key:"source_arg"`
}

// alias is a tool's name in one runtime.
type alias struct {
	Name string // the runtime
	Pos  decision.Position
	Tool allowlist.Named
}

type roleEntry struct {
	Name     string
	Pos      decision.Position
	Remit    Names `key:"remit,required"`
	Defaults Names `key:"defaults,required"`
}

type agentEntry struct {
	Name     string
	Pos      decision.Position
	Registry allowlist.Named `key:"registry" default:"std"`
	Tools    Names           `key:"tools,required"`
}

type stageEntry struct {
	Name          string
	Pos           decision.Position
	StripWriters  bool            `key:"strip_writers"`
	Keep          Names           `key:"keep"`
	NoCodeReading Names           `key:"no_code_reading"`
	Gate          allowlist.Named `key:"gate"`
}

type taskTypeEntry struct {
	Name              string
	Pos               decision.Position
	NoWorkspaceWrites bool `key:"no_workspace_writes"`
}

type jobEntry struct {
	Name  string
	Pos   decision.Position
	Tools Names `key:"tools,required"`
}

type readOnlyEntry struct {
	Set          Names `key:"set"`
	Exfiltration Names `key:"exfiltration"`
	WriteCapable Names `key:"write_capable"`
}
