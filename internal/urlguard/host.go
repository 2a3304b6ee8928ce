package urlguard

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode"

	"golang.org/x/net/idna"

	"github.com/toolgate/toolgate/internal/decision"
)

// The limits of RFC 1035, section 2.3.4, without the final dot.
const (
	maxName  = 253
	maxLabel = 63
)

// parseHost reads a host into e: an address literal, or a DNS name in its
// canonical spelling. A host that is written in any other way is a fault that
// says what it means.
func parseHost(s string, e *decision.Endpoint) Fault {
	switch {
	case s == "":
		return fault(decision.HostInvalid, "empty host")
	case s[0] == '[':
		return parseBrackets(s, e)
	case strings.Contains(s, "%"):
		return disguised(s, unescape(s))
	case !isASCII(s):
		return parseUnicode(s, e)
	}
	return parseASCII(s, e)
}

// parseBrackets reads an IPv6 literal in brackets. A mapped address becomes the
// IPv4 address that it is.
func parseBrackets(s string, e *decision.Endpoint) Fault {
	inner := s[1 : len(s)-1]
	text, _, zoned := strings.Cut(inner, "%")
	a, err := netip.ParseAddr(text)
	if err != nil || zoned || a.Is4() {
		f := fault(decision.HostInvalid, s)
		if err == nil {
			f.Addr = a
		}
		return f
	}
	e.Addr = a.Unmap()
	e.Host = e.Addr.String()
	return Fault{ok: true}
}

// parseASCII reads a host that is plain ASCII.
func parseASCII(s string, e *decision.Endpoint) Fault {
	name := strings.TrimSuffix(s, ".")
	if a, err := netip.ParseAddr(name); err == nil && a.Is4() {
		if name != s {
			return Fault{Reason: decision.HostInvalid, Detail: s, Addr: a}
		}
		e.Addr, e.Host = a, s
		return Fault{ok: true}
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumeric(last) {
		f := fault(decision.HostInvalid, s)
		f.Addr, _ = parseLegacyV4(name)
		return f
	}
	if !validName(name) {
		return fault(decision.HostInvalid, s)
	}
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "xn--") || strings.Contains(name, ".xn--") {
		if back, err := profile().ToUnicode(name); err != nil || isASCII(back) {
			return fault(decision.HostInvalid, s)
		}
	}
	e.Host = name
	return Fault{ok: true}
}

// parseUnicode reads an internationalised name. Only the spelling that the
// mapping of RFC 5895 leaves alone, but for case, is accepted: full-width or
// circled forms, other dots, and characters that the mapping drops are
// disguises.
func parseUnicode(s string, e *decision.Endpoint) Fault {
	mapped, err := profile().ToASCII(s)
	if err != nil {
		return disguised(s, strings.Map(dropInvisible, s))
	}
	back, err := profile().ToUnicode(mapped)
	lower := strings.ToLower(strings.TrimSuffix(s, "."))
	if err != nil || strings.TrimSuffix(back, ".") != lower || isASCII(back) {
		return disguised(s, mapped)
	}
	return parseASCII(mapped, e)
}

// profile maps names as a look-up does (UTS #46), and accepts what real hosts
// use: underscores, and hyphens in the third and fourth place.
func profile() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false),
		idna.StrictDomainName(false), idna.CheckHyphens(false))
}

// disguised is the fault of a host that is not written plainly; plain is what
// it would be read as.
func disguised(s, plain string) Fault {
	f := fault(decision.HostInvalid, s)
	if !isASCII(plain) {
		if mapped, err := profile().ToASCII(plain); err == nil {
			plain = mapped
		}
	}
	var e decision.Endpoint
	switch inner := parsePlain(plain, &e); {
	case inner.ok:
		f.Addr, f.Name = e.Addr, e.Host
	default:
		f.Addr, f.Name = inner.Addr, inner.Name
	}
	return f
}

// parsePlain is parseHost without another round of decoding.
func parsePlain(s string, e *decision.Endpoint) Fault {
	if s == "" || strings.Contains(s, "%") || !isASCII(s) {
		return fault(decision.HostInvalid, s)
	}
	if s[0] == '[' && s[len(s)-1] == ']' {
		return parseBrackets(s, e)
	}
	return parseASCII(s, e)
}

// unescape decodes percent-escapes; a text that cannot be decoded stays.
func unescape(s string) string {
	if plain, err := url.PathUnescape(s); err == nil {
		return plain
	}
	return s
}

// dropInvisible leaves out what a reader does not see.
func dropInvisible(r rune) rune {
	if unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Mn, r) || unicode.IsControl(r) || unicode.IsSpace(r) {
		return -1
	}
	return r
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// CanonicalName returns a DNS name in lower case and without a final dot; false
// for what is not a host name: empty labels, over-long ones, any character but
// letters, digits, '-' and '_', and names whose last label is a number, which
// some parsers take for an address (WHATWG URL, section 3.5).
func CanonicalName(name string) (string, bool) {
	name = strings.TrimSuffix(name, ".")
	if !validName(name) || isNumeric(name[strings.LastIndexByte(name, '.')+1:]) {
		return "", false
	}
	return strings.ToLower(name), true
}

// validName checks labels and characters of a name without its final dot.
// Underscores are accepted: real hosts use them.
func validName(name string) bool {
	if name == "" || len(name) > maxName {
		return false
	}
	label := 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '.':
			if label == 0 {
				return false
			}
			label = 0
			continue
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
		if label++; label > maxLabel {
			return false
		}
	}
	return label > 0
}

// isNumeric reports whether a last label makes a host an IPv4 address to some
// parser: all digits, or 0x and hexadecimal digits (WHATWG URL, "ends in a
// number checker").
func isNumeric(label string) bool {
	if len(label) >= 2 && label[0] == '0' && label[1]|0x20 == 'x' {
		return strings.Trim(label[2:], "0123456789abcdefABCDEF") == ""
	}
	return label != "" && strings.Trim(label, "0123456789") == ""
}

// parseLegacyV4 reads an IPv4 address as inet_aton and the WHATWG parser do:
// one to four parts, each decimal, octal (0…) or hexadecimal (0x…), the last
// one filling the remaining bytes. Numbers that are too large wrap, as some
// parsers let them.
func parseLegacyV4(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var addr uint32
	for i, part := range parts {
		n, ok := parseLegacyNumber(part)
		if !ok {
			return netip.Addr{}, false
		}
		last := i == len(parts)-1
		if !last && n > 0xff {
			return netip.Addr{}, false
		}
		if last {
			addr += n
		} else {
			addr += n << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}), true
}

// parseLegacyNumber reads one part of such an address, modulo 2^32.
func parseLegacyNumber(s string) (uint32, bool) {
	base := uint32(10)
	switch {
	case s == "":
		return 0, false
	case len(s) >= 2 && s[0] == '0' && s[1]|0x20 == 'x':
		base, s = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, s = 8, s[1:]
	}
	var n uint32
	for i := range len(s) {
		d := digit(s[i])
		if d >= base {
			return 0, false
		}
		n = n*base + d
	}
	return n, true
}

// digit is the value of a digit of any base; 255 for what is none.
func digit(c byte) uint32 {
	switch {
	case '0' <= c && c <= '9':
		return uint32(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint32(c|0x20-'a') + 10
	}
	return 255
}
