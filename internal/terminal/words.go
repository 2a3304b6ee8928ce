package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arg is one word of a command as far as it can be known before it runs. The
// zero value is an unknown word that may be anything.
type arg struct {
	// text is the decoded word. Of an unknown word it is what the word is known
	// to begin with, possibly nothing.
	text  string
	known bool
	// many says that an unknown word may become no word at all or several: a
	// glob, a brace list, an unquoted expansion, "$@".
	many bool
	// loose says that of several words only the first begins with text.
	loose bool
	// number says that an unknown word is an integer.
	number bool
	source
}

// source is where a word stands.
type source struct {
	word *syntax.Word // nil for a word that nobody wrote
	in   string       // the script that word belongs to
}

// literal makes a known word.
func literal(s string) arg { return arg{text: s, known: true} }

// mayBeOption reports whether the word may begin with a dash.
func (a *arg) mayBeOption() bool {
	if a.known {
		return strings.HasPrefix(a.text, "-") && a.text != "-"
	}
	return a.many && a.loose || a.text == "" || a.text[0] == '-'
}

// unknownOption reports whether the word may become an option that is not known.
func (a *arg) unknownOption() bool { return !a.known && a.mayBeOption() }

// is reports whether the word is known and equals s.
func (a *arg) is(s string) bool { return a.known && a.text == s }

// String returns the word for a reader; an unknown one as ⟨its source⟩.
func (a *arg) String() string {
	if a.known {
		return a.text
	}
	if a.word == nil {
		return "⟨" + a.text + "…⟩"
	}
	from, to := a.word.Pos().Offset(), a.word.End().Offset()
	if from > to || to > uint(len(a.in)) {
		return "⟨…⟩"
	}
	return "⟨" + a.in[from:to] + "⟩"
}

// reading collects what is known of a word.
type reading struct {
	buf     []byte
	unknown bool // what follows is not appended to buf any more
	many    bool
	loose   bool
	opened  bool // an unquoted { was seen
}

// blur marks that from here on the word is not known.
func (r *reading) blur(many, loose bool) {
	r.unknown = true
	r.many = r.many || many
	r.loose = r.loose || loose
}

func (r *reading) add(s string) {
	if !r.unknown {
		r.buf = append(r.buf, s...)
	}
}

// read resolves a word: quotes, escapes and ANSI-C quoting are decoded (Bash
// Reference Manual, section 3.1.2); everything that is expanded at run time
// leaves the word unknown.
func read(word *syntax.Word, in string) arg {
	a := arg{source: source{word: word, in: in}}
	if lit, ok := word.Parts[0].(*syntax.Lit); ok && len(word.Parts) == 1 && plain(lit.Value) {
		a.text, a.known = lit.Value, true
		return a
	}
	var r reading
	for i, part := range word.Parts {
		r.part(part, i == 0, i < len(word.Parts)-1)
	}
	a.text, a.known, a.many, a.loose = string(r.buf), !r.unknown, r.many, r.loose
	return a
}

// plain reports whether unquoted text stands for itself.
func plain(s string) bool {
	if s == "[" || s == "[[" || s == "{}" {
		return true
	}
	return !strings.ContainsAny(s, "\\*?[{~")
}

func (r *reading) part(part syntax.WordPart, first, more bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		r.unquoted(part.Value, first, more)
	case *syntax.SglQuoted:
		r.single(part)
	case *syntax.DblQuoted:
		r.double(part)
	case *syntax.ProcSubst:
		r.add("/dev/fd/")
		r.blur(false, false)
	case *syntax.ExtGlob:
		r.blur(true, false)
	default: // parameter, command and arithmetic expansions are split into words
		r.blur(true, true)
	}
}

func (r *reading) single(q *syntax.SglQuoted) {
	if !q.Dollar {
		r.add(q.Value)
		return
	}
	s, ok := decodeANSI(q.Value)
	if !ok {
		r.blur(false, false)
		return
	}
	r.add(s)
}

func (r *reading) double(q *syntax.DblQuoted) {
	if q.Dollar { // a translation may say anything
		r.blur(false, false)
	}
	for _, part := range q.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			r.add(unescape(part.Value, "$`\"\\"))
		case *syntax.ParamExp:
			several := everyElement(part)
			r.blur(several, several)
		default:
			r.blur(false, false)
		}
	}
}

// everyElement reports whether an expansion inside double quotes may still
// give several words, or none.
func everyElement(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Param.Value == "@" || p.Excl {
		return true
	}
	if p.Exp != nil && p.Exp.Word != nil { // ${x:-"$@"}
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return p.Index != nil && (!ok || w.Lit() == "@")
}

// unquoted reads the text between quotes.
func (r *reading) unquoted(s string, first, more bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\\':
			if i++; i < len(s) && s[i] != '\n' {
				r.add(s[i : i+1])
			}
			continue
		case '*', '?':
			r.blur(true, false)
		case '[':
			if more || strings.IndexByte(s[i:], ']') > 0 {
				r.blur(true, false)
			}
		case '{':
			r.opened = true
		case ',':
			r.brace()
		case '.':
			if strings.HasPrefix(s[i:], "..") {
				r.brace()
			}
		case '~':
			if i == 0 && first {
				r.add("~")
				r.blur(false, false)
			} else if i > 0 && (s[i-1] == '=' || s[i-1] == ':') {
				r.blur(false, false)
			}
		}
		r.add(s[i : i+1])
	}
}

// brace notes a comma or two dots that may belong to a brace list, which makes
// several words of one.
func (r *reading) brace() {
	if !r.opened {
		return
	}
	// What stood before the brace begins every word; the brace itself does not.
	if !r.unknown {
		if i := strings.IndexByte(string(r.buf), '{'); i >= 0 {
			r.buf = r.buf[:i]
		}
	}
	r.blur(true, false)
}

// unescape removes backslashes that stand before one of the characters in
// special, and joins lines that end in one.
func unescape(s, special string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			if s[i+1] == '\n' {
				i++
				continue
			}
			if strings.IndexByte(special, s[i+1]) >= 0 {
				i++
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
