package terminal_test

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/toolgate/toolgate/internal/terminal"
)

// TestDifferentials: scripts that this package once permitted and that made a
// real bash run something else. A developer's rules permit every program that
// they name first, and none of them.
func TestDifferentials(t *testing.T) {
	t.Parallel()
	o := terminal.Options{Enabled: true, Redirects: terminal.RedirectsWorkspace}
	for _, text := range []string{
		"git status|log|diff|show|fetch|commit|add|branch|grep|rev-parse", "ls", "cat", "grep", "rg", "find", "head", "sort", "sed", "awk",
		"go test|build|vet", "npm test", "python3 -m pytest", "tar", "make test", "echo", "printf", "xargs", "cp", "mv", "tee", "mkdir",
		"bash", "read", "wait",
	} {
		r, err := terminal.ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Allow = append(o.Allow, r)
	}
	j, err := terminal.New(o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("testdata/differentials.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c struct{ ID, Command, Why string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		if v := j.Judge(c.Command); v.Reason.Allows() {
			t.Errorf("%s (%s): %v: %q", c.ID, c.Why, v.Reason, c.Command)
		}
	}
	if n < 50 {
		t.Errorf("only %d scripts were read", n)
	}
}
