package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// free are the builtins that need no rule (contracts, section 3). [[ is a
// keyword and never gets here.
//
//nolint:gochecknoglobals // a constant table
var free = map[string]bool{
	":": true, "true": true, "false": true, "cd": true, "pwd": true, "test": true, "[": true,
	"exit": true, "return": true, "break": true, "continue": true, "shift": true, "wait": true,
	"set": true, "local": true, "export": true,
}

// specialNamed finds the builtins that run what they are given.
func specialNamed(name string) func(*walk, *command) {
	switch name {
	case "eval":
		return (*walk).evalBuiltin
	case "trap":
		return (*walk).trapBuiltin
	case "source", ".":
		return (*walk).sourceBuiltin
	}
	return nil
}

// evalBuiltin judges the words of eval, joined, as code of this shell.
func (w *walk) evalBuiltin(c *command) {
	args := c.args[1:]
	if len(args) > 0 && args[0].is("--") {
		args = args[1:]
	}
	var b strings.Builder
	for i := range args {
		if !args[i].known {
			w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
			return
		}
		b.WriteString(args[i].text)
		b.WriteByte(' ')
	}
	if len(args) > 0 {
		w.code(b.String(), c.at, c.in, w.kind, true)
	}
}

// trapBuiltin judges the action of a trap, which may run at any time.
func (w *walk) trapBuiltin(c *command) {
	args := c.args[1:]
	for len(args) > 0 && (args[0].is("--") || args[0].is("-p") || args[0].is("-l")) {
		if !args[0].is("--") {
			return
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	action := &args[0]
	switch {
	case !action.known:
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
	case action.text == "" || action.text == "-" || len(args) == 1 && constant(action.text):
	default:
		w.code(action.text, c.at, stdin{piped: true}, w.kind, true)
	}
}

// sourceBuiltin judges source: a file needs a rule, and may do anything.
func (w *walk) sourceBuiltin(c *command) {
	if len(c.args) < 2 || !c.args[1].known {
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
		return
	}
	if isStdin(&c.args[1]) {
		if !c.in.known {
			w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
			return
		}
		w.code(c.in.text, c.at, c.in, w.kind, true)
		return
	}
	w.left, w.moved = true, true
	w.permit(c, nil, hazard{})
}

// builtins are checks of builtins whose arguments the shell evaluates (Bash
// Reference Manual, section 4). A rule for the builtin does not lift them.
//
//nolint:gochecknoglobals // a constant table
var builtins = map[string]func(*walk, *command){
	"cd":        func(w *walk, c *command) { w.changesFolder(c.args[1:]) },
	"pushd":     func(w *walk, _ *command) { w.left, w.moved = true, true },
	"popd":      func(w *walk, _ *command) { w.left, w.moved = true, true },
	"test":      func(w *walk, c *command) { w.testBuiltin(c, c.args[1:]) },
	"[":         func(w *walk, c *command) { w.testBuiltin(c, c.args[1:]) },
	"[[":        (*walk).never,
	"set":       (*walk).setBuiltin,
	"wait":      (*walk).plainOperands,
	"printf":    (*walk).printfBuiltin,
	"read":      func(w *walk, c *command) { w.names(c, "ersE", "dinNptu", "a") },
	"mapfile":   func(w *walk, c *command) { w.names(c, "t", "dnOsu", "") },
	"readarray": func(w *walk, c *command) { w.names(c, "t", "dnOsu", "") },
	"unset":     (*walk).unsetBuiltin,
	"getopts":   (*walk).getoptsBuiltin,
	"hash":      (*walk).hashBuiltin,
	"shopt":     (*walk).shoptBuiltin,
	"declare":   (*walk).declareWords, "typeset": (*walk).declareWords, "readonly": (*walk).declareWords, "local": (*walk).declareWords,
	"export": (*walk).declareWords, "nameref": (*walk).never, "let": (*walk).never,
	"alias": (*walk).never, "bind": (*walk).never, "compgen": (*walk).never, "complete": (*walk).never,
	"compopt": (*walk).never, "coproc": (*walk).never, "enable": (*walk).never, "fc": (*walk).never, "history": (*walk).never,
}

func (w *walk) unclear(c *command) {
	w.refuse(decision.CommandUnresolvable, c.at, w.shown(c))
}

// never refuses a builtin that evaluates its arguments.
func (w *walk) never(c *command) { w.unclear(c) }

// unsetBuiltin judges unset: a name that is no variable may be a function.
func (w *walk) unsetBuiltin(c *command) {
	w.names(c, "v", "", "")
	if len(c.args) > 1 && c.args[1].is("-v") {
		return
	}
	for i := range c.args[1:] {
		if name := c.args[i+1].text; w.functions[name] != nil || w.definesLater(name) {
			w.unclear(c)
		}
	}
}

// plainOperands refuses words that may become options.
func (w *walk) plainOperands(c *command) {
	for i := range c.args[1:] {
		a := &c.args[i+1]
		if a.known && a.mayBeOption() && !a.is("-n") && !a.is("-f") || a.unknownOption() && !a.number {
			w.unclear(c)
		}
	}
}

// testBuiltin judges test and [: only -v and -R evaluate a word, so neither may
// come out of words that are not known.
func (w *walk) testBuiltin(c *command, args []arg) {
	for i := range args {
		a := &args[i]
		var next *arg
		if i+1 < len(args) {
			next = &args[i+1]
		}
		switch {
		case a.number:
		case a.many:
			w.unclear(c)
		case a.known && (a.text == "-v" || a.text == "-R") && next != nil && (!next.known || !syntax.ValidName(next.text)):
			w.unclear(c)
		case a.unknownOption() && next != nil && !next.number && (!next.known || strings.Contains(next.text, "[")):
			w.unclear(c)
		}
	}
}

// setBuiltin permits the options e, u, x and o pipefail in both directions; more
// of them, and words after --, with a rule for set.
func (w *walk) setBuiltin(c *command) {
	for i := 1; i < len(c.args); i++ {
		a := &c.args[i]
		switch {
		case a.is("--"):
			return
		case !a.known:
			w.unclear(c)
			return
		case len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+':
			return
		case strings.Trim(a.text[1:], "euxfCETvo") != "":
			w.unclear(c)
			return
		}
		for range strings.Count(a.text, "o") {
			if i++; i >= len(c.args) || !safeShellOption(&c.args[i]) {
				w.unclear(c)
				return
			}
		}
	}
}

// freeSet reports whether set uses only what needs no rule.
func freeSet(args []arg) bool {
	for i := 0; i < len(args); i++ {
		a := &args[i]
		if !a.known || len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' || strings.Trim(a.text[1:], "euxo") != "" {
			return false
		}
		for range strings.Count(a.text, "o") {
			if i++; i >= len(args) || !args[i].is("pipefail") {
				return false
			}
		}
	}
	return len(args) > 0
}

// printfBuiltin refuses printf -v, whose name is evaluated, and a first word
// that may become that option.
func (w *walk) printfBuiltin(c *command) {
	if len(c.args) > 1 && (c.args[1].unknownOption() && (c.args[1].many || len(c.args) > 2) || strings.HasPrefix(c.args[1].text, "-v")) {
		w.unclear(c)
	}
}

// names judges builtins that set the variables that they are given the names
// of. flags are options without a value, values such with one, named such whose
// value is a name.
func (w *walk) names(c *command, flags, values, named string) {
	args := c.args[1:]
	for len(args) > 0 && args[0].known && len(args[0].text) > 1 && args[0].text[0] == '-' {
		option := args[0].text[1:]
		args = args[1:]
		if option == "-" {
			break
		}
		for option != "" {
			f := option[0]
			option = option[1:]
			if strings.IndexByte(flags, f) >= 0 {
				continue
			}
			value := literal(option)
			if option == "" && len(args) > 0 {
				value, args = args[0], args[1:]
			}
			option = ""
			switch {
			case strings.IndexByte(named, f) >= 0:
				w.named(c, &value)
			case strings.IndexByte(values, f) < 0 || value.many:
				w.unclear(c)
			}
		}
	}
	for i := range args {
		w.named(c, &args[i])
	}
}

func (w *walk) named(c *command, a *arg) {
	if !a.known || !syntax.ValidName(a.text) {
		w.unclear(c)
		return
	}
	w.setsVariable(a.text, c.at)
}

func (w *walk) getoptsBuiltin(c *command) {
	if len(c.args) < 3 || !c.args[1].known {
		w.unclear(c)
		return
	}
	w.named(c, &c.args[2])
}

// hashBuiltin refuses hash -p, which makes a name stand for another file; that
// file is held against the block list.
func (w *walk) hashBuiltin(c *command) {
	for i := range c.args[1:] {
		a := &c.args[i+1]
		if a.is("-r") {
			continue
		}
		w.unclear(c)
		if !a.known {
			w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
		} else if file := strings.TrimPrefix(a.text, "-p"); file != "" {
			w.isBlocked(c, []arg{literal(file)})
		}
	}
}

// shoptBuiltin permits options of globbing; others change what is parsed.
func (w *walk) shoptBuiltin(c *command) {
	for i := range c.args[1:] {
		switch a := &c.args[i+1]; {
		case !a.known:
			w.unclear(c)
		case a.text == "-s" || a.text == "-u" || a.text == "-q" || a.text == "-p":
		case a.text == "nullglob" || a.text == "failglob" || a.text == "dotglob" || a.text == "globstar" ||
			a.text == "nocaseglob" || a.text == "nocasematch" || a.text == "inherit_errexit" || a.text == "lastpipe":
		default:
			w.unclear(c)
		}
	}
}
