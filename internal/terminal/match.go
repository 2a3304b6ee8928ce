package terminal

import (
	"path"
	"strings"
)

// likeness is whether a rule matches a command. The zero value is no.
type likeness uint8

const (
	no likeness = iota
	maybe
	yes
)

// match compares the rule with a command whose first word is known to fit.
func (r *Rule) match(args []arg) likeness {
	result := yes
	for i, t := range r.tokens[1:] {
		if i+1 >= len(args) {
			return no
		}
		a := &args[i+1]
		switch {
		case a.many: // what follows may be at any place
			return maybe
		case a.known && !t.match(a.text):
			return no
		case !a.known && !t.any():
			if !t.mayMatch(a.text) {
				return no
			}
			result = maybe
		}
	}
	if r.exact && len(args) > len(r.tokens) {
		for i := len(r.tokens); i < len(args); i++ {
			if !args[i].many {
				return no
			}
		}
		return maybe
	}
	return result
}

// mayMatch reports whether a word that begins with prefix may match.
func (t token) mayMatch(prefix string) bool {
	for _, s := range t.alternatives {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}

// spells reports whether the rule names the first n words of a command one by
// one, so that its author has seen them.
func (r *Rule) spells(n int) bool {
	if len(r.tokens) < n {
		return false
	}
	for _, t := range r.tokens[:n] {
		if t.any() {
			return false
		}
	}
	return true
}

// allowed finds the rule that allows a command. A rule that also spells out the
// first n words is preferred; spelled says whether there is one.
func (j *Judge) allowed(args []arg, n int) (rule *Rule, spelled bool) {
	try := func(rules []*Rule) {
		for _, r := range rules {
			if r.match(args) != yes {
				continue
			}
			if full := r.spells(n); rule == nil || full && !spelled {
				rule, spelled = r, full
			}
		}
	}
	name := args[0].text
	try(j.allow.byName[name])
	if base := path.Base(name); base != name && j.sameFile(name, base) {
		try(j.allow.byName[base])
	}
	try(j.allow.any)
	return rule, spelled
}

func (j *Judge) sameFile(name, base string) bool {
	return j.programs != nil && path.IsAbs(name) && j.programs.SameFile(name, base)
}

// blocked finds a rule that blocks a command, or may block it once it is known
// in full. Here a doubt counts against the command: in blocklist mode a bare
// name stands for every path that ends in it, and in allowlist mode for every
// absolute path whose file is not known to be another one.
func (j *Judge) blocked(args []arg) (rule *Rule, sure likeness) {
	try := func(rules []*Rule) {
		for _, r := range rules {
			if m := r.match(args); m > sure {
				rule, sure = r, m
			}
		}
	}
	name := args[0].text
	try(j.block.byName[name])
	try(j.block.any)
	if strings.Contains(name, "/") {
		base := path.Base(name)
		if j.mode == ModeBlocklist || path.IsAbs(name) && j.programs == nil {
			try(j.block.byName[base])
		}
		for _, bare := range j.block.bare {
			if j.sameFile(name, bare) {
				try(j.block.byName[bare])
			}
		}
	}
	return rule, sure
}
