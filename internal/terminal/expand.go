package terminal

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// eval resolves a word and judges every command that its expansion runs.
func (w *walk) eval(word *syntax.Word) arg {
	a := read(word, w.text)
	if a.known {
		return a
	}
	w.parts(word.Parts)
	if len(word.Parts) == 1 && (w.harmlessNumber(word.Parts[0]) || w.isNumber(word.Parts[0])) {
		a.many, a.loose, a.number = false, false, true
	}
	return a
}

// parts judges what the parts of a word run when they are expanded.
func (w *walk) parts(parts []syntax.WordPart) {
	for _, part := range parts {
		w.part(part)
	}
}

func (w *walk) part(part syntax.WordPart) {
	switch p := part.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return
	case *syntax.DblQuoted:
		w.parts(p.Parts)
		return
	}
	defer w.leave()
	if !w.enter(part.Pos()) {
		return
	}
	switch p := part.(type) {
	case *syntax.ParamExp:
		w.parameter(p)
	case *syntax.CmdSubst:
		w.commandSubst(p)
	case *syntax.ProcSubst:
		w.subshell(p.Stmts)
	case *syntax.ArithmExp:
		w.arithm(p.X)
	case *syntax.ExtGlob:
		// The parser keeps the pattern as text, the shell expands it.
		if strings.ContainsAny(p.Pattern.Value, "$`<>\\\"';&\n#") {
			w.deny(decision.CommandUnparseable, p.Pos(), w.source(p), nil)
		}
	default:
		w.deny(decision.CommandUnparseable, part.Pos(), w.source(part), nil)
	}
}

// commandSubst judges $(…). A lone $(<file) reads a file and runs nothing.
func (w *walk) commandSubst(c *syntax.CmdSubst) {
	if c.TempFile || c.ReplyVar {
		w.deny(decision.CommandUnparseable, c.Pos(), w.source(c), nil)
		return
	}
	if len(c.Stmts) == 1 && c.Stmts[0].Cmd == nil && len(c.Stmts[0].Redirs) == 1 && c.Stmts[0].Redirs[0].Op == syntax.RdrIn {
		w.redirect(c.Stmts[0].Redirs[0], stdin{})
		return
	}
	w.subshell(c.Stmts)
}

// parameter judges ${…} (Bash Reference Manual, section 3.5.3): what it
// evaluates beside the value itself.
func (w *walk) parameter(p *syntax.ParamExp) {
	if w.quotesDiffer(p) {
		w.deny(decision.CommandUnparseable, p.Pos(), w.source(p), nil)
		return
	}
	operator := p.Exp != nil || p.Slice != nil || p.Repl != nil
	if p.Excl && p.Names == 0 && (operator || p.Index == nil || subscriptAll(p.Index) == "") {
		w.refuse(decision.CommandUnresolvable, p.Pos(), w.source(p))
	}
	if p.NestedParam != nil || p.Flags != nil || p.IsSet || p.Width || len(p.Modifiers) > 0 || p.Param == nil {
		w.deny(decision.CommandUnparseable, p.Pos(), w.source(p), nil)
		return
	}
	if p.Index != nil {
		w.subscript(p.Param.Value, p.Index)
	}
	kept := len(w.numbers) // what an operator sets, it may not set at all
	defer func() { w.numbers = w.numbers[:kept] }()
	if p.Slice != nil {
		w.arithm(p.Slice.Offset)
		w.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		w.optional(p.Repl.Orig)
		w.optional(p.Repl.With)
	}
	if p.Exp != nil {
		w.paramOperator(p)
	}
}

// quotesDiffer reports a single quote in front of an expansion inside ${…}: in
// double quotes and here-documents bash takes the quote for a character and
// expands what follows, and the parser takes it for text.
func (w *walk) quotesDiffer(p *syntax.ParamExp) bool {
	_, rest, found := strings.Cut(w.source(p), "'")
	return found && strings.ContainsAny(rest, "$`")
}

func (w *walk) optional(word *syntax.Word) {
	if word != nil {
		w.parts(word.Parts)
	}
}

// paramOperator judges the operator of ${x op word}.
func (w *walk) paramOperator(p *syntax.ParamExp) {
	w.optional(p.Exp.Word)
	if setsDefault(p.Exp) {
		w.setsVariable(p.Param.Value, p.Pos())
	}
	if p.Exp.Op != syntax.OtherParamOps { // the others only choose or cut text
		return
	}
	// ${x@P} expands the value like a prompt, which runs what it holds.
	if p.Exp.Word == nil || len(p.Exp.Word.Lit()) != 1 || !strings.Contains("UuLQEAKak", p.Exp.Word.Lit()) {
		w.refuse(decision.CommandUnresolvable, p.Pos(), w.source(p))
	}
}

// setsDefault reports ${x=word} and ${x:=word}.
func setsDefault(e *syntax.Expansion) bool {
	return e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull
}

// subscriptAll returns "@" or "*" for the subscript of all elements.
func subscriptAll(x syntax.ArithmExpr) string {
	if word, ok := x.(*syntax.Word); ok {
		if s := word.Lit(); s == "@" || s == "*" {
			return s
		}
	}
	return ""
}

// subscript judges a[x]: the shell evaluates x as arithmetic unless a is known
// to be associative.
func (w *walk) subscript(name string, x syntax.ArithmExpr) {
	if subscriptAll(x) != "" {
		return
	}
	if word, ok := x.(*syntax.Word); ok && w.associative(name) {
		w.parts(word.Parts)
		return
	}
	w.arithm(x)
}

