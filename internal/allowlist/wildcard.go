package allowlist

import "unicode/utf8"

// wildcard reports whether s matches a pattern in which * stands for any text.
func wildcard(pattern, s string) bool {
	p, i, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
		case p < len(pattern) && pattern[p] == s[i]:
			p, i = p+1, i+1
		case star >= 0:
			mark++
			p, i = star+1, mark
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
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
