// Package docs_test makes the pages that are generated from code, and holds
// the committed copies to it:
//
//	go generate ./test/docs
package docs_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
)

//go:generate go test . -run ^TestReasonsPage$ -update

var update = flag.Bool("update", false, "write the generated pages instead of comparing them")

// reasonsPage is where the list of reasons is published.
const reasonsPage = "../../docs/reasons.md"

// sections are the classes in the order of the page, and what stands above
// each table.
var sections = []struct {
	class       decision.Class
	title, text string
}{
	{decision.ClassAllow, "Allowed", "The answer is yes. Where a call passes several layers, the tool layer's reason is the one given."},
	{decision.ClassPolicy, "Refused by tool policy", "The agent, its role, its run or an argument does not permit the call."},
	{decision.ClassTerminal, "Refused by the terminal guard", "A shell script holds something that may not run."},
	{decision.ClassURL, "Refused by the URL guard", "A target may not be reached, could not be reached, or is not written in one certain way."},
	{decision.ClassGate, "Gates", "Verdicts at the end of a run, on what the run did. The gates are not built yet; the codes are reserved."},
	{decision.ClassFault, "Faults", "The question could not be answered, so the answer is no."},
}

// renderReasons writes the page from the closed list.
func renderReasons() string {
	var b strings.Builder
	b.WriteString(`# Reasons

<!-- Generated from internal/decision by "go generate ./test/docs". Do not edit. -->

Every answer of toolgate carries one code of this list: the decision API
(` + "`context.reason`" + `), the command line, the proxy (` + "`X-Toolgate-Reason`" + ` and the
reason phrase), the log line (` + "`reason`" + `) and the metric label. The list is
closed: a new code, or a change of what one means, is written down in
[decisions](decisions/).

*Report mode* says what happens to a refusal where the mode is ` + "`report`" + `: "let
through" means that it is recorded as ` + "`would_deny`" + ` and the request goes on,
"refused" that it is refused in both modes
([why](decisions/0002-reasons-that-refuse-in-report-mode.md)).
`)
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", s.title, s.text)
		writeTable(&b, s.class)
	}
	return b.String()
}

// writeTable writes the reasons of one class. Only refusals of the guards and
// of policy differ in report mode.
func writeTable(b *strings.Builder, class decision.Class) {
	modes := class == decision.ClassPolicy || class == decision.ClassTerminal || class == decision.ClassURL
	head, rule := "| code | meaning | next step |\n", "|---|---|---|\n"
	if modes {
		head, rule = "| code | meaning | next step | report mode |\n", "|---|---|---|---|\n"
	}
	b.WriteString(head + rule)
	for _, r := range decision.Reasons() {
		if r.Class() != class {
			continue
		}
		// The anchor is what the proxy's problem details link to.
		fmt.Fprintf(b, "| <a id=\"%s\"></a>`%s` | %s | %s |", r, r, r.Sentence(), r.Hint())
		if modes {
			mode := "let through"
			if r.Always() {
				mode = "refused"
			}
			b.WriteString(" " + mode + " |")
		}
		b.WriteString("\n")
	}
}

func TestReasonsPage(t *testing.T) {
	t.Parallel()
	want := renderReasons()
	if *update {
		if err := os.WriteFile(reasonsPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(reasonsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/reasons.md is not what internal/decision says: run go generate ./test/docs")
	}
}

// TestReasonsPageIsWhole holds the generator itself to the list: each code has
// one row, whatever its class.
func TestReasonsPageIsWhole(t *testing.T) {
	t.Parallel()
	page := renderReasons()
	for _, r := range decision.Reasons() {
		if n := strings.Count(page, fmt.Sprintf("| <a id=\"%s\"></a>`%s` |", r, r)); n != 1 {
			t.Errorf("%s has %d rows", r, n)
		}
		if strings.ContainsAny(r.Sentence()+r.Hint(), "|\n") {
			t.Errorf("%s: a text that breaks the table", r)
		}
	}
}
