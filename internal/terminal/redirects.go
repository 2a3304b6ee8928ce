package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// stdin is what a command reads as its standard input. The zero value is what
// the shell itself reads.
type stdin struct {
	piped bool
	// text is a literal here-document or here-string; known says that it is one.
	text  string
	known bool
}

// redirect judges one redirection (Bash Reference Manual, section 3.6) and
// returns what standard input is afterwards.
func (w *walk) redirect(r *syntax.Redirect, in stdin) stdin {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" { // {name}> sets a variable
		w.refuse(decision.CommandRedirect, r.Pos(), w.source(r))
	}
	if r.N != nil && len(r.N.Value) > 1 && r.N.Value[0] == '0' { // 00 is descriptor 0 too
		w.deny(decision.CommandRedirect, r.Pos(), w.source(r), nil)
	}
	var text stdin // what descriptor 0 is when it is the one redirected
	reads := true
	if isHeredoc(r) {
		text = w.hereDocument(r)
	} else if r.Op == syntax.WordHdoc {
		a := w.eval(r.Word)
		text = stdin{text: a.text, known: a.known}
	} else {
		text, reads = stdin{piped: true}, w.opens(r)
	}
	if reads && (r.N == nil || r.N.Value == "0") {
		return text
	}
	return in
}

func isHeredoc(r *syntax.Redirect) bool { return r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc }

// opens judges the redirections that open or duplicate a file; reads says that
// without a number they change standard input.
func (w *walk) opens(r *syntax.Redirect) (reads bool) {
	if r.Op == syntax.RdrIn {
		w.reads(r)
		return true
	}
	if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
		w.duplicates(r)
		return r.Op == syntax.DplIn || r.N != nil
	}
	w.writes(r)
	return r.Op == syntax.RdrInOut || r.N != nil
}

// hereDocument judges the body of a here-document, which the shell expands
// unless a part of the delimiter is quoted.
func (w *walk) hereDocument(r *syntax.Redirect) stdin {
	quoted, plain := delimiter(r.Word)
	if !plain {
		w.deny(decision.CommandUnparseable, r.Pos(), w.source(r.Word), nil)
		return stdin{}
	}
	if !quoted && w.joinsLines(r) {
		w.deny(decision.CommandUnparseable, r.Pos(), "a backslash at the end of a line in a here-document", nil)
		return stdin{}
	}
	if r.Hdoc == nil {
		return stdin{known: true}
	}
	if endsEarly(w.source(r.Hdoc), r.Word, w.text) {
		w.deny(decision.CommandUnparseable, r.Pos(), "a here-document whose end is read in two ways", nil)
		return stdin{}
	}
	out := stdin{known: true}
	var b strings.Builder
	for _, part := range r.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		switch {
		case !ok:
			w.part(part)
			out.known = false
		case quoted:
			b.WriteString(lit.Value)
		default:
			b.WriteString(unescape(lit.Value, "$`\\"))
		}
	}
	out.text = b.String()
	if r.Op == syntax.DashHdoc {
		lines := strings.SplitAfter(out.text, "\n")
		for i := range lines {
			lines[i] = strings.TrimLeft(lines[i], "\t")
		}
		out.text = strings.Join(lines, "")
	}
	return out
}

// joinsLines reports a line that ends in a backslash between an unquoted
// here-document's operator and its delimiter: bash joins it with the next one
// before it looks for the delimiter, the parser does not.
func (w *walk) joinsLines(r *syntax.Redirect) bool {
	from := int(r.Word.End().Offset())
	if from > len(w.text) {
		return true
	}
	end := read(r.Word, w.text).text
	_, body, _ := strings.Cut(w.text[from:], "\n")
	for line := range strings.Lines(body) {
		line = strings.TrimRight(line, "\n")
		if strings.HasSuffix(line, `\`) {
			return true
		}
		if strings.TrimLeft(line, "\t") == end {
			return false
		}
	}
	return false
}

// endsEarly reports a line of a here-document that begins with the delimiter and
// a closing parenthesis: inside $(…), bash ends the document there, the parser
// does not.
func endsEarly(body string, word *syntax.Word, text string) bool {
	end := read(word, text).text
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, "\t"), end); ok && strings.HasPrefix(strings.TrimLeft(rest, " \t"), ")") {
			return true
		}
	}
	return false
}

// delimiter reports whether the delimiter of a here-document is quoted, and
// whether it is written in a way that all shells read alike.
func delimiter(word *syntax.Word) (quoted, plain bool) {
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			if rest, ok := strings.CutPrefix(p.Value, `\`); ok {
				quoted = true
				if strings.Contains(rest, `\`) {
					return quoted, false
				}
			} else if strings.Contains(p.Value, `\`) {
				return quoted, false
			}
		case *syntax.SglQuoted:
			quoted = true
			if p.Dollar || strings.Contains(p.Value, "\n") {
				return quoted, false
			}
		case *syntax.DblQuoted:
			quoted = true
			for _, q := range p.Parts {
				if lit, ok := q.(*syntax.Lit); !ok || p.Dollar || strings.ContainsAny(lit.Value, "\\\n") {
					return quoted, false
				}
			}
		default:
			return quoted, false
		}
	}
	return quoted, true
}

// reads judges < word. A file is for the kernel gate to guard; a socket of the
// shell is not a file.
func (w *walk) reads(r *syntax.Redirect) {
	a := w.eval(r.Word)
	switch {
	case network(a.text):
		w.deny(decision.CommandRedirect, r.Pos(), w.source(r), nil)
	case !a.known && (a.many || a.text == "" || strings.HasPrefix("/dev/", a.text)):
		w.refuse(decision.CommandRedirect, r.Pos(), w.source(r))
	case !a.known && strings.HasPrefix(a.text, "/dev/") && !processSubst(r.Word):
		w.refuse(decision.CommandRedirect, r.Pos(), w.source(r))
	}
}

// duplicates judges <& and >&. With anything but a descriptor, >& is another
// spelling of &>.
func (w *walk) duplicates(r *syntax.Redirect) {
	a := w.eval(r.Word)
	if a.known && a.text != "" && strings.Trim(strings.TrimSuffix(a.text, "-"), "0123456789") == "" {
		return
	}
	if r.Op == syntax.DplIn {
		w.refuse(decision.CommandRedirect, r.Pos(), w.source(r))
		return
	}
	w.mayWrite(&a, r)
}

// writes judges the redirections that create or change a file.
func (w *walk) writes(r *syntax.Redirect) {
	a := w.eval(r.Word)
	if processSubst(r.Word) {
		return // a pipe to a command, which eval has judged
	}
	w.mayWrite(&a, r)
}

func (w *walk) mayWrite(a *arg, r *syntax.Redirect) {
	if network(a.text) {
		w.deny(decision.CommandRedirect, r.Pos(), w.source(r), nil)
		return
	}
	switch {
	case a.known && (a.text == "/dev/null" || a.text == "/dev/stdout" || a.text == "/dev/stderr"):
		return
	case a.known && w.j.redirects == RedirectsAny && a.text != "":
		return
	case a.known && w.j.redirects == RedirectsWorkspace && writable(a.text):
		if a.text[0] != '/' {
			w.uses(decision.CommandRedirect, r.Pos(), w.source(r), false)
		}
		return
	}
	w.refuse(decision.CommandRedirect, r.Pos(), w.source(r))
}

// network reports the names that bash opens as sockets.
func network(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// processSubst reports whether a word is one process substitution.
func processSubst(word *syntax.Word) bool {
	if len(word.Parts) != 1 {
		return false
	}
	_, ok := word.Parts[0].(*syntax.ProcSubst)
	return ok
}
