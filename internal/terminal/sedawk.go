package terminal

import "strings"

// safeSed reports whether a sed script only edits text: it has no command that
// executes, reads or writes a file (GNU sed manual, section 3.8). What is not
// understood is not safe.
func safeSed(script string) bool {
	s := sedScript{rest: script}
	for s.skip(" \t\n;"); s.rest != ""; s.skip(" \t\n;") {
		if !s.command() {
			return false
		}
	}
	return true
}

type sedScript struct{ rest string }

func (s *sedScript) skip(set string) { s.rest = strings.TrimLeft(s.rest, set) }

// command reads one command with its addresses.
func (s *sedScript) command() bool {
	if !s.address() {
		return false
	}
	s.skip(" \t")
	if rest, ok := strings.CutPrefix(s.rest, ","); ok {
		s.rest = rest
		s.skip(" \t")
		if !s.address() {
			return false
		}
	}
	s.skip(" \t!")
	if s.rest == "" {
		return false
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	switch {
	case strings.IndexByte("pPdDnNgGhHxFz={}", c) >= 0:
		return true
	case strings.IndexByte("qQlL", c) >= 0:
		s.skip(" \t0123456789")
		return true
	case c == 's':
		return s.substitution(true)
	case c == 'y':
		return s.substitution(false)
	case strings.IndexByte("aicb:t", c) >= 0: // text or a label, to the end of the line
		line, rest, _ := strings.Cut(s.rest, "\n")
		label := c == ':' || c == 'b' || c == 't' // GNU sed ends one at a blank
		if strings.Contains(line, "\\") || label && strings.ContainsAny(strings.TrimSpace(line), ";} \t") {
			return false
		}
		s.rest = rest
		return true
	}
	return false // e, w, W, r, R and what is not known
}

// address reads a number, $, or /regexp/ with its flags, if there is one.
func (s *sedScript) address() bool {
	switch {
	case s.rest == "":
		return true
	case s.rest[0] == '$':
		s.rest = s.rest[1:]
	case s.rest[0] >= '0' && s.rest[0] <= '9', s.rest[0] == '+', s.rest[0] == '~':
		s.skip("0123456789+~")
	case s.rest[0] == '/':
		s.rest = s.rest[1:]
		if !s.upTo('/') {
			return false
		}
		s.skip("IM")
	}
	return true
}

// upTo skips text up to an unescaped delimiter.
func (s *sedScript) upTo(end byte) bool {
	for i := 0; i < len(s.rest); i++ {
		switch s.rest[i] {
		case '\\':
			i++
		case '\n':
			return false
		case '[': // a delimiter may stand in a bracket expression, or not: be sure
			if bracket(s.rest[i:], end) < 0 {
				return false
			}
		case end:
			s.rest = s.rest[i+1:]
			return true
		}
	}
	return false
}

// bracket returns the place of the ] that ends a bracket expression at the start
// of s; -1 when there is none, or when end, a class or a backslash stands in it, since
// programs disagree on what that means.
func bracket(s string, end byte) int {
	from := 1
	if strings.HasPrefix(s[from:], "^") {
		from++
	}
	from = min(from+1, len(s)) // a ] that comes first is a member
	n := strings.IndexByte(s[from:], ']')
	if n < 0 || strings.IndexByte(s[1:from+n], end) >= 0 || strings.ContainsAny(s[1:from+n], "[\\") {
		return -1
	}
	return from + n
}

// substitution reads the rest of s or y: a delimiter, two texts, and flags. The
// flags e and w execute and write.
func (s *sedScript) substitution(flags bool) bool {
	if s.rest == "" || s.rest[0] == '\\' || s.rest[0] == '\n' {
		return false
	}
	end := s.rest[0]
	s.rest = s.rest[1:]
	for range 2 {
		if !s.upTo(end) {
			return false
		}
	}
	if flags {
		s.skip("gpiImM0123456789")
	}
	s.skip(" \t")
	return s.rest == "" || strings.IndexByte("\n;}", s.rest[0]) >= 0
}

// safeAwk reports whether an awk program runs no command, writes no file and
// loads no code. What is not understood is not safe.
func safeAwk(program string) bool {
	for _, word := range [...]string{"system", "getline", "@"} {
		if strings.Contains(program, word) {
			return false
		}
	}
	a := awkProgramText{text: program, operand: true}
	for a.at < len(program) {
		if !a.token() {
			return false
		}
	}
	return true
}

// awkProgramText splits an awk program as far as is needed to tell a pipe or a
// redirection from the inside of a string or a regular expression.
type awkProgramText struct {
	text     string
	at       int
	operand  bool // an operand comes next, so that / begins a regular expression
	printing bool // in a statement, after print or printf
	unsure   bool // a slash may be either
}

func (a *awkProgramText) token() bool {
	c := a.text[a.at]
	if c == ' ' || c == '\t' {
		a.at++
		return true
	}
	unsure := a.unsure
	a.unsure = false
	switch {
	case c == '#':
		end := strings.IndexByte(a.text[a.at:], '\n')
		if end < 0 {
			end = len(a.text) - a.at
		}
		a.at += end
	case c == '"':
		a.operand = false
		return a.quoted('"')
	case c == '/' && a.operand:
		a.operand = false
		return a.quoted('/')
	case c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z':
		a.word()
	case c == '/' && unsure && strings.IndexByte(a.text[a.at+1:], '/') >= 0:
		return false // if (x) /re/ and (x) / 2 begin alike
	case c >= '0' && c <= '9' || c == '.' || c == '$' || c == ')' || c == ']':
		a.at++
		a.operand, a.unsure = c == '$', c == ')'
	case c == '\n': // may stand inside a statement, behind a comma
		a.at++
		a.operand = true
	case c == ';' || c == '{' || c == '}':
		a.at++
		a.printing, a.operand = false, true
	case c == '|':
		if !strings.HasPrefix(a.text[a.at:], "||") {
			return false
		}
		a.at += 2
		a.operand = true
	case c == '>':
		if a.printing {
			return false
		}
		a.at++
		a.operand = true
	case strings.IndexByte("+-", c) >= 0 && a.at+1 < len(a.text) && a.text[a.at+1] == c:
		a.at += 2
		a.operand, a.unsure = false, true // x++ / 2 and ++x /re/
	case strings.IndexByte("!~=<(,&*+-%^?:/[", c) >= 0:
		a.at++
		a.operand = true
	default:
		return false
	}
	return true
}

// quoted skips a string or a regular expression.
func (a *awkProgramText) quoted(end byte) bool {
	for i := a.at + 1; i < len(a.text); i++ {
		switch a.text[i] {
		case '\\':
			i++
		case '\n':
			return false
		case '[':
			if end == '/' {
				n := bracket(a.text[i:], end)
				if n < 0 {
					return false
				}
				i += n
			}
		case end:
			a.at = i + 1
			return true
		}
	}
	return false
}

func (a *awkProgramText) word() {
	start := a.at
	for a.at < len(a.text) {
		c := a.text[a.at]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') {
			break
		}
		a.at++
	}
	switch a.text[start:a.at] {
	case "print", "printf":
		a.printing, a.operand = true, true
	case "return", "in", "do", "else", "case", "exit", "delete":
		a.operand = true
	default:
		a.operand = false
	}
}
