package terminal

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// command is one simple command on its way to a verdict.
type command struct {
	args []arg
	at   syntax.Pos
	in   stdin
	// direct says that the shell itself looks the name up, so that functions
	// and builtins count. A wrapper program looks for files only.
	direct bool
	// noFunctions says that functions do not count although builtins do.
	noFunctions bool
	// checked says that its arguments were judged already (export and its kind).
	checked bool
}

// call judges a simple command as it is written in the script.
func (w *walk) call(c *syntax.CallExpr, in stdin) {
	if len(c.Args) == 0 {
		w.assignments(c.Assigns)
		return
	}
	args := make([]arg, 0, len(c.Args)+2)
	for _, word := range c.Args {
		args = w.words(args, word)
	}
	if len(c.Assigns) > 0 {
		w.environment(c.Assigns, &args[0])
	}
	w.run(&command{args: args, at: c.Pos(), in: in, direct: true})
}

// maxBraces bounds the words that one brace list is written out to.
const maxBraces = 64

// words appends a word, or the words that its literal brace lists stand for.
func (w *walk) words(args []arg, word *syntax.Word) []arg {
	a := w.eval(word)
	if a.known || !a.many || a.loose {
		return append(args, a)
	}
	for _, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); !ok || strings.ContainsAny(lit.Value, "\\*?[~") {
			return append(args, a)
		}
	}
	lists, ok := braces(word.Lit())
	if !ok {
		return append(args, a)
	}
	for _, s := range lists {
		b := literal(s)
		b.word, b.in = word, w.text
		args = append(args, b)
	}
	return args
}

// braces writes out {a,b} lists, one after the other and without nesting.
func braces(s string) ([]string, bool) {
	out := []string{""}
	for s != "" {
		before, rest, found := strings.Cut(s, "{")
		if !found {
			for i := range out {
				out[i] += before
			}
			break
		}
		list, after, closed := strings.Cut(rest, "}")
		items := strings.Split(list, ",")
		if !closed || len(items) < 2 || strings.ContainsAny(list, "{") || strings.Contains(before, "}") || len(out)*len(items) > maxBraces {
			return nil, false
		}
		next := make([]string, 0, len(out)*len(items))
		for _, o := range out {
			for _, item := range items {
				next = append(next, o+before+item)
			}
		}
		out, s = next, after
	}
	for _, o := range out {
		if o == "" || strings.Contains(o, "}") {
			return nil, false
		}
	}
	return out, true
}

// run judges a resolved command, and what it runs in turn.
func (w *walk) run(c *command) {
	w.found = true
	defer w.record(c)()
	// A dash begins an option of a keyword that the parser took for a name: time -- x.
	if len(c.args) == 0 || !c.args[0].known || c.args[0].text == "" || c.args[0].text[0] == '-' {
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
		return
	}
	name := c.args[0].text
	plainArgs := w.withoutGlobals(c)
	if w.isBlocked(c, c.args) || plainArgs != nil && w.isBlocked(c, plainArgs) {
		return
	}
	if c.direct && !c.noFunctions && w.callsFunction(name) {
		return
	}
	base := name
	if strings.Contains(name, "/") {
		base = path.Base(name)
	}
	if special := specialNamed(name); special != nil {
		special(w, c)
		return
	}
	if kind := shellNamed(base); kind != noShell {
		w.shell(c, kind)
		return
	}
	if wr := wrapperNamed(base); wr != nil {
		w.wrapper(c, wr)
		return
	}
	w.program(c, base, plainArgs)
}

// isBlocked judges a command by the block list.
func (w *walk) isBlocked(c *command, args []arg) bool {
	rule, sure := w.j.blocked(args)
	switch sure {
	case yes:
		w.deny(decision.CommandBlocked, c.at, w.shown(c), rule)
		return true
	case maybe: // the command may turn out to be the blocked one
		w.refuse(decision.CommandUnresolvable, c.at, w.shown(c))
	case no:
	}
	return false
}

// permit judges a command by the allow list. hazard is what in its arguments a
// rule has to spell out.
func (w *walk) permit(c *command, plainArgs []arg, h hazard) {
	if !w.strict {
		return
	}
	need := 0
	if h.found {
		need = h.last + 1
	}
	rule, spelled := w.j.allowed(c.args, need)
	if rule == nil && plainArgs != nil {
		rule, _ = w.j.allowed(plainArgs, 0)
	}
	switch {
	case rule == nil:
		w.deny(decision.CommandNotAllowed, c.at, w.shown(c), nil)
		return
	case h.unknown:
		w.deny(decision.CommandUnresolvable, c.at, h.detail, nil)
		return
	case h.found && !spelled:
		w.deny(decision.CommandNotAllowed, c.at, h.detail, nil)
		return
	}
	w.allowedBy(rule)
	if name := c.args[0].text; strings.Contains(name, "/") && !path.IsAbs(name) {
		w.uses(decision.CommandUnresolvable, c.at, name, true)
	}
}

// allowedBy notes the rule that allowed the command at hand.
func (w *walk) allowedBy(rule *Rule) {
	if w.rule == nil {
		w.rule = rule
	}
	if w.current > 0 && w.commands[w.current-1].Rule == "" {
		w.commands[w.current-1].Rule = rule.Text
	}
}

// hazard is what in the arguments of a permitted program runs or writes
// something else.
type hazard struct {
	found   bool
	unknown bool // a word that is not known may be one: no rule can spell it out
	last    int  // place, in the command as written, of the last word it needs
	detail  string
}

// add notes one more.
func (h *hazard) add(detail string, last int) {
	if !h.found && !h.unknown {
		h.detail = detail
	}
	h.found = true
	h.last = max(h.last, last)
}

// unclear notes a word that may be one.
func (h *hazard) unclear(a *arg) {
	if !h.unknown {
		h.detail = a.String()
	}
	h.unknown = true
}

// shown writes a command for a reader: the resolved words, bounded.
func (w *walk) shown(c *command) string {
	const most = 512
	var b strings.Builder
	for i := range c.args {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(c.args[i].String())
		if b.Len() > most {
			b.WriteString(" …")
			break
		}
	}
	return b.String()
}
