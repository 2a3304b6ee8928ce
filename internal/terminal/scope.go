package terminal

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// scope is one shell process of the script: the main one, or a subshell. It
// keeps what depends on the folder that the shell stands in.
type scope struct {
	parent *scope
	inner  []*scope
	left   bool       // a cd that does nothing but enter a folder of the workspace or /tmp does not count
	moved  bool       // any cd counts
	paths  []relative // what is only fine where no cd did
}

// relative is a use of a path that is relative to the current folder.
type relative struct {
	reason    decision.Reason
	at        syntax.Pos
	detail    string
	anyFolder bool // it means something else in any other folder of the workspace too
	frame     frame
}

// uses notes the use of a relative path.
func (w *walk) uses(reason decision.Reason, at syntax.Pos, detail string, anyFolder bool) {
	w.paths = append(w.paths, relative{reason: reason, at: at, detail: detail, anyFolder: anyFolder, frame: w.frame})
}

// settle refuses relative paths in scopes where the current folder is not
// known. A cd later in the text counts too: it may stand in a loop. Functions
// run in the scope of their caller, so with any function there is one scope.
func (w *walk) settle(root *scope, functions bool) {
	var all scope
	if functions {
		root.collect(&all)
	}
	w.settleScope(root, all.left, all.moved)
}

func (w *walk) settleScope(s *scope, left, moved bool) {
	left, moved = left || s.left, moved || s.moved
	for _, r := range s.paths {
		if left || moved && r.anyFolder {
			kept := w.frame
			w.frame = r.frame
			w.refuse(r.reason, r.at, r.detail)
			w.frame = kept
		}
	}
	for _, in := range s.inner {
		w.settleScope(in, left, moved)
	}
}

func (s *scope) collect(into *scope) {
	into.left, into.moved = into.left || s.left, into.moved || s.moved
	for _, in := range s.inner {
		in.collect(into)
	}
}

// changesFolder notes a cd. A literal path that stays in the workspace or in
// /tmp, and out of .git, changes nothing about what may be written.
func (w *walk) changesFolder(args []arg) {
	for len(args) > 0 && (args[0].is("-P") || args[0].is("-L") || args[0].is("-e") || args[0].is("--")) {
		args = args[1:]
	}
	if len(args) != 1 || !args[0].known || strings.HasPrefix(args[0].text, "-") || !writable(args[0].text) {
		w.left = true
	}
	w.moved = true
}

// writable reports whether a literal path lies in the workspace and not in
// .git, or in /tmp.
func writable(p string) bool {
	rest, tmp := strings.CutPrefix(p, "/tmp/")
	if p == "/tmp" {
		return true
	}
	if p == "" || !tmp && p[0] == '/' {
		return false
	}
	for part := range strings.SplitSeq(rest, "/") {
		if part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}
