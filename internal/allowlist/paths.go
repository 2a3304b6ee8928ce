package allowlist

import (
	"path"
	"strings"
)

// under reports whether a path, cleaned, lies in folder. It judges text: links
// are the tool's own affair. A path that could mean another place to someone
// does not lie in it: one with control characters or backslashes, with .. in
// percent-encoding, and a relative one that starts like a home or a scheme.
func under(folder, p string) bool {
	if p == "" || path.IsAbs(folder) != path.IsAbs(p) || strings.ContainsFunc(p, misread) {
		return false
	}
	if strings.Contains(p, "%") && climbs(p) {
		return false
	}
	if first, _, _ := strings.Cut(p, "/"); strings.HasPrefix(first, "~") || strings.Contains(first, ":") {
		return false
	}
	folder, p = path.Clean(folder), path.Clean(p)
	if p == folder || folder == "/" {
		return true
	}
	rest := p
	if folder != "." {
		var inside bool
		if rest, inside = strings.CutPrefix(p, folder+"/"); !inside {
			return false
		}
	}
	return rest != ".." && !strings.HasPrefix(rest, "../")
}

func misread(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }

// climbs reports whether a text, read as a path or a URL, has a segment that
// leads up: .., also with backslashes or in percent-encoding. Such a text begins
// with a folder and means another place.
func climbs(s string) bool {
	dots, other := 0, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '%' && i+2 < len(s) {
			if d, ok := dotOrSlash(s[i+1], s[i+2]); ok {
				c, i = d, i+2
			}
		}
		switch c {
		case '.':
			dots++
		case '/', '\\':
			if dots == 2 && !other {
				return true
			}
			dots, other = 0, false
		default:
			other = true
		}
	}
	return dots == 2 && !other
}

// dotOrSlash decodes %2e, %2f and %5c.
func dotOrSlash(high, low byte) (byte, bool) {
	switch {
	case high == '2' && low|0x20 == 'e':
		return '.', true
	case high == '2' && low|0x20 == 'f':
		return '/', true
	case high == '5' && low|0x20 == 'c':
		return '\\', true
	}
	return 0, false
}
