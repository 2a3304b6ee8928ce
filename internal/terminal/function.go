package terminal

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// function is a function of the script.
type function struct {
	name string
	// sure says that it is defined in the main course of the script, so that
	// every later line of it can rely on that.
	sure  bool
	calls []string // functions that its body calls
	// checked is the generation of definitions for which whole holds: it and all
	// that it may call are defined for sure.
	checked int
	whole   bool
}

// funcDecl judges a definition. The body is judged like any other code, and the
// name may not be one that something else could mean.
func (w *walk) funcDecl(f *syntax.FuncDecl) {
	w.found = true
	if f.Name == nil || len(f.Names) > 0 {
		w.deny(decision.CommandUnparseable, f.Pos(), firstLine(w.source(f)), nil)
		return
	}
	name := f.Name.Value
	if w.shadows(name) {
		w.refuse(decision.CommandUnresolvable, f.Pos(), "function "+name)
	}
	fn := &function{name: name}
	outer, kept := w.inFunction, len(w.numbers)
	w.inFunction = fn
	w.stmt(f.Body, stdin{piped: true}) // whatever its caller reads
	w.inFunction, w.numbers = outer, w.numbers[:kept]
	fn.sure = outer == nil && w.depth == 1 && !w.shared && w.scope == w.top
	if old := w.functions[name]; old != nil { // either may be the one that is called
		fn.calls = append(fn.calls, old.calls...)
		fn.sure = fn.sure || old.sure
	}
	w.functions[name] = fn
	w.generation++
}

// shadows reports whether a function would stand in front of a program or a
// builtin that is judged under its name, or is a hook that the shell calls.
func (w *walk) shadows(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && c != '-' && (c|0x20 < 'a' || c|0x20 > 'z') && (i <= 0 || c < '0' || c > '9') {
			return true
		}
	}
	if name == "" || strings.HasSuffix(name, "_not_found_handle") || strings.HasSuffix(name, "_not_found_handler") {
		return true
	}
	special := specialNamed(name) != nil
	shell := shellNamed(name) != noShell
	_, isFree := free[name]
	_, isBuiltin := builtins[name]
	_, program := programs[name]
	return special || shell || isFree || isBuiltin || program || wrapperNamed(name) != nil ||
		len(w.j.allow.byName[name]) > 0 || len(w.j.block.byName[name]) > 0
}

// callsFunction reports whether name is a function here. Outside of functions it
// has to be defined for sure, with all that its body calls; a call inside a body
// counts where that body is called.
func (w *walk) callsFunction(name string) bool {
	if w.inFunction == nil {
		return w.functions[name] != nil && w.defined(name)
	}
	if w.functions[name] == nil && w.inFunction.name != name && !w.definesLater(name) {
		return false
	}
	if !slices.Contains(w.inFunction.calls, name) {
		w.inFunction.calls = append(w.inFunction.calls, name)
	}
	return true
}

// definesLater reports whether the main course of the text defines a function
// of that name.
func (w *walk) definesLater(name string) bool {
	if w.declared == nil {
		w.declared = map[string]bool{}
		for _, s := range w.file.Stmts {
			if f, ok := s.Cmd.(*syntax.FuncDecl); ok && f.Name != nil {
				w.declared[f.Name.Value] = true
			}
		}
	}
	return w.declared[name]
}

// defined reports whether a function and all that it may call are defined for
// sure.
func (w *walk) defined(name string) bool {
	first := w.functions[name]
	if first.checked != w.generation {
		first.checked, first.whole = w.generation, w.definedAnew(name)
	}
	return first.whole
}

func (w *walk) definedAnew(name string) bool {
	seen := map[string]bool{}
	todo := []string{name}
	for len(todo) > 0 {
		name, todo = todo[0], todo[1:]
		if seen[name] {
			continue
		}
		seen[name] = true
		fn := w.functions[name]
		if fn == nil || !fn.sure {
			return false
		}
		todo = append(todo, fn.calls...)
	}
	return true
}
