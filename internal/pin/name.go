package pin

import (
	"slices"
	"strings"
)

// The limits of RFC 1035, section 2.3.4, without the final dot.
const (
	maxName  = 253
	maxLabel = 63
)

// canonical returns a DNS name in lower case and without a final dot; false
// for what is not a host name: empty labels, over-long ones, any character
// but letters, digits, '-' and '_' (which real hosts use), and names whose last
// label is a number, which some parsers take for an address (WHATWG URL,
// section 3.5).
func canonical(name string) (string, bool) {
	name = strings.TrimSuffix(name, ".")
	if name == "" || len(name) > maxName {
		return "", false
	}
	label := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.':
			if label == 0 {
				return "", false
			}
			label = 0
			continue
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return "", false
		}
		if label++; label > maxLabel {
			return "", false
		}
	}
	if label == 0 || numeric(name[strings.LastIndexByte(name, '.')+1:]) {
		return "", false
	}
	return strings.ToLower(name), true
}

// numeric reports whether a label reads as a number: decimal, octal, or with
// 0x in front.
func numeric(label string) bool {
	if len(label) >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X') {
		return strings.Trim(label[2:], "0123456789abcdefABCDEF") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// local reports whether a canonical name is localhost or below it: such a name
// is answered here and never sent to a server (RFC 6761, section 6.3).
func local(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// maxChain is how many aliases a name may have.
const maxChain = 8

// extend appends the aliases in more to chain, which starts at host.
func extend(host string, chain, more []string) ([]string, *DNSError) {
	for _, name := range more {
		if name == host || slices.Contains(chain, name) {
			return chain, fail(KindLoop, "alias %q comes twice", name)
		}
		if len(chain) == maxChain {
			return chain, fail(KindLoop, "more than %d aliases", maxChain)
		}
		chain = append(chain, name)
	}
	return chain, nil
}
