package terminal

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// walk is one judgement: it goes through a script and keeps the strictest
// finding.
type walk struct {
	j       *Judge
	strict  bool // allowlist mode: what is not known to be fine is refused
	explain bool

	frame
	*scope
	denied   bool
	result   Verdict
	rule     *Rule // the first that allowed something
	found    bool  // a command was found
	commands []Command
	current  int // index in commands, plus one, of the one being judged

	parsed     int // bytes of all texts so far
	generation int // how many functions were defined so far
	// inherited is the standard input of the compound command around.
	inherited stdin
}

// frame is one text that is being judged: the script, or a code string in it.
type frame struct {
	text   string
	file   *syntax.File
	nested int // how many code strings lie around this one
	depth  int // of the node that is being judged
	// line and col are where the outermost code string stands.
	line, col int
	// numbers are the variables that have been set to a number at this point,
	// unconditionally.
	numbers []string
	texts   *textual // what may hold something else; nil until somebody asks
	// inFunction is the function whose body this is.
	inFunction *function
	functions  map[string]*function
	declared   map[string]bool // functions of the main course; nil until somebody asks
	// shared says that the text runs in the shell around it (eval, trap), which
	// owns the functions; top is the scope that it began in.
	shared bool
	top    *scope
	kind   dialect
}

// verdict sums up.
func (w *walk) verdict() Verdict {
	v := w.result
	switch {
	case w.denied:
	case !w.found:
		v = Verdict{Reason: decision.CommandNotAllowed, Detail: "no command found"}
	default:
		v = Verdict{Reason: decision.CommandOK}
		if w.rule != nil {
			v.Rule, v.Pos = w.rule.Text, w.rule.Pos
		}
	}
	v.Commands = w.commands
	return v
}

// deny notes a finding. The first one is kept, but a blocked command outranks
// every other finding.
func (w *walk) deny(reason decision.Reason, at syntax.Pos, detail string, rule *Rule) {
	if w.current > 0 && w.commands[w.current-1].Reason == decision.CommandOK {
		c := &w.commands[w.current-1]
		c.Reason = reason
		if rule != nil {
			c.Rule = rule.Text
		}
	}
	if w.denied && (reason != decision.CommandBlocked || w.result.Reason == decision.CommandBlocked) {
		return
	}
	w.denied = true
	w.result = Verdict{Reason: reason, Detail: detail}
	w.result.Line, w.result.Col = w.place(at)
	if rule != nil {
		w.result.Rule, w.result.Pos = rule.Text, rule.Pos
	}
}

// refuse notes a finding that counts in allowlist mode only.
func (w *walk) refuse(reason decision.Reason, at syntax.Pos, detail string) {
	if w.strict {
		w.deny(reason, at, detail, nil)
	}
}

func (w *walk) place(at syntax.Pos) (line, col int) {
	if w.nested > 0 || !at.IsValid() {
		return w.line, w.col
	}
	return int(at.Line()), int(at.Col())
}

// source returns the text of a node.
func (w *walk) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(w.text)) {
		return ""
	}
	return w.text[from:to]
}

// enter goes one level down the tree; false when that is too deep. The caller
// calls leave in both cases.
func (w *walk) enter(at syntax.Pos) bool {
	w.depth++
	if w.depth > maxNesting {
		w.deny(decision.CommandUnparseable, at, "nesting deeper than 64 levels", nil)
		return false
	}
	return true
}

func (w *walk) leave() { w.depth-- }

// list judges statements that run one after the other.
func (w *walk) list(stmts []*syntax.Stmt) {
	for _, s := range stmts {
		w.stmt(s, stdin{})
	}
}

// branch judges statements that may not run at all: what they set is not known
// afterwards.
func (w *walk) branch(stmts []*syntax.Stmt) {
	kept := len(w.numbers)
	w.list(stmts)
	w.numbers = w.numbers[:kept]
}

// subshell judges commands that run in a shell of their own.
func (w *walk) subshell(stmts []*syntax.Stmt) {
	outer := w.scope
	w.scope = &scope{parent: outer}
	w.branch(stmts)
	outer.inner = append(outer.inner, w.scope)
	w.scope = outer
}

