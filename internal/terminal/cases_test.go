package terminal_test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
)

// labelled is a line of testdata/cases.jsonl: a command, the rules it meets,
// and the reason that the verdict must have.
type labelled struct {
	ID       string   `json:"id"`
	Mode     string   `json:"mode"`
	Rules    []string `json:"rules"` // "!" in front of one that blocks
	Command  string   `json:"command"`
	Reason   string   `json:"reason"`
	Why      string   `json:"why"`
	Disabled bool     `json:"disabled"`
}

func readLabelled(tb testing.TB) []labelled {
	tb.Helper()
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	var all []labelled
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c labelled
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			tb.Fatal(err)
		}
		all = append(all, c)
	}
	if err := lines.Err(); err != nil || len(all) == 0 {
		tb.Fatalf("%d cases, %v", len(all), err)
	}
	return all
}

// programs is a machine on which each of these names is the file in /usr/bin.
type programs []string

func (p programs) SameFile(path, name string) bool {
	for _, known := range p {
		if known == name && path == "/usr/bin/"+name {
			return true
		}
	}
	return false
}

func machine() programs {
	return programs{"ls", "git", "bash", "sh", "env", "timeout", "grep", "curl", "find", "xargs"}
}

// envAllow are the variables of the default configuration.
func envAllow() []string {
	return []string{"LANG", "LC_*", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CI"}
}

// rules parses rules; those that begin with "!" block.
func rules(tb testing.TB, texts ...string) (allow, block []terminal.Rule) {
	tb.Helper()
	for _, text := range texts {
		plain, blocks := strings.CutPrefix(text, "!")
		r, err := terminal.ParseRule(plain)
		if err != nil {
			tb.Fatal(err)
		}
		if blocks {
			block = append(block, r)
		} else {
			allow = append(allow, r)
		}
	}
	return allow, block
}

// options are those that the labelled cases are meant for.
func options(tb testing.TB, mode terminal.Mode, texts ...string) terminal.Options {
	tb.Helper()
	o := terminal.Options{
		Enabled: true, Mode: mode, Redirects: terminal.RedirectsWorkspace,
		EnvAllow: envAllow(), Programs: machine(),
	}
	o.Allow, o.Block = rules(tb, texts...)
	if mode == terminal.ModeBlocklist {
		o.Allow, o.Block = nil, append(o.Block, o.Allow...)
	}
	return o
}

func judge(tb testing.TB, mode terminal.Mode, texts ...string) *terminal.Judge {
	tb.Helper()
	j, err := terminal.New(options(tb, mode, texts...))
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

func (c *labelled) judge(tb testing.TB) *terminal.Judge {
	tb.Helper()
	mode, ok := terminal.ParseMode(c.Mode)
	if !ok {
		tb.Fatalf("mode %q", c.Mode)
	}
	o := options(tb, mode, c.Rules...)
	o.Enabled = !c.Disabled
	j, err := terminal.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return j
}

func permits(v terminal.Verdict) bool {
	return v.Reason == decision.CommandOK || v.Reason == decision.TerminalOff
}

func TestLabelledCases(t *testing.T) {
	t.Parallel()
	for _, c := range readLabelled(t) {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			v := c.judge(t).Judge(c.Command)
			if v.Reason.String() != c.Reason {
				t.Errorf("%s: %q with %q in mode %s\ngot  %s (%s)\nwant %s", c.Why, c.Command, c.Rules, c.Mode, v.Reason, v.Detail, c.Reason)
			}
			if !permits(v) && !c.Disabled && v.Detail == "" {
				t.Errorf("%q is refused without saying for what", c.Command)
			}
		})
	}
}
