package terminal

import (
	"fmt"

	"github.com/toolgate/toolgate/internal/decision"
)

// CheckExamples reports the first example that the rule does not treat as its
// author expects: match are scripts in which it must match a command, notMatch
// such in which it must not let one through. The rule is judged alone.
func (r Rule) CheckExamples(match, notMatch []string) error {
	if len(r.tokens) == 0 {
		return fmt.Errorf("terminal: rule %q was not parsed", r.Text)
	}
	for _, example := range match {
		if !r.lets(example) && !r.stops(example) {
			return fmt.Errorf("terminal: rule %q does not match its example %q", r.Text, example)
		}
	}
	for _, example := range notMatch {
		if r.lets(example) {
			return fmt.Errorf("terminal: rule %q matches %q, which it must not", r.Text, example)
		}
	}
	return nil
}

// lets reports whether the rule, as the only one that allows, allows a command
// of the script.
func (r Rule) lets(script string) bool {
	return r.alone(Options{Enabled: true, Allow: []Rule{r}}, script, decision.CommandOK)
}

// stops reports whether the rule, as the only one that blocks, blocks a command
// of the script.
func (r Rule) stops(script string) bool {
	return r.alone(Options{Enabled: true, Block: []Rule{r}}, script, decision.CommandBlocked)
}

func (r Rule) alone(o Options, script string, want decision.Reason) bool {
	j, err := New(o)
	if err != nil {
		return false
	}
	for _, c := range j.Explain(script).Commands {
		if c.Rule != "" && c.Reason == want {
			return true
		}
	}
	return false
}
