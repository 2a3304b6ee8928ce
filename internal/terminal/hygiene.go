package terminal

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkText looks for characters that a reader, the parser and the shell may
// take differently. It returns the offset and a description of the first, and
// "" when there is none.
func checkText(s string) (int, string) {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f || c == '\t' || c == '\n' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return i, fmt.Sprintf("invalid UTF-8 byte 0x%02X", c)
		}
		if suspicious(r) {
			return i, fmt.Sprintf("character U+%04X", r)
		}
		i += n
	}
	return 0, ""
}

// suspicious reports control, format, private and separator characters other
// than those of ASCII text.
func suspicious(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zs, unicode.Zl, unicode.Zp) ||
		unicode.Is(unicode.Variation_Selector, r) || invisible(r)
}

// invisible reports letters and marks that render as nothing: Hangul fillers,
// the Braille blank and the grapheme joiner.
func invisible(r rune) bool {
	switch r {
	case 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0:
		return true
	}
	return false
}

// The bounds of a script (contracts, section 3). The parser is recursive: what
// it recurses into is bounded before it sees the text.
const (
	maxBytes   = 64 << 10
	maxNesting = 64
	// maxOpeners bounds the characters that can open a level anywhere in the
	// text, also inside quotes, where the net count below can be misled. Its
	// square is what the parser can be made to cost.
	maxOpeners = 4096
	// maxCode bounds all the text that is parsed for one script: a code string for
	// sh is read as bash and as POSIX, at every level that it is nested in.
	maxCode = 8 * maxBytes
	// maxNested is how deep code strings may hold code strings: bash -c "eval '…'".
	maxNested = 8
)

// checkShape bounds size and nesting by one linear pass without any lexing. The
// depth that a parser reaches is at most the number of openers, so the total
// bounds the work whatever the quoting; the net count refuses early what is
// plainly too deep. The walk then measures the tree itself against maxNesting.
func checkShape(s string) (at int, problem string) {
	if len(s) > maxBytes {
		return 0, fmt.Sprintf("more than %d bytes", maxBytes)
	}
	depth, openers := 0, 0
	for i := range len(s) {
		switch s[i] {
		case '(', '{', '[':
			depth++
			openers++
			if depth > maxNesting {
				return i, fmt.Sprintf("nesting deeper than %d levels", maxNesting)
			}
		case ')', '}', ']':
			depth = max(0, depth-1)
		case '`':
			openers++
		}
	}
	// Conditions that are never closed cost the parser like brackets. A text has
	// to be long to hold that many.
	if openers > maxOpeners || len(s) > 2*maxOpeners && strings.Count(s, "if") > maxOpeners {
		return 0, fmt.Sprintf("more than %d brackets or conditions", maxOpeners)
	}
	return 0, ""
}

// checkSplits looks for a backslash-newline in places where the parser and bash
// join the lines differently: right after a $, inside an operator, and after an
// escaped backslash.
func checkSplits(s string) (at int, problem string) {
	for from := 0; ; {
		i := strings.Index(s[from:], "\\\n")
		if i < 0 {
			return 0, ""
		}
		i += from
		from = i + 2
		if i == 0 {
			continue
		}
		switch before := s[i-1]; {
		case before == '$':
			return i, "a line continuation after $"
		case before == '\\' && i > 1 && s[i-2] == '\\':
			return i, "a line continuation after an escaped backslash"
		case strings.IndexByte("<>&|;(", before) >= 0 && from < len(s) && strings.IndexByte("<>&|;(-", s[from]) >= 0:
			return i, "a line continuation inside an operator"
		}
	}
}
