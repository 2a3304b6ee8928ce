package terminal

import (
	"slices"

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
		return true
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
func (w *walk) isNumberName(name string) bool { return slices.Contains(w.numbers, name) }

// everNumber reports whether the script being judged sets a variable to nothing
// but numbers, as far as that can be seen. Code strings and commands that set
// variables by name leave it unknown.
func (w *walk) everNumber(name string) bool {
	if !syntax.ValidName(name) || w.file == nil {
		return false
	}
	ok := true
	syntax.Walk(w.file, func(n syntax.Node) bool {
		if ok {
			ok = w.keepsNumber(n, name)
		}
		return ok
	})
	return ok
}

// keepsNumber reports whether a node cannot make a variable something other
// than a number.
func (w *walk) keepsNumber(n syntax.Node, name string) bool {
	switch n := n.(type) {
	case *syntax.Assign:
		if n.Name == nil || n.Name.Value != name {
			return n.Name != nil || n.Value == nil || n.Value.Lit() != ""
		}
		return n.Naked || n.Index == nil && n.Array == nil && n.Value != nil && w.numberWord(n.Value)
	case *syntax.ForClause:
		loop, ok := n.Loop.(*syntax.WordIter)
		return !ok || loop.Name.Value != name || loop.InPos.IsValid() && !slices.ContainsFunc(loop.Items, func(item *syntax.Word) bool {
			return !constant(item.Lit())
		})
	case *syntax.ParamExp:
		return n.Exp == nil || n.Exp.Op != syntax.AssignUnset && n.Exp.Op != syntax.AssignUnsetOrNull ||
			n.Param == nil || n.Param.Value != name
	case *syntax.CallExpr:
		return len(n.Args) == 0 || !setsByName(n.Args, name)
	}
	return true
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

// setsByName reports whether a command may set a variable other than by an
// assignment: a builtin that takes names, or code.
func setsByName(args []*syntax.Word, name string) bool {
	switch args[0].Lit() {
	case "read", "mapfile", "readarray", "getopts", "printf", "wait":
		return slices.ContainsFunc(args[1:], func(a *syntax.Word) bool {
			s := a.Lit()
			return s == "" && len(a.Parts) > 0 && mayBeName(a) || s == name
		})
	case "eval", "source", ".", "trap", "builtin", "command", "declare", "typeset", "local", "export", "readonly", "":
		return true
	}
	return false
}

// mayBeName reports whether a word that is no literal may become the name of a
// variable: text in quotes with a blank or a % cannot.
func mayBeName(word *syntax.Word) bool {
	a := read(word, "")
	return !a.known || syntax.ValidName(a.text)
}
