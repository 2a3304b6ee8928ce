package allowlist

import (
	"strings"
	"unicode/utf8"
)

// wildcard reports whether s matches a pattern in which * stands for any text.
// Taking the first place where each part fits is enough: a later one leaves
// less for the parts behind it.
func wildcard(pattern, s string) bool {
	head, rest, star := strings.Cut(pattern, everything)
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, head)
	for ok {
		part, more, star := strings.Cut(rest, everything)
		if !star {
			return strings.HasSuffix(s, part)
		}
		_, s, ok = strings.Cut(s, part)
		rest = more
	}
	return false
}

// glob reports whether s matches a pattern: * is any text without a slash, **
// any text, ? one character that is no slash. Text that is not valid UTF-8
// matches nothing. The work is bounded by the product of the lengths.
func glob(pattern, s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	text, want := []rune(s), []rune(pattern)
	// row[j] says whether the pattern so far matches text[:j].
	row := make([]bool, len(text)+1)
	row[0] = true
	for p := 0; p < len(want); p++ {
		c := want[p]
		deep := c == '*' && p+1 < len(want) && want[p+1] == '*'
		if deep {
			p++
		}
		before := row[0]
		row[0] = row[0] && c == '*'
		for j, r := range text {
			was := row[j+1]
			switch c {
			case '*':
				row[j+1] = was || row[j] && (deep || r != '/')
			case '?':
				row[j+1] = before && r != '/'
			default:
				row[j+1] = before && r == c
			}
			before = was
		}
	}
	return row[len(text)]
}
