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
	variant := c.Variant.Value
	args := []arg{literal(variant)}
	exported := variant == "export"
	assoc := false
	for _, a := range c.Args {
		if a.Name == nil { // an option, or a word that becomes NAME or NAME=value
			word := w.eval(a.Value)
			args = append(args, word)
			if strings.HasPrefix(word.text, "-") || strings.HasPrefix(word.text, "+") {
				exported = exported || strings.Contains(word.text, "x")
				assoc = assoc || strings.Contains(word.text, "A")
				w.declareOption(variant, &word, a.Pos())
				continue
			}
			name, value, has := strings.Cut(word.text, "=")
			if !word.known && !has {
				w.refuse(decision.CommandUnresolvable, a.Pos(), variant+" "+word.String())
				continue
			}
			w.declared(name, exported, has, !word.known || value == "", a.Pos())
			continue
		}
		value := literal("")
		if assoc {
			w.numbers = append(w.numbers, associative+a.Name.Value)
		}
		if !a.Naked {
			value = w.assigned(a)
		}
		text := a.Name.Value
		if !a.Naked {
			text += "=" + value.text
		}
		args = append(args, arg{text: text, known: value.known})
		w.declared(a.Name.Value, exported, !a.Naked, value.known, a.Pos())
		if !a.Naked && a.Value != nil && w.everNumber(a.Name.Value) {
			w.numbers = append(w.numbers, a.Name.Value)
		}
	}
	w.run(&command{args: args, at: c.Pos(), direct: true, checked: true})
}

// declareOption judges an option of declare and its kind: the integer and
// nameref attributes make later assignments evaluate their text, and -f shows
// or exports functions.
func (w *walk) declareOption(variant string, option *arg, at syntax.Pos) {
	if !option.known || strings.Trim(option.text[1:], "aAxrgplu-") != "" {
		w.refuse(decision.CommandUnresolvable, at, variant+" "+option.String())
	}
}

// declared judges a name that declare and its kind set or export.
func (w *walk) declared(name string, exported, has, known bool, at syntax.Pos) {
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
