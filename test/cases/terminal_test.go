package cases_test

import (
	"fmt"
	"strings"
	"testing"
)

// terminalCase is a command under a set of rules.
type terminalCase struct {
	ID      string   `json:"id"`
	Mode    string   `json:"mode"`
	Rules   []string `json:"rules"` // "!" in front of one that blocks
	Command string   `json:"command"`
	Enabled *bool    `json:"terminal_enabled,omitempty"`
	Expect  string   `json:"expect"`
	Reason  string   `json:"reason"`
}

func TestTerminalCases(t *testing.T) {
	t.Parallel()
	listed := notYet(t)
	for _, c := range readCases[terminalCase](t, "testdata/terminal.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			settle(t, c.ID, listed, c.run(t))
		})
	}
}

func (c *terminalCase) run(t *testing.T) string {
	t.Helper()
	sandbox := object{"mode": c.Mode, "redirects": "workspace"}
	var allow, block []string
	for _, r := range c.Rules {
		rule, blocked := strings.CutPrefix(r, "!")
		if blocked || c.Mode == "blocklist" {
			block = append(block, rule)
		} else {
			allow = append(allow, rule)
		}
	}
	if allow != nil {
		sandbox["allow"] = allow
	}
	if block != nil {
		sandbox["block"] = block
	}
	enabled := c.Enabled == nil || *c.Enabled
	file := configFile(t, object{
		"version": 1,
		"tools":   object{"terminal": object{"enabled": enabled, "sandbox": sandbox}},
		"agents":  object{"a": object{"tools": []any{}}},
	})
	a := decide(t, file, nil, object{
		"subject": object{"type": "agent", "id": "a"}, "action": object{"name": "execute"},
		"resource": object{"type": "command", "id": c.Command},
	})[0]
	return compareVerdict(a, c.Expect, c.Reason)
}

// compareVerdict compares verdict and reason code.
func compareVerdict(a answer, expect, reason string) string {
	if got := map[bool]string{true: "allow", false: "deny"}[a.Decision]; got != expect || a.Context.Reason != reason {
		return fmt.Sprintf("%s %s, want %s %s", got, a.Context.Reason, expect, reason)
	}
	return ""
}
