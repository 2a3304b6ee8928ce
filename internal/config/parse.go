package config

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"github.com/toolgate/toolgate/internal/decision"
)

const (
	maxSize  = 1 << 20 // bytes of a document
	maxDepth = 16      // levels of a document; the deepest key lies at 8
)

// parse reads the one YAML document of data as a tree. It refuses what a
// reader could take for something else before the parser sees it.
func parse(file string, data []byte) (*yaml.Node, Problems) {
	if len(data) > maxSize {
		return nil, Problems{{Pos: decision.Position{File: file, Line: 1, Col: 1}, Message: "the file is longer than 1 MiB", Fix: "split the work between several toolgates"}}
	}
	if p, bad := badText(file, data); bad {
		return nil, Problems{p}
	}
	var docs []yaml.Node
	err := yaml.Load(data, &docs,
		yaml.WithAllDocuments(),
		yaml.WithPlugin(loaderlimits.New(loaderlimits.AliasValue(0), loaderlimits.DepthValue(maxDepth))))
	if err != nil {
		return nil, Problems{syntaxProblem(file, data, err)}
	}
	if len(docs) == 0 || len(docs[0].Content) == 0 || docs[0].Content[0].ShortTag() == "!!null" {
		return nil, Problems{{Pos: decision.Position{File: file, Line: 1, Col: 1}, Message: "the file holds no document", Fix: "begin with version: 1"}}
	}
	if len(docs) > 1 {
		pos := clamp(decision.Position{File: file, Line: docs[1].Line, Col: docs[1].Column}, data)
		return nil, Problems{{Pos: pos, Message: "a second document begins here", Fix: "write one document to a file"}}
	}
	return docs[0].Content[0], nil
}

// badText finds bytes that are not text, and characters that a reader does not
// see as what they are. It also finds directives, which stand at the beginning
// of a line and nowhere else.
func badText(file string, data []byte) (Problem, bool) {
	line, col := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		problem := Problem{Pos: decision.Position{File: file, Line: line, Col: col}}
		switch {
		case r == utf8.RuneError && size == 1:
			problem.Message, problem.Fix = "the file is not UTF-8", "save it as UTF-8"
			return problem, true
		case r == '\ufeff' && i == 0:
			problem.Message, problem.Fix = "the file begins with a byte order mark", "save it as UTF-8 without one"
			return problem, true
		case r == '%' && col == 1: // the parser would skip it, whatever it says
			problem.Message, problem.Fix = "a YAML directive begins here", "remove it"
			return problem, true
		case r == '\r' && i+1 < len(data) && data[i+1] == '\n':
		case hidden(r):
			problem.Message = "the file holds the invisible character " + codePoint(r)
			problem.Fix = "remove it"
			return problem, true
		}
		if i += size; r == '\n' {
			line, col = line+1, 1
		} else {
			col++
		}
	}
	return Problem{}, false
}

// hidden reports whether r is a control character other than tab and line
// feed, a line break that only some programs know, or a format character
// (which can reorder or hide what a reader sees).
func hidden(r rune) bool {
	return r != '\t' && r != '\n' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Cf, r)
}

// codePoint writes a character as U+XXXX.
func codePoint(r rune) string {
	hex := strings.ToUpper(strconv.FormatInt(int64(r), 16))
	return "U+" + strings.Repeat("0", max(0, 4-len(hex))) + hex
}

// syntaxProblem says where and why the parser gave up.
func syntaxProblem(file string, data []byte, err error) Problem {
	p := Problem{Pos: decision.Position{File: file, Line: 1, Col: 1}, Message: err.Error(), Fix: "correct the YAML"}
	var all *yaml.LoadErrors
	var one *yaml.LoadError
	if errors.As(err, &all) && len(all.Errors) > 0 {
		one = all.Errors[0]
	}
	if one != nil || errors.As(err, &one) {
		p.Message = "not YAML: " + one.Message
		if one.ContextMsg != "" {
			p.Message += " (" + one.ContextMsg + ")"
		}
		if one.Mark.Line > 0 {
			p.Pos = clamp(decision.Position{File: file, Line: one.Mark.Line, Col: one.Mark.Column}, data)
		}
	}
	return p
}

// clamp moves a position that lies behind the end of the file to its end.
func clamp(pos decision.Position, data []byte) decision.Position {
	lines := strings.Split(string(data), "\n")
	if n := len(lines); n > 1 && lines[n-1] == "" {
		lines = lines[:n-1]
	}
	if pos.Line > len(lines) {
		pos.Line = len(lines)
		pos.Col = utf8.RuneCountInString(lines[len(lines)-1]) + 1
	}
	pos.Line, pos.Col = max(pos.Line, 1), max(pos.Col, 1)
	return pos
}
