package terminal

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// Programs knows the files of the machine that scripts will run on.
type Programs interface {
	// SameFile reports whether the absolute path is the same real file that the
	// trusted PATH gives for name. It must be safe for concurrent use.
	SameFile(path, name string) bool
}

// Options configures a Judge. The zero value refuses every script.
type Options struct {
	// Enabled is tools.terminal.enabled. False refuses everything, in every mode.
	Enabled bool
	Mode    Mode
	// Allow is read in allowlist mode; empty allows nothing but the free
	// builtins. Block beats Allow, whatever the order.
	Allow, Block []Rule
	Redirects    Redirects
	// EnvAllow names the variables that a script may set for a command, by name
	// or NAME*. Empty permits none.
	EnvAllow []string
	// Programs lets a bare rule match an absolute path. Nil: it never does.
	Programs Programs
}

// Judge judges scripts. It is immutable and safe for concurrent use. A nil or
// zero Judge refuses every script with terminal_disabled.
type Judge struct {
	enabled   bool
	mode      Mode
	redirects Redirects
	programs  Programs
	allow     ruleIndex
	block     ruleIndex
	env       []envName
	bash      *sync.Pool // of *syntax.Parser
	posix     *sync.Pool
}

// Verdict is what a Judge says about a script. The zero value refuses with
// internal_error.
type Verdict struct {
	Reason decision.Reason // CommandOK or TerminalOff permit; nothing else does
	// Detail is the offending command or token as it was resolved. It is text
	// of the script: quote it before it is shown.
	Detail string
	// Rule and Pos name the rule that blocked, or on an allow the rule that
	// allowed the first command that needed one.
	Rule string
	Pos  decision.Position
	// Line and Col, both from 1, are where the offending command stands; zero
	// when the script as a whole was refused.
	Line, Col int
	// Commands are all the commands that were found. Only Explain fills it.
	Commands []Command
}

// Command is one simple command of a script, resolved.
type Command struct {
	// Argv is what would run, wrappers removed. What is not known before it runs
	// is written as ⟨…⟩ around its source text.
	Argv      []string
	Line, Col int
	Reason    decision.Reason
	Rule      string
}

// New compiles the options. It fails on a rule that ParseRule did not make and
// on an EnvAllow entry that is neither a name nor NAME*.
func New(o Options) (*Judge, error) {
	j := &Judge{
		enabled: o.Enabled, mode: o.Mode, redirects: o.Redirects, programs: o.Programs,
		bash: parsers(syntax.LangBash), posix: parsers(syntax.LangPOSIX),
	}
	if o.Mode > ModeOff || o.Redirects > RedirectsAny {
		return nil, fmt.Errorf("terminal: mode %d or redirects %d is none of the known ones", o.Mode, o.Redirects)
	}
	for _, rules := range [][]Rule{o.Allow, o.Block} {
		for i := range rules {
			if len(rules[i].tokens) == 0 {
				return nil, fmt.Errorf("terminal: rule %q was not parsed", rules[i].Text)
			}
		}
	}
	j.allow, j.block = newRuleIndex(o.Allow), newRuleIndex(o.Block)
	for _, s := range o.EnvAllow {
		n, ok := parseEnvName(s)
		if !ok {
			return nil, fmt.Errorf("terminal: %q is not the name of a variable; write NAME or NAME*", s)
		}
		j.env = append(j.env, n)
	}
	return j, nil
}

func parsers(lang syntax.LangVariant) *sync.Pool {
	return &sync.Pool{New: func() any {
		return syntax.NewParser(syntax.Variant(lang), syntax.KeepComments(true))
	}}
}

// Enabled reports whether any script can be permitted.
func (j *Judge) Enabled() bool { return j != nil && j.enabled }

// Judge judges a script. The same script always gets the same verdict.
func (j *Judge) Judge(script string) Verdict { return j.judge(script, false) }

func (j *Judge) judge(script string, explain bool) Verdict {
	switch {
	case !j.Enabled():
		return Verdict{Reason: decision.TerminalDisabled}
	case strings.IndexByte(script, 0) >= 0:
		line, col := lineCol(script, strings.IndexByte(script, 0))
		return Verdict{Reason: decision.CommandUnparseable, Detail: "character U+0000", Line: line, Col: col}
	case j.mode == ModeOff:
		return Verdict{Reason: decision.TerminalOff}
	}
	w := walk{j: j, strict: j.mode == ModeAllowlist, explain: explain, scope: &scope{}}
	w.script(script)
	return w.verdict()
}

// lineCol returns the place of a byte, both numbers from 1.
func lineCol(s string, at int) (line, col int) {
	before := s[:at]
	return strings.Count(before, "\n") + 1, at - strings.LastIndexByte(before, '\n')
}

// ruleIndex finds the rules for a command by its first word.
type ruleIndex struct {
	byName map[string][]*Rule
	any    []*Rule // rules that begin with *
	bare   []string
}

func newRuleIndex(rules []Rule) ruleIndex {
	x := ruleIndex{byName: make(map[string][]*Rule, len(rules))}
	for i := range rules {
		r := rules[i]
		if r.tokens[0].any() {
			x.any = append(x.any, &r)
			continue
		}
		for _, name := range r.tokens[0].alternatives {
			x.byName[name] = append(x.byName[name], &r)
			if !strings.Contains(name, "/") && !slices.Contains(x.bare, name) {
				x.bare = append(x.bare, name)
			}
		}
	}
	return x
}
