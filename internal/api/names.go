package api

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// members are the names that one kind of object may have. Other names are
// ignored, as AuthZEN asks, unless they only look like one of these.
type members []string

// The members of each object, by its place in a request.
//
//nolint:gochecknoglobals // constant tables; Go has no constant arrays
var (
	singleMembers   = members{"subject", "action", "resource", "context"}
	batchMembers    = members{"subject", "action", "resource", "context", "evaluations", "options"}
	searchMembers   = members{"subject", "action", "resource", "context", "page"}
	subjectMembers  = members{"type", "id"}
	actionMembers   = members{"name", "properties"}
	resourceMembers = members{"type", "id", "properties"}
	actionProps     = members{"arguments"}
	resourceProps   = members{"arguments", "hops"}
	contextMembers  = members{"agent", "run", "version", "stage", "task_type", "repository", "job", "planned", "tool"}
	optionMembers   = members{"evaluations_semantic"}
	pageMembers     = members{"limit", "token"}
)

// find returns the known name that name is, or the one that it only looks
// like. Both are empty for a name that is neither.
func (m members) find(name []byte) (known, like string) {
	for _, k := range m {
		if k == string(name) {
			return k, ""
		}
	}
	if len(name) > maxLikeName {
		return "", ""
	}
	var buf [maxLikeName]byte
	bare := skeleton(buf[:0], name)
	for _, k := range m {
		if string(bare) == k || string(bare) == strings.ReplaceAll(k, "_", "") {
			return "", k
		}
	}
	return "", ""
}

// maxLikeName bounds, in bytes, a name that is compared by look. The longest
// known name has 20 letters, none of which has a double of more than 4 bytes.
const maxLikeName = 128

// skeleton appends what a reader who does not look closely, or a decoder that
// matches loosely, makes of name: letters in lower case, doubles of Latin
// letters replaced, separators and what cannot be seen left out.
func skeleton(dst, name []byte) []byte {
	for len(name) > 0 {
		r, n := utf8.DecodeRune(name)
		name = name[n:]
		if r = latin(r); r != 0 {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// latin returns the small Latin letter that r may be taken for, 0 for what is
// not seen or only separates, and r itself otherwise.
func latin(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return r
	case r >= 'A' && r <= 'Z':
		return r - 'A' + 'a'
	case r == '_' || r == '-' || r == '.' || unicode.IsSpace(r):
		return 0
	case r < utf8.RuneSelf:
		if unicode.IsControl(r) {
			return 0
		}
		return r
	case r >= 0xFF01 && r <= 0xFF5E: // full-width forms of ASCII
		return latin(r - 0xFEE0)
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Mn, unicode.Me):
		return 0
	}
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		if f < utf8.RuneSelf { // U+017F is an s to encoding/json, U+212A a k
			return latin(f)
		}
	}
	if l, ok := double(unicode.ToLower(r)); ok {
		return l
	}
	return r
}

// double returns the Latin letter that a Cyrillic or Greek one is drawn like
// (Unicode UTS 39, confusables), for the letters that known names have.
func double(r rune) (rune, bool) {
	const looks, letters = "асеіјоԁԛрѕуԝхһӏνορτиαıɡ", "aceijodqpsywxhlvoptnaig"
	for i, l := range []rune(looks) {
		if l == r {
			return rune(letters[i]), true
		}
	}
	return 0, false
}
