package config_test

import (
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/config"
)

// TestRuleExamples loads rules with examples: one that a rule does not treat as
// its author expects is a problem at the example itself.
func TestRuleExamples(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, list, rule, want string }{
		{"all as expected", "allow", "{cmd: go build|test, match: [go test ./...], not_match: [go run x.go]}", ""},
		{"a match that does not", "allow", "{cmd: go build|test, match: [go test, go run x.go]}", "match[1]"},
		{"a match only by its beginning", "allow", "{cmd: git log, match: [git logout]}", "match[0]"},
		{"a match behind the end of the rule", "allow", "{cmd: uname $, match: [uname -a]}", "match[0]"},
		{"a not_match that matches", "allow", "{cmd: go *, not_match: [gofmt, go run x.go]}", "not_match[1]"},
		{"under block too", "block", "{cmd: git push, match: [git pull]}", "match[0]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			text := "version: 1\ntools: {terminal: {sandbox: {" + row.list + ": [" + row.rule + "]}}}\n"
			_, problems := config.Load("f", []byte(text), catalogue(t))
			var paths []string
			for _, p := range problems {
				paths = append(paths, p.Path)
			}
			want := ""
			if row.want != "" {
				want = "tools.terminal.sandbox." + row.list + "[0]." + row.want
			}
			if got := strings.Join(paths, " "); got != want {
				t.Errorf("problems at %q, want %q: %v", got, want, problems)
			}
		})
	}
}
