package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// Problem is one thing that is wrong with a document, or worth a warning.
type Problem struct {
	Pos     decision.Position
	Path    string // the keys that lead to it, as in egress.rules[0].allow
	Message string // what is wrong
	Fix     string // what to write
}

// String returns "file:line:column: path: what is wrong; what to write". Text
// of the document is quoted in it.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.Pos.String() + ": ")
	if p.Path != "" {
		b.WriteString(p.Path + ": ")
	}
	b.WriteString(p.Message)
	if p.Fix != "" {
		b.WriteString("; " + p.Fix)
	}
	return b.String()
}

// Problems is everything that is wrong with a document, in the order of the
// file.
type Problems []Problem //nolint:errname // a list that is read as one; Err makes it an error

// Error returns one line a problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err returns ps as an error, nil where nothing is wrong.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps
}

// sorted returns ps in the order of the file, each line once.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return slices.Compact(ps)
}

// nearest returns the known word that another one probably means, "" where
// none is close.
func nearest(word string, known []string) string {
	const shortest, longest, most = 3, 64, 1000
	if len(word) < shortest || len(word) > longest || len(known) > most {
		return ""
	}
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
	}
	near, _ := allowlist.Nearest(word, known)
	return near
}

// instead says what to write in place of a word that is not known.
func instead(word string, known []string) string {
	if k := nearest(word, known); k != "" {
		return "did you mean " + k + "?"
	}
	const few = 12
	switch {
	case len(known) == 0:
		return ""
	case len(known) <= few:
		return "write " + oneOf(known)
	}
	return ""
}

// oneOf writes "a, b or c".
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
