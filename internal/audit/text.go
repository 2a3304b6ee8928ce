package audit

import (
	"unicode"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendJSON appends text as a JSON string that can stand on a terminal: every
// control, format, private and separator character is written as \uXXXX, and
// what is not UTF-8 becomes U+FFFD. Text beyond limit bytes is left out, and
// "…" stands for it.
func appendJSON[T ~string | ~[]byte](dst []byte, text T, limit int) []byte {
	dst = append(dst, '"')
	plain := 0
	end := min(len(text), limit)
	for i := 0; i < end; {
		c := text[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, text[plain:i]...)
		if c < utf8.RuneSelf {
			dst = escapeASCII(dst, c)
			i++
			plain = i
			continue
		}
		r, n := decodeRune(text, i)
		if end < len(text) && i+n > end {
			end = i // the limit is inside this character
			plain = i
			break
		}
		dst = escapeRune(dst, r)
		i += n
		plain = i
	}
	dst = append(dst, text[plain:end]...)
	if end < len(text) {
		dst = append(dst, "…"...)
	}
	return append(dst, '"')
}

// decodeRune decodes the character of text that begins at i.
func decodeRune[T ~string | ~[]byte](text T, i int) (rune, int) {
	var buf [utf8.UTFMax]byte
	n := copy(buf[:], text[i:])
	return utf8.DecodeRune(buf[:n])
}

func escapeASCII(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\t':
		return append(dst, '\\', 't')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

func escapeRune(dst []byte, r rune) []byte {
	if unicode.IsPrint(r) {
		return utf8.AppendRune(dst, r)
	}
	if r > 0xFFFF {
		hi, lo := (r-0x10000)>>10+0xD800, (r-0x10000)&0x3FF+0xDC00
		return escapeUnit(escapeUnit(dst, hi), lo)
	}
	return escapeUnit(dst, r)
}

func escapeUnit(dst []byte, r rune) []byte {
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}
