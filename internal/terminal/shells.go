package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// dialect is the language of a code string.
type dialect uint8

const (
	noShell   dialect = iota
	bashShell         // what the script itself is written in
	posix             // sh: dash reads some texts otherwise than bash, so both readings must be fine
	foreign           // a shell with expansions of its own: only plain commands are understood
	opaque            // another language
)

func shellNamed(base string) dialect {
	switch base {
	case "bash", "rbash":
		return bashShell
	case "sh", "dash", "ash":
		return posix
	case "zsh", "ksh", "ksh93", "mksh", "lksh", "oksh", "pdksh", "yash":
		return foreign
	case "fish", "csh", "tcsh", "xonsh", "nu", "elvish", "osh", "rc", "es":
		return opaque
	}
	return noShell
}

// script judges the whole text.
func (w *walk) script(text string) {
	w.frame = frame{text: text, kind: bashShell, top: w.scope, functions: map[string]*function{}}
	root := w.scope
	w.read(text, w.j.bash.Get, w.j.bash.Put)
	w.settle(root, w.generation > 0)
}

// read checks, parses and judges the text of the frame.
func (w *walk) read(text string, get func() any, put func(any)) {
	at, problem := checkShape(text)
	if w.parsed += len(text); w.parsed > maxCode {
		problem = "too much code in code strings"
	}
	if problem == "" {
		at, problem = checkText(text)
	}
	if problem == "" {
		at, problem = checkSplits(text)
	}
	if problem != "" {
		w.unreadable(at, problem)
		return
	}
	parser, ok := get().(*syntax.Parser)
	if !ok {
		w.unreadable(0, "no parser")
		return
	}
	file, err := parser.Parse(strings.NewReader(text), "")
	put(parser)
	if err != nil {
		w.unparsed(err)
		return
	}
	w.file = file
	w.comments(file)
	w.list(file.Stmts)
}

// unreadable notes a text that is refused before it is parsed.
func (w *walk) unreadable(at int, problem string) {
	w.deny(decision.CommandUnparseable, syntax.Pos{}, problem, nil)
	if w.nested == 0 && w.result.Line == 0 {
		w.result.Line, w.result.Col = lineCol(w.text, at)
	}
}

func (w *walk) unparsed(err error) {
	at, detail := syntax.Pos{}, err.Error()
	if e, ok := err.(syntax.ParseError); ok { //nolint:errorlint // the parser returns the value itself
		at, detail = e.Pos, e.Text
	} else if e, ok := err.(syntax.LangError); ok { //nolint:errorlint // the parser returns the value itself
		at = e.Pos
	}
	w.deny(decision.CommandUnparseable, at, detail, nil)
}

