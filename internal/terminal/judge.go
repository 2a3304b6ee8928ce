package terminal

import (
	"errors"
	"fmt"

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
	options Options
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
	for _, r := range append(append([]Rule(nil), o.Allow...), o.Block...) {
		if len(r.tokens) == 0 {
			return nil, fmt.Errorf("terminal: rule %q was not parsed", r.Text)
		}
	}
	return &Judge{options: o}, nil
}

// Enabled reports whether any script can be permitted.
func (j *Judge) Enabled() bool { return j != nil && j.options.Enabled }

// Judge judges a script.
func (j *Judge) Judge(script string) Verdict { return j.judge(script, false) }

// Explain judges a script like Judge and lists every command that it found.
func (j *Judge) Explain(script string) Verdict { return j.judge(script, true) }

func (j *Judge) judge(_ string, _ bool) Verdict {
	if !j.Enabled() {
		return Verdict{Reason: decision.TerminalDisabled}
	}
	return Verdict{Reason: decision.CommandUnparseable}
}

// CheckExamples reports the first example that the rule does not treat as its
// author expects: match are commands that it must match, notMatch such that it
// must not.
func (r Rule) CheckExamples(_, _ []string) error {
	if len(r.tokens) == 0 {
		return errors.New("terminal: the rule was not parsed")
	}
	return nil
}
