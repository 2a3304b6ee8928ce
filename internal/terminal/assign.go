package terminal

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// envName is an entry of env_allow: a name, or the beginning of names.
type envName struct {
	text   string
	prefix bool
}

func parseEnvName(s string) (envName, bool) {
	name, prefix := strings.CutSuffix(s, "*")
	return envName{text: name, prefix: prefix}, syntax.ValidName(name)
}

// mayExport reports whether env_allow names a variable.
func (j *Judge) mayExport(name string) bool {
	return slices.ContainsFunc(j.env, func(n envName) bool {
		return name == n.text || n.prefix && strings.HasPrefix(name, n.text)
	})
}

// setsVariable judges that a variable of the shell gets some value.
func (w *walk) setsVariable(name string, at syntax.Pos) {
	if !syntax.ValidName(name) || dangerous(name) && !w.j.mayExport(name) {
		w.refuse(decision.CommandAssignment, at, name)
	}
}

// assignments judges assignments that stand alone, so that they set variables
// of the shell.
func (w *walk) assignments(assigns []*syntax.Assign) {
	for _, a := range assigns {
		w.assigned(a)
		if a.Value != nil && a.Index == nil && !a.Append && w.everNumber(a.Name.Value) {
			w.numbers = append(w.numbers, a.Name.Value)
		}
	}
}

// assigned judges one NAME=value, NAME[i]=value or NAME=(…).
func (w *walk) assigned(a *syntax.Assign) arg {
	w.setsVariable(a.Name.Value, a.Pos())
	if a.Index != nil {
		w.subscript(a.Name.Value, a.Index)
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				w.subscript(a.Name.Value, e.Index)
			}
			if e.Value != nil {
				w.eval(e.Value)
			}
		}
	}
	if a.Value == nil {
		return literal("")
	}
	return w.eval(a.Value)
}

// environment judges NAME=value before a command, which puts the variable into
// the environment of that command alone.
func (w *walk) environment(assigns []*syntax.Assign, command *arg) {
	for _, a := range assigns {
		var value arg
		if a.Value != nil {
			value = w.eval(a.Value)
		} else {
			value = literal("")
		}
		name := a.Name.Value
		if name == "IFS" && command.is("read") && value.known {
			continue // split what is read; nothing else sees it
		}
		if a.Index != nil || a.Array != nil || !value.known || !w.j.mayExport(name) {
			w.refuse(decision.CommandAssignment, a.Pos(), name+"="+value.String())
		}
	}
}

// declare judges export, local, declare, typeset, readonly and nameref.
func (w *walk) declare(c *syntax.DeclClause) {
	d := declaration{walk: w, variant: c.Variant.Value, exported: c.Variant.Value == "export"}
	args := []arg{literal(d.variant)}
	for _, a := range c.Args {
		if a.Name == nil { // an option, or a word that becomes NAME or NAME=value
			word := w.eval(a.Value)
			args = append(args, word)
			d.word(&word, a.Pos())
			continue
		}
		args = append(args, d.assign(a))
	}
	w.run(&command{args: args, at: c.Pos(), direct: true, checked: true})
}

// declareWords judges them in a spelling in which the parser sees only words:
// command export, or the language of sh.
func (w *walk) declareWords(c *command) {
	if c.checked {
		return
	}
	d := declaration{walk: w, variant: c.args[0].text, exported: c.args[0].text == "export"}
	for i := range c.args[1:] {
		d.word(&c.args[i+1], c.at)
	}
}

// declaration is one such command.
type declaration struct {
	*walk
	variant         string
	exported, assoc bool
	array           bool // -a or -A: a value in parentheses is expanded once more
}

// word judges an option, NAME, or NAME=value that the parser did not take apart.
func (d *declaration) word(a *arg, at syntax.Pos) {
	if strings.HasPrefix(a.text, "-") || strings.HasPrefix(a.text, "+") {
		d.exported = d.exported || strings.Contains(a.text, "x")
		d.array = d.array || strings.ContainsAny(a.text, "aA")
		// Only here is it sure that the attribute is set now, on this variable.
		sure := d.variant == "declare" || d.variant == "typeset" || d.variant == "local" && d.inFunction != nil
		d.assoc = d.assoc || sure && a.is("-A")
		d.declareOption(d.variant, a, at)
		return
	}
	name, _, has := strings.Cut(a.text, "=")
	if !a.known && (!has || a.loose) {
		d.refuse(decision.CommandUnresolvable, at, d.variant+" "+a.String())
		return
	}
	if has {
		_, value, _ := strings.Cut(a.text, "=")
		d.compound(name, value, a.known, at)
	}
	d.exports(name, d.exported, has, a.known, at)
}

// compound refuses a value that bash may read as a list of words, which it
// expands once more: one in parentheses, or an unknown one, for what is an
// array.
func (d *declaration) compound(name, value string, known bool, at syntax.Pos) {
	isArray := d.array || strings.Contains(d.text, name+"=(")
	if strings.HasPrefix(value, "(") || !known && isArray {
		d.refuse(decision.CommandUnresolvable, at, d.variant+" "+name+"=…")
	}
}

// assign judges NAME and NAME=value.
func (d *declaration) assign(a *syntax.Assign) arg {
	name := a.Name.Value
	if d.assoc {
		d.numbers = append(d.numbers, associative+name)
	}
	out := literal(name)
	if !a.Naked {
		value := d.assigned(a)
		out = arg{text: name + "=" + value.text, known: value.known}
		if a.Array == nil {
			d.compound(name, value.text, value.known, a.Pos())
		}
		if a.Value != nil && a.Index == nil && !a.Append && d.everNumber(name) {
			d.numbers = append(d.numbers, name)
		}
	}
	d.exports(name, d.exported, !a.Naked, out.known, a.Pos())
	return out
}

// declareOption judges an option of declare and its kind: the integer and
// nameref attributes make later assignments evaluate their text, and -f shows
// or exports functions.
func (w *walk) declareOption(variant string, option *arg, at syntax.Pos) {
	if !option.known || strings.Trim(option.text[1:], "aAxrgplu-") != "" {
		w.refuse(decision.CommandUnresolvable, at, variant+" "+option.String())
	}
}

// exports judges a name that declare and its kind set or export.
func (w *walk) exports(name string, exported, has, known bool, at syntax.Pos) {
	switch {
	case !syntax.ValidName(name):
		w.refuse(decision.CommandUnresolvable, at, name)
	case dangerous(name) && !w.j.mayExport(name):
		w.refuse(decision.CommandAssignment, at, name)
	case exported && has && !known:
		w.refuse(decision.CommandAssignment, at, name+"=⟨…⟩")
	}
}

// associative marks, among the numbers of a frame, an array whose subscripts
// are text. A blank keeps it apart from every name.
const associative = "A "

// associative reports whether name is known to be an associative array here.
func (w *walk) associative(name string) bool {
	if !slices.Contains(w.numbers, associative+name) {
		return false
	}
	kept := true
	syntax.Walk(w.file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			name := c.Args[0].Lit()
			kept = kept && name != "unset" && name != "eval" && name != ""
		}
		return kept
	})
	return kept
}