// comments refuses a comment whose line ends in a backslash: the parser joins
// the next line to it or to the command, the shell runs that line.
func (w *walk) comments(file *syntax.File) {
	if !strings.Contains(w.text, "\\\n") && !strings.HasSuffix(w.text, `\`) || !strings.Contains(w.text, "#") {
		return
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.Comment); ok {
			line := firstLine(w.text[min(c.Hash.Offset(), uint(len(w.text))):])
			if strings.HasSuffix(line, `\`) {
				w.deny(decision.CommandUnparseable, c.Hash, "a comment that ends in a backslash", nil)
			}
		}
		return true
	})
}

// code judges a code string, which a shell runs. shared says that it is the
// shell of the text around it: eval and trap.
func (w *walk) code(text string, at syntax.Pos, in stdin, kind dialect, shared bool) {
	if w.nested >= maxNested {
		w.deny(decision.CommandUnparseable, at, "code strings nested deeper than 8 levels", nil)
		return
	}
	if kind == opaque || kind == foreign && !plainCode(text) {
		w.deny(decision.CommandUnresolvable, at, text, nil)
		return
	}
	outer, outerScope, outerIn := w.frame, w.scope, w.inherited
	if in.piped || in.known {
		w.inherited = stdin{piped: true}
	}
	w.frame = frame{text: text, nested: outer.nested + 1, shared: shared, kind: kind}
	w.line, w.col = outer.line, outer.col
	if outer.nested == 0 {
		w.line, w.col = int(at.Line()), int(at.Col())
	}
	if shared {
		w.functions, w.inFunction = outer.functions, outer.inFunction
	} else {
		w.functions = map[string]*function{}
		w.scope = &scope{parent: outerScope}
		outerScope.inner = append(outerScope.inner, w.scope)
	}
	w.top = w.scope
	blank := w.frame
	w.read(text, w.j.bash.Get, w.j.bash.Put)
	if kind == posix {
		w.frame = blank
		if !shared {
			w.functions = map[string]*function{}
		}
		w.read(text, w.j.posix.Get, w.j.posix.Put)
	}
	w.frame, w.scope, w.inherited = outer, outerScope, outerIn
}

// plainCode reports whether a text means the same in every shell: words,
// quotes, lists and pipes, without any expansion.
func plainCode(s string) bool {
	start := true // of a word
	for i := range len(s) {
		c := s[i]
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'z', c >= '0' && c <= '9', strings.IndexByte("_./:,+@%-", c) >= 0:
			start = false
		case c == '"' || c == '\'' || c == '=' && !start:
		case strings.IndexByte(" \t\n;&|", c) >= 0:
			start = true
		default:
			return false
		}
	}
	return true
}

// shellFlags are the one-letter options of shells that change nothing about
// what the code string means. c, s, o and O are handled apart.
const shellFlags = "abefhilmnprtuvxBCEHPT"

// unsafeFlags are those of them that a strict judgement refuses: a and k put
// assignments into the environment.
const unsafeFlags = "ak"

// shell judges an invocation of a shell: -c code, a script file, or code on
// standard input.
func (w *walk) shell(c *command, kind dialect) {
	args, fromCode, fromStdin, ok := w.shellOptions(c)
	if !ok {
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
		return
	}
	if !w.trusted(c.args[0].text) { // another program of that name
		w.permit(c, nil, hazard{})
	}
	switch {
	case fromCode && (len(args) == 0 || !args[0].known):
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
	case fromCode:
		w.code(args[0].text, c.at, c.in, kind, false)
	case len(args) > 0 && !fromStdin && !isStdin(&args[0]):
		if !args[0].known {
			w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
			return
		}
		w.permit(c, nil, hazard{})
	case c.in.known:
		w.code(c.in.text, c.at, c.in, kind, false)
	case len(c.args) == 2 && (c.args[1].is("--version") || c.args[1].is("--help")):
		w.permit(c, nil, hazard{})
	default:
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
	}
}

// isStdin reports whether a file name means standard input.
func isStdin(a *arg) bool {
	switch a.text {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return a.known
	}
	return false
}

// shellOptions reads the options of a shell and returns the operands.
func (w *walk) shellOptions(c *command) (rest []arg, fromCode, fromStdin, ok bool) {
	args := c.args[1:]
	for len(args) > 0 {
		a := &args[0]
		if !a.known {
			return args, fromCode, fromStdin, !a.mayBeOption() || !w.strict && !fromCode
		}
		if len(a.text) < 2 || a.text[0] != '-' && a.text[0] != '+' {
			break
		}
		args = args[1:]
		switch {
		case a.text == "--":
			return args, fromCode, fromStdin, true
		case strings.HasPrefix(a.text, "--"):
			n, ok := w.longShellOption(a.text)
			if !ok || n > len(args) {
				return nil, false, false, false
			}
			args = args[n:]
		default:
			for _, f := range []byte(a.text[1:]) {
				switch {
				case f == 'c':
					fromCode = true
				case f == 's':
					fromStdin = true
				case f == 'o' || f == 'O':
					if len(args) == 0 || w.strict && !safeShellOption(&args[0]) {
						return nil, false, false, false
					}
					args = args[1:]
				case strings.IndexByte(shellFlags, f) < 0 && (f != 'k' || w.strict),
					w.strict && strings.IndexByte(unsafeFlags, f) >= 0:
					return nil, false, false, false
				}
			}
		}
	}
	return args, fromCode, fromStdin, true
}

// longShellOption returns how many words the value of a long option of bash
// takes. Files that bash reads at start are code that nobody judged.
func (w *walk) longShellOption(s string) (values int, ok bool) {
	switch s {
	case "--norc", "--noprofile", "--login", "--posix", "--verbose", "--restricted", "--noediting", "--version", "--help":
		return 0, true
	case "--rcfile", "--init-file":
		return 1, !w.strict
	}
	return 0, false
}

// safeShellOption reports an option of set -o that changes neither what is
// parsed nor what is exported.
func safeShellOption(a *arg) bool {
	switch a.text {
	case "errexit", "nounset", "pipefail", "xtrace", "noglob", "noclobber", "verbose", "errtrace", "functrace":
		return a.known
	}
	return false
}

// trusted reports whether a program's name means the system's program of that
// name: a bare name, or a path that the trusted PATH or the system folders hold.
func (w *walk) trusted(name string) bool {
	dir, base, slash := cutLast(name, "/")
	if !slash {
		return true
	}
	switch dir {
	case "/bin", "/usr/bin", "/sbin", "/usr/sbin":
		return true
	}
	return w.j.sameFile(name, base)
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return "", s, false
	}
	return s[:i], s[i+len(sep):], true
}
