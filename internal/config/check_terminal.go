package config

import (
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// terminal checks the rules against their own examples.
func (c *checker) terminal() {
	sandbox := &c.doc.Tools.Terminal.Sandbox
	const path = "tools.terminal.sandbox"
	for i := range sandbox.Allow {
		c.examples(&sandbox.Allow[i], path+".allow["+strconv.Itoa(i)+"]")
	}
	for i := range sandbox.Block {
		c.examples(&sandbox.Block[i], path+".block["+strconv.Itoa(i)+"]")
	}
	for i, name := range sandbox.EnvAllow {
		if at := path + ".env_allow[" + strconv.Itoa(i) + "]"; !validVariable(strings.TrimSuffix(name, "*")) && !c.hasProblem(at) {
			c.bad(at, decision.Quote(name)+" is not the name of a variable", "write NAME, or NAME* for all that begin so")
		}
	}
}

// validVariable reports whether s can be the name of an environment variable.
func validVariable(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', i > 0 && '0' <= c && c <= '9':
		default:
			return false
		}
	}
	return s != ""
}

// examples checks a rule against the commands that its author expects it to
// match, and those that it must not.
func (c *checker) examples(r *CommandRule, path string) {
	if c.hasProblem(path) || c.hasProblem(path+".cmd") {
		return
	}
	for i, example := range r.Match {
		c.example(r.Cmd.CheckExamples([]string{example}, nil), path+".match["+strconv.Itoa(i)+"]")
	}
	for i, example := range r.NotMatch {
		c.example(r.Cmd.CheckExamples(nil, []string{example}), path+".not_match["+strconv.Itoa(i)+"]")
	}
}

func (c *checker) example(err error, path string) {
	if err != nil && !c.hasProblem(path) {
		c.bad(path, plainError(err), "correct the rule or the example")
	}
}
