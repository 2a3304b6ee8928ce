package allowlist

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
// any text, ? one character that is no slash. The work is bounded by the
// product of the lengths.
func glob(pattern, s string) bool {
	// row[j] says whether the pattern so far matches s[:j].
	row := make([]bool, len(s)+1)
	row[0] = true
	for p := 0; p < len(pattern); p++ {
		c := pattern[p]
		deep := c == '*' && p+1 < len(pattern) && pattern[p+1] == '*'
		if deep {
			p++
		}
		before := row[0]
		row[0] = row[0] && c == '*'
		for j := range len(s) {
			was := row[j+1]
			switch {
			case c == '*':
				row[j+1] = was || row[j] && (deep || s[j] != '/')
			case c == '?':
				row[j+1] = before && s[j] != '/'
			default:
				row[j+1] = before && s[j] == c
			}
			before = was
		}
	}
	return row[len(s)]
}
