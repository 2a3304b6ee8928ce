package allowlist

// set is a set of tools of one registry, by index. The nil set is empty.
type set []uint64

func newSet(n int) set { return make(set, (n+63)/64) }

func (s set) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s set) has(i int) bool { return i/64 < len(s) && s[i/64]&(1<<(i%64)) != 0 }

func (s set) union(o set) {
	for i := range o {
		s[i] |= o[i]
	}
}

func (s set) minus(o set) {
	for i := range o {
		s[i] &^= o[i]
	}
}

func (s set) empty() bool {
	for _, w := range s {
		if w != 0 {
			return false
		}
	}
	return true
}

// within reports whether s holds nothing that o lacks.
func (s set) within(o set) bool {
	for i := range s {
		if i >= len(o) && s[i] != 0 || i < len(o) && s[i]&^o[i] != 0 {
			return false
		}
	}
	return true
}
