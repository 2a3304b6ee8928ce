package terminal

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decodeANSI decodes the inside of $'…' (Bash Reference Manual, section
// 3.1.2.4). It returns false for what shells decode differently, depend on the
// locale for, or cut off: NUL, control escapes, non-ASCII code points, and
// unknown escapes.
func decodeANSI(s string) (string, bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, true
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		c, n, ok := ansiEscape(s[i+1:])
		if !ok || c == 0 {
			return "", false
		}
		b.WriteByte(c)
		i += 1 + n
	}
	return b.String(), true
}

// ansiEscape decodes one escape, given what follows the backslash: the byte,
// and how many bytes of s it took.
func ansiEscape(s string) (byte, int, bool) {
	if s == "" {
		return 0, 0, false
	}
	if i := strings.IndexByte("abeEfnrtv\\'\"?", s[0]); i >= 0 {
		return "\a\b\x1b\x1b\f\n\r\t\v\\'\"?"[i], 1, true
	}
	switch s[0] {
	case 'x':
		return ansiNumber(s, 1, 2, 16)
	case 'u':
		return ansiNumber(s, 1, 4, 16)
	case 'U':
		return ansiNumber(s, 1, 8, 16)
	}
	return ansiNumber(s, 0, 3, 8)
}

// ansiNumber reads up to most digits of s from offset from on.
func ansiNumber(s string, from, most, base int) (byte, int, bool) {
	end := from
	for end < len(s) && end-from < most && digit(s[end], base) {
		end++
	}
	n, err := strconv.ParseUint(s[from:end], base, 32)
	if err != nil {
		return 0, 0, false
	}
	if most <= 3 { // a byte; the shell keeps the low eight bits
		return byte(n & 0xff), end, true
	}
	return byte(n & 0x7f), end, n < utf8.RuneSelf
}

func digit(c byte, base int) bool {
	switch {
	case c >= '0' && c <= '7':
		return true
	case base == 8:
		return false
	}
	return c >= '8' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}
