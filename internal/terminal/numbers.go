package terminal

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// harmlessNumber reports parameters that are a number of digits whatever
// happened: $#, $?, $$, $!, ${#x}.
func (w *walk) harmlessNumber(part syntax.WordPart) bool {
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil || p.Excl || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return false
	}
	if p.Length {
		return true
	}
	switch p.Param.Value {
	case "#", "?", "$", "!":
		return p.Index == nil
	}
	return false
}

// isNumber reports whether part becomes an integer: an arithmetic expansion, or
// a variable that is known to hold one.
func (w *walk) isNumber(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.ArithmExp:
		return !strings.ContainsAny(w.source(p), "/%") // a division by zero assigns nothing
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && (w.isNumber(p.Parts[0]) || w.harmlessNumber(p.Parts[0]))
	case *syntax.ParamExp:
		plain := p.Param != nil && !p.Excl && !p.Length && p.Index == nil && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
		return plain && w.isNumberName(p.Param.Value)
	}
	return false
}

// isNumberName reports whether a variable has been set at this point, and is
// only ever set to numbers.
// In a code string nothing is known: the script around it may have set anything.
func (w *walk) isNumberName(name string) bool {
	return w.nested == 0 && slices.Contains(w.numbers, name)
}

// everNumber reports whether the text being judged sets a variable to nothing
// but numbers, as far as that can be seen. Code strings and commands that set
// variables by name leave it unknown, and variables that the shell sets itself
// have no small letter.
func (w *walk) everNumber(name string) bool {
	if !syntax.ValidName(name) || name == strings.ToUpper(name) || w.file == nil {
		return false
	}
	if w.texts == nil {
		w.texts = &textual{names: map[string]bool{}}
		syntax.Walk(w.file, func(n syntax.Node) bool {
			w.texts.see(w, n)
			return true
		})
	}
	return !w.texts.all && !w.texts.names[name]
}

// textual are the variables that may hold something other than a number.
type textual struct {
	all   bool
	names map[string]bool
}

// see notes what a node may set.
func (t *textual) see(w *walk, n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name == nil {
			a := read(n.Value, w.text)
			t.all = t.all || !a.known || !strings.HasPrefix(a.text, "-")
		} else if !n.Naked && (n.Index != nil || n.Array != nil || n.Value == nil || !w.numberWord(n.Value)) {
			t.names[n.Name.Value] = true
		}
	case *syntax.ForClause:
		loop, ok := n.Loop.(*syntax.WordIter)
		if ok && (!loop.InPos.IsValid() || slices.ContainsFunc(loop.Items, func(item *syntax.Word) bool { return !constant(item.Lit()) })) {
			t.names[loop.Name.Value] = true
		}
	case *syntax.ParamExp:
		if n.Param != nil && n.Exp != nil && setsDefault(n.Exp) {
			t.names[n.Param.Value] = true
		}
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			t.call(n.Args, w.text)
		}
	}
}

// call notes what a builtin sets by name, or code may set.
func (t *textual) call(args []*syntax.Word, text string) {
	name := read(args[0], text)
	if !name.known {
		t.all = true
		return
	}
	switch name.text {
	case "eval", "source", ".", "trap", "builtin", "command", "declare", "typeset", "local", "export", "readonly":
		t.all = true
	case "printf", "wait":
		if len(args) > 1 {
			first := read(args[1], text)
			t.all = t.all || first.unknownOption() || strings.HasPrefix(first.text, "-")
		}
	case "read", "mapfile", "readarray", "getopts":
		for _, word := range args[1:] {
			a := read(word, text)
			switch {
			case a.known && syntax.ValidName(a.text):
				t.names[a.text] = true
			case !a.known, len(a.text) > 2 && a.text[0] == '-':
				t.all = true
			}
		}
	}
}

// numberWord reports whether the value of an assignment is a number.
func (w *walk) numberWord(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	part := word.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	if lit, ok := part.(*syntax.Lit); ok {
		return constant(lit.Value)
	}
	_, arithm := part.(*syntax.ArithmExp)
	return arithm || w.harmlessNumber(part)
}
