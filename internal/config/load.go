package config

import (
	"reflect"
	"strconv"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// Load reads a policy document. name is what positions carry, usually the path
// of the file. Names of roles, tools, groups and agents are checked against
// cat.
//
// The document is nil if there is any problem, and the problems are all that
// can be told at once, in the order of the file.
func Load(name string, data []byte, cat *allowlist.Catalogue) (*Document, Problems) {
	doc, _, problems := load(name, data, cat)
	return doc, problems
}

// LoadWithLints is Load with the warnings about a document that has no
// problem: what is allowed, and probably not meant or not wise.
func LoadWithLints(name string, data []byte, cat *allowlist.Catalogue) (*Document, Problems, Problems) {
	doc, d, problems := load(name, data, cat)
	if doc == nil {
		return nil, nil, problems
	}
	return doc, lints(doc, d, cat), nil
}

func load(name string, data []byte, cat *allowlist.Catalogue) (*Document, *decoder, Problems) {
	root, problems := parse(name, data)
	if root == nil {
		return nil, nil, problems
	}
	d := newDecoder(name)
	doc := &Document{File: name}
	d.value(root, reflect.ValueOf(doc).Elem(), "")
	checkDocument(doc, d, cat)
	if len(d.problems) > 0 {
		return nil, nil, d.problems.sorted()
	}
	return doc, d, nil
}

// checker finds what the parts of a document say against each other.
type checker struct {
	*decoder
	doc *Document
	cat *allowlist.Catalogue
}

// checkDocument adds the problems of doc to d.
func checkDocument(doc *Document, d *decoder, cat *allowlist.Catalogue) {
	c := &checker{decoder: d, doc: doc, cat: cat}
	if doc.Version != 1 && c.written("version") && !c.hasProblem("version") {
		c.bad("version", "unknown version "+strconv.Itoa(doc.Version), "write version: 1")
	}
	c.notEmpty("state", doc.State)
	c.notEmpty("api.token_file", doc.API.TokenFile)
	c.listeners()
	c.terminal()
	c.inventory()
	c.servers()
	c.agents()
	c.egress()
}

// written reports whether the document has a value at path.
func (d *decoder) written(path string) bool {
	_, ok := d.places[path]
	return ok
}

// bad adds a problem with the value at path.
func (d *decoder) bad(path, message, fix string) { d.badAt(d.places[path], path, message, fix) }

// badAt adds a problem. Behind a limit, the rest is left out, and one says so.
func (d *decoder) badAt(pos decision.Position, path, message, fix string) {
	const most = 1000
	if pos.IsZero() { // about a default
		pos = decision.Position{File: d.file, Line: 1, Col: 1}
	}
	switch {
	case len(d.problems) < most:
		d.problems = append(d.problems, Problem{Pos: pos, Path: path, Message: message, Fix: fix})
	case len(d.problems) == most:
		d.problems = append(d.problems, Problem{Pos: pos, Message: "there are more problems than these", Fix: "correct these first"})
	}
}

// pathAt returns the path of the value that stands at pos: the deepest one.
func (d *decoder) pathAt(pos decision.Position) string {
	if d.paths == nil {
		d.paths = make(map[decision.Position]string, len(d.places))
		for path, p := range d.places {
			if best := d.paths[p]; len(path) > len(best) || len(path) == len(best) && path > best {
				d.paths[p] = path
			}
		}
	}
	return d.paths[pos]
}

// notEmpty refuses a text that is written and empty.
func (c *checker) notEmpty(path, text string) {
	if text == "" && c.written(path) && !c.hasProblem(path) {
		c.bad(path, "the text is empty", "write a value, or remove the key")
	}
}

// hasProblem reports whether something is already known to be wrong at path.
func (c *checker) hasProblem(path string) bool {
	for i := range c.problems {
		if c.problems[i].Path == path {
			return true
		}
	}
	return false
}