// arithm judges an arithmetic expression. The shell evaluates the text of a
// variable as an expression of its own, and a subscript in it runs commands, so
// only numbers and variables that are provably numbers may stand in one.
func (w *walk) arithm(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	defer w.leave()
	if !w.enter(x.Pos()) {
		return
	}
	switch x := x.(type) {
	case *syntax.BinaryArithm:
		w.binaryArithm(x)
	case *syntax.UnaryArithm:
		w.arithm(x.X)
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			w.assignedTo(x.X)
		}
	case *syntax.ParenArithm:
		w.arithm(x.X)
	case *syntax.Word:
		w.arithmWord(x)
	default:
		w.deny(decision.CommandUnparseable, x.Pos(), w.source(x), nil)
	}
}

// binaryArithm judges an operator and its sides. A sum of many terms hangs to
// the left and is no nesting.
func (w *walk) binaryArithm(x *syntax.BinaryArithm) {
	spine := []*syntax.BinaryArithm{x}
	for {
		left, ok := x.X.(*syntax.BinaryArithm)
		if !ok || assigns(x.Op) {
			break
		}
		spine, x = append(spine, left), left
	}
	for i, s := range slices.Backward(spine) {
		w.arithmOperator(s, i == len(spine)-1)
	}
}

func assigns(op syntax.BinAritOperator) bool {
	return slices.Contains([]syntax.BinAritOperator{
		syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn,
	}, op)
}

func (w *walk) arithmOperator(x *syntax.BinaryArithm, left bool) {
	if x.Op == syntax.Assgn {
		w.arithm(x.Y)
		if name := w.assignedTo(x.X); name != "" && w.everNumber(name) {
			w.numbers = append(w.numbers, name)
		}
		return
	}
	if assigns(x.Op) {
		w.assignedTo(x.X)
	}
	if left {
		w.arithm(x.X)
	}
	kept := len(w.numbers)
	w.arithm(x.Y)
	if x.Op != syntax.Comma { // the right side of && || ?: may not be evaluated
		w.numbers = w.numbers[:kept]
	}
}

// assignedTo judges the left side of an arithmetic assignment.
func (w *walk) assignedTo(x syntax.ArithmExpr) (name string) {
	word, ok := x.(*syntax.Word)
	if !ok {
		w.refuse(decision.CommandUnresolvable, x.Pos(), w.source(x))
		return ""
	}
	if name = word.Lit(); name == "" {
		w.arithm(x)
		return ""
	}
	w.setsVariable(name, x.Pos())
	return name
}

func (w *walk) arithmWord(word *syntax.Word) {
	if len(word.Parts) == 1 && w.isOperand(word.Parts[0]) {
		w.parts(word.Parts)
		return
	}
	w.parts(word.Parts)
	w.refuse(decision.CommandUnresolvable, word.Pos(), w.source(word))
}

// isOperand reports whether one part of a word is safe in arithmetic.
func (w *walk) isOperand(part syntax.WordPart) bool {
	switch p := part.(type) {
	case *syntax.Lit:
		return constant(p.Value) || w.isNumberName(p.Value)
	case *syntax.SglQuoted:
		return false
	case *syntax.DblQuoted:
		return len(p.Parts) == 1 && w.isOperand(p.Parts[0])
	}
	return w.harmlessNumber(part) || w.isNumber(part)
}

// testExpr judges the inside of [[ … ]].
func (w *walk) testExpr(x syntax.TestExpr) {
	defer w.leave()
	if !w.enter(x.Pos()) {
		return
	}
	switch x := x.(type) {
	case *syntax.ParenTest:
		w.testExpr(x.X)
	case *syntax.UnaryTest:
		w.unaryTest(x)
	case *syntax.BinaryTest:
		w.testExpr(x.X)
		w.testExpr(x.Y)
		if slices.Contains([]syntax.BinTestOperator{
			syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr,
		}, x.Op) { // the others compare text or files
			w.numericTest(x.X)
			w.numericTest(x.Y)
		}
	case *syntax.Word:
		w.eval(x)
	}
}

func (w *walk) unaryTest(x *syntax.UnaryTest) {
	w.testExpr(x.X)
	if x.Op != syntax.TsVarSet && x.Op != syntax.TsRefVar {
		return
	}
	// -v evaluates the subscript of the name that it is given.
	if word, ok := x.X.(*syntax.Word); !ok || !syntax.ValidName(word.Lit()) {
		w.refuse(decision.CommandUnresolvable, x.Pos(), w.source(x))
	}
}

// numericTest judges an operand of -eq and its kind in [[ ]], which is
// evaluated as arithmetic.
func (w *walk) numericTest(x syntax.TestExpr) {
	word, ok := x.(*syntax.Word)
	if !ok || len(word.Parts) != 1 || !w.isOperand(word.Parts[0]) {
		w.refuse(decision.CommandUnresolvable, x.Pos(), w.source(x))
	}
}

// constant reports whether text is a number of shell arithmetic: decimal,
// octal, hexadecimal or base#digits.
func constant(s string) bool {
	s = strings.TrimPrefix(s, "-")
	if s == "" || s[0] < '0' || s[0] > '9' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && c != '#' && c != '@' && c != '_' {
			return false
		}
	}
	return true
}
