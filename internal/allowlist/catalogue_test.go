package allowlist_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

func TestCatalogueProblems(t *testing.T) {
	t.Parallel()
	type catalogueData = allowlist.CatalogueData
	for edge, row := range map[string]struct {
		change func(*catalogueData)
		want   string
	}{
		"an unknown group in a remit": {func(d *catalogueData) { d.Roles[0].Remit = named("@reed") }, "write @read"},
		"an unknown browser group":    {func(d *catalogueData) { d.BrowserGroups = []string{"browsr"} }, "write @browser"},
		"an unknown network group":    {func(d *catalogueData) { d.NetworkGroups = []string{"read_file"} }, `"read_file"`},
		"an unknown writer":           {func(d *catalogueData) { d.Writers = named("write_fil") }, "write write_file"},
		"an unknown tool of a stage":  {func(d *catalogueData) { d.Stages[2].NoCodeReading = named("red_file") }, "write read_file"},
		"an unknown tool of a job":    {func(d *catalogueData) { d.Jobs[0].Tools = named("query") }, `"query"`},
		"a tool twice": {func(d *catalogueData) {
			d.Registries[0].Tools = append(d.Registries[0].Tools, d.Registries[0].Tools[0])
		}, "read_file"},
		"a tool named like MCP":                    {func(d *catalogueData) { d.Registries[0].Tools[0].Name = "mcp__a__b" }, "mcp__a__b"},
		"a tool without a name":                    {func(d *catalogueData) { d.Registries[0].Tools[0].Name = "" }, `""`},
		"two tools of one alias":                   {aliased("read_file", "grep_code"), `"X" of runtime r`},
		"a registry twice":                         {func(d *catalogueData) { d.Registries = append(d.Registries, d.Registries[0]) }, "std"},
		"a stage twice":                            {func(d *catalogueData) { d.Stages = append(d.Stages, d.Stages[0]) }, "in_progress"},
		"a role twice":                             {func(d *catalogueData) { d.Roles = append(d.Roles, d.Roles[0]) }, "build"},
		"a job without a name":                     {func(d *catalogueData) { d.Jobs[0].Name = "" }, "job"},
		"an agent of no registry":                  {func(d *catalogueData) { d.Agents[0].Registry = "stdd" }, "write std"},
		"an agent with a tool of another registry": {func(d *catalogueData) { d.Agents[0].Tools = named("Bash") }, `"Bash"`},
		"an agent that holds everything":           {func(d *catalogueData) { d.Agents[0].Tools = named("*") }, `"*"`},
		"an agent without tools":                   {func(d *catalogueData) { d.Agents[0].Tools = nil }, "dev"},
		"a default outside the remit":              {func(d *catalogueData) { d.Roles[1].Defaults = named("Read", "Bash") }, "Bash"},
		"a star that pre-approves":                 {func(d *catalogueData) { d.ReadOnly = named("*") }, `"*"`},
		"a star in a job":                          {func(d *catalogueData) { d.JobAlways = named("*") }, `"*"`},
		"a stage that keeps a writer":              {func(d *catalogueData) { d.Stages[3].Keep = named("@merge", "@writer") }, "@writer"},
		"a stage that keeps a writer that stages strip too": {func(d *catalogueData) {
			d.StageStrips, d.Stages[3].Keep = named("@merge", "@writer"), named("write_file")
		}, "write_file"},
		"a stage that keeps what none strips": {func(d *catalogueData) { d.Stages[3].Keep = named("read_file") }, "read_file"},
		"pre-approved and yet out":            {func(d *catalogueData) { d.ReadOnly = named("Read", "Bash") }, "Bash"},
	} {
		d := data()
		row.change(&d)
		c, problems := allowlist.NewCatalogue(d)
		text := ""
		for _, p := range problems {
			text += p.Message + "; " + p.Fix + "\n"
		}
		if c != nil || !strings.Contains(text, row.want) {
			t.Errorf("%s: catalogue %t, problems %q, want %q", edge, c != nil, text, row.want)
		}
	}
}

// aliased gives each of these tools of the first registry the same alias.
func aliased(tools ...string) func(*allowlist.CatalogueData) {
	return func(d *allowlist.CatalogueData) {
		for i := range d.Registries[0].Tools {
			if t := &d.Registries[0].Tools[i]; slices.Contains(tools, t.Name) {
				t.Aliases = map[string]string{"r": "X"}
			}
		}
	}
}

// TestCatalogueStaysAsItWas: what the caller does to its data afterwards does
// not change a catalogue.
func TestCatalogueStaysAsItWas(t *testing.T) {
	t.Parallel()
	d := data()
	c, problems := allowlist.NewCatalogue(d)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	d.Roles[1].Remit, d.Roles[1].Defaults = named("*"), named("*")
	d.Registries[1].Tools[0].Name = "Steal"
	a, problems := c.Compile(role("review"), nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if v := a.Decide("Bash", &decision.Facts{}); v.Reason != decision.OutsideRemit {
		t.Errorf("a changed remit took effect: %v", v.Reason)
	}
	if v := a.Decide("Read", &decision.Facts{}); v.Reason != decision.RoleDefault {
		t.Errorf("a changed registry took effect: %v", v.Reason)
	}
}

func TestLookups(t *testing.T) {
	t.Parallel()
	c := catalogue(t)
	for _, row := range []struct {
		what      string
		got, want []string
	}{
		{"registries, in their order", c.Registries(), []string{"std", "rt", "claude"}},
		{"roles, sorted", c.Roles(), []string{"build", "custom", "review"}},
		{"stages, sorted", c.Stages(), []string{"code_review", "done", "in_progress", "in_qa"}},
		{"task types", c.TaskTypes(), []string{"analiz", "feature"}},
		{"jobs", c.Jobs(), []string{"define_errors"}},
		{"agents", c.SeededAgents(), []string{"dev"}},
		{"tools in registry order", c.Tools("rt")[:3], []string{"Read", "Grep", "Glob"}},
		{"tools of no registry", c.Tools("none"), nil},
		{"entries of no registry", c.Entries("none"), nil},
		{"entries: tools, then groups", c.Entries("claude")[8:], []string{"LSP"}},
	} {
		if !slices.Equal(row.got, row.want) {
			t.Errorf("%s: %v, want %v", row.what, row.got, row.want)
		}
	}
	if names, ok := c.Expand("@url"); !ok || !slices.Equal(names, []string{"fetch_url", "browser_open", "Browser", "WebSearch"}) {
		t.Errorf("@url is %v in all registries together", names)
	}
	if names, ok := c.Expand("Read"); !ok || len(names) != 1 {
		t.Errorf("a name that two registries share is there as %v", names)
	}
	if _, ok := c.Expand("@nothing"); ok {
		t.Error("an unknown group expands")
	}
	if tool, ok := c.Lookup("std", "browser_open"); !ok || !tool.Browser || !tool.Network {
		t.Errorf("browser_open is %+v", tool)
	}
	if _, ok := c.Lookup("rt", "browser_open"); ok {
		t.Error("a tool of another registry is found")
	}
	if _, ok := c.Seeded("nobody"); ok {
		t.Error("an unknown agent is found")
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	known := []string{"read_file", "write_file", "Bash", "@code_read"}
	for word, want := range map[string]string{
		"read_fil": "read_file", "bash": "Bash", "wirte_file": "write_file", "@coderead": "@code_read",
		"deploy": "", "": "", "x": "",
	} {
		if got, ok := allowlist.Nearest(word, known); got != want || ok != (want != "") {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}