func (w *walk) stmt(s *syntax.Stmt, in stdin) {
	defer w.leave()
	if !w.enter(s.Pos()) {
		return
	}
	if s.Coprocess || s.Disown {
		w.deny(decision.CommandUnparseable, s.Pos(), "coprocess", nil)
	}
	if _, function := s.Cmd.(*syntax.FuncDecl); function && s.Background {
		w.refuse(decision.CommandUnresolvable, s.Pos(), "a function that is defined in another process")
	}
	kept := len(w.numbers)
	for _, r := range s.Redirs {
		in = w.redirect(r, in)
	}
	if s.Cmd == nil {
		w.refuse(decision.CommandRedirect, s.Pos(), w.source(s))
		return
	}
	if in == (stdin{}) {
		in = w.inherited
	}
	if compound(s.Cmd) {
		outer := w.inherited
		if in.piped || in.known {
			w.inherited = stdin{piped: true}
		}
		w.command(s.Cmd, in)
		w.inherited = outer
	} else {
		w.command(s.Cmd, in)
	}
	if s.Background {
		w.numbers = w.numbers[:kept]
	}
}

// compound reports whether commands inside cmd share its standard input.
func compound(cmd syntax.Command) bool {
	switch cmd.(type) {
	case *syntax.CallExpr, *syntax.BinaryCmd, *syntax.TimeClause, *syntax.DeclClause:
		return false
	}
	return true
}

func (w *walk) command(cmd syntax.Command, in stdin) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		w.call(c, in)
	case *syntax.BinaryCmd:
		w.binary(c, in)
	case *syntax.Subshell:
		w.subshell(c.Stmts)
	case *syntax.Block:
		w.list(c.Stmts)
	case *syntax.IfClause:
		w.ifClause(c)
	case *syntax.WhileClause:
		w.branch(c.Cond)
		w.branch(c.Do)
	case *syntax.ForClause:
		w.forClause(c)
	case *syntax.CaseClause:
		w.caseClause(c)
	case *syntax.FuncDecl:
		w.funcDecl(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			w.stmt(c.Stmt, in)
		}
	case *syntax.ArithmCmd:
		w.found = true
		w.arithm(c.X)
	case *syntax.LetClause:
		w.found = true
		for _, x := range c.Exprs {
			w.arithm(x)
		}
	case *syntax.TestClause:
		w.found = true
		w.testExpr(c.X)
	case *syntax.DeclClause:
		w.declare(c)
	default: // coproc, and what other dialects know
		w.deny(decision.CommandUnparseable, cmd.Pos(), strings.TrimSpace(firstLine(w.source(cmd))), nil)
	}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// binary judges lists and pipelines. Both can be long, and are no nesting.
func (w *walk) binary(c *syntax.BinaryCmd, in stdin) {
	var spine []*syntax.BinaryCmd // a && b && c hangs to the left
	left := c
	for {
		spine = append(spine, left)
		x, ok := left.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(left.X.Redirs) > 0 {
			break
		}
		left = x
	}
	pipe := func(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }
	kept := len(w.numbers)
	w.stmt(spine[len(spine)-1].X, in)
	for _, b := range slices.Backward(spine) {

		if pipe(b.Op) {
			w.numbers = w.numbers[:kept]
			w.pipeEnd(b.Y)
			w.numbers = w.numbers[:kept]
			continue
		}
		before := len(w.numbers)
		w.stmt(b.Y, stdin{})
		w.numbers = w.numbers[:before]
	}
}

// pipeEnd judges the right side of a pipe: a | b | c hangs to the right.
func (w *walk) pipeEnd(s *syntax.Stmt) {
	for {
		b, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || b.Op != syntax.Pipe && b.Op != syntax.PipeAll || len(s.Redirs) > 0 {
			w.stmt(s, stdin{piped: true})
			return
		}
		w.stmt(b.X, stdin{piped: true})
		s = b.Y
	}
}

func (w *walk) ifClause(c *syntax.IfClause) {
	kept := len(w.numbers)
	for ; c != nil; c = c.Else {
		w.list(c.Cond)
		w.branch(c.Then)
	}
	w.numbers = w.numbers[:kept]
}

func (w *walk) forClause(c *syntax.ForClause) {
	kept := len(w.numbers)
	switch loop := c.Loop.(type) {
	case *syntax.WordIter:
		w.setsVariable(loop.Name.Value, loop.Name.Pos())
		for _, item := range loop.Items {
			w.eval(item)
		}
		if w.everNumber(loop.Name.Value) {
			w.numbers = append(w.numbers, loop.Name.Value)
		}
	case *syntax.CStyleLoop:
		w.arithm(loop.Init)
		w.arithm(loop.Cond)
		w.branch(c.Do)
		w.arithm(loop.Post)
		w.numbers = w.numbers[:kept]
		return
	}
	w.branch(c.Do)
	w.numbers = w.numbers[:kept]
}

func (w *walk) caseClause(c *syntax.CaseClause) {
	w.eval(c.Word)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.eval(p)
		}
		w.branch(item.Stmts)
	}
}
