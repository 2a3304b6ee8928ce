package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolgate/toolgate/internal/decision"
)

// maxDepth bounds how deep objects and arrays of a request may nest.
const maxDepth = 32

// maxExactInt bounds the integers that a float64 holds exactly.
const maxExactInt = 1 << 53

// reader reads one request, token by token. The decoder under it refuses what
// is not JSON (RFC 8259), names that occur twice in one object, invalid UTF-8
// and lone surrogates (RFC 7493). Its methods return an error only for those
// and for depth: then nothing of the request can be used. What is well-formed
// but has the wrong shape is noted in a fault, and reading goes on.
type reader struct {
	dec  *jsontext.Decoder
	src  bytes.Buffer
	name []byte // scratch for text that is written with escapes
}

// fault is the first thing that is wrong with the shape of a request; empty
// when nothing is.
type fault string

func (f *fault) note(message string) {
	if *f == "" {
		*f = fault(message)
	}
}

// reset makes r read data.
func (r *reader) reset(data []byte) {
	r.src = *bytes.NewBuffer(data)
	if r.dec == nil {
		r.dec = jsontext.NewDecoder(&r.src)
		return
	}
	r.dec.Reset(&r.src)
}

// begin reads the brace that opens the whole request.
func (r *reader) begin() error {
	if k := r.dec.PeekKind(); k != '{' && k != 0 {
		return malformed("the body must be a JSON object, not " + kindName(k))
	}
	return r.open()
}

// end makes sure that nothing follows the request.
func (r *reader) end() error {
	if _, err := r.dec.ReadToken(); err == nil {
		return malformed("something follows the JSON object")
	} else if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return syntax(err)
	}
	return nil
}

// open reads the token that opens an object or array.
func (r *reader) open() error {
	if _, err := r.dec.ReadToken(); err != nil {
		return syntax(err)
	}
	if r.dec.StackDepth() > maxDepth {
		return malformed("the body nests deeper than " + strconv.Itoa(maxDepth) + " levels")
	}
	return nil
}

// more reports whether the object or array that is open has another member,
// and reads its end when not.
func (r *reader) more(end jsontext.Kind) (bool, error) {
	if r.dec.PeekKind() != end {
		return true, nil
	}
	_, err := r.dec.ReadToken()
	return false, syntax(err)
}

// member reads the next name of the open object and returns the known name
// that it is, or "" after it has skipped the value of one that is not.
func (r *reader) member(m members, f *fault) (string, error) {
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", syntax(err)
	}
	if len(raw) < 2 || raw[0] != '"' {
		return "", malformed("not valid JSON: a name must be a string")
	}
	name := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(name, '\\') >= 0 {
		if r.name, err = jsontext.AppendUnquote(r.name[:0], raw); err != nil {
			return "", syntax(err)
		}
		name = r.name
	}
	known, like := m.find(name)
	if like != "" {
		f.note("the member " + decision.Quote(string(name)) + " only looks like " + strconv.Quote(like))
	}
	if known == "" {
		return "", r.skip()
	}
	return known, nil
}

// object opens the value of the member what if it is an object, and otherwise
// notes the fault and skips it.
func (r *reader) object(what string, f *fault) (bool, error) {
	if k := r.dec.PeekKind(); k != '{' {
		f.note(what + " must be an object, not " + kindName(k))
		return false, r.skip()
	}
	return true, r.open()
}

// text reads the value of the member what, which must be a string.
func (r *reader) text(what string, f *fault) (string, error) {
	if k := r.dec.PeekKind(); k != '"' {
		f.note(what + " must be a string, not " + kindName(k))
		return "", r.skip()
	}
	raw, err := r.dec.ReadValue()
	if err != nil {
		return "", syntax(err)
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return word(raw[1 : len(raw)-1]), nil
	}
	r.name, err = jsontext.AppendUnquote(r.name[:0], raw)
	return string(r.name), syntax(err)
}

// word returns text as a string, and makes none for the words of the protocol.
func word(text []byte) string {
	switch string(text) {
	case "agent":
		return "agent"
	case "tool":
		return "tool"
	case "tools/call":
		return "tools/call"
	case "url":
		return "url"
	case "fetch":
		return "fetch"
	case "command":
		return "command"
	case "execute":
		return "execute"
	}
	return string(text)
}

// texts reads the value of the member what, which must be a list of strings.
// The list is never nil when it is one.
func (r *reader) texts(what string, f *fault) ([]string, error) {
	if k := r.dec.PeekKind(); k != '[' {
		f.note(what + " must be a list of strings, not " + kindName(k))
		return nil, r.skip()
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	list := []string{}
	for {
		more, err := r.more(']')
		if err != nil || !more {
			return list, err
		}
		s, err := r.text("an entry of "+what, f)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
}

// skip reads one value and forgets it.
func (r *reader) skip() error {
	for base := r.dec.StackDepth(); ; {
		if err := r.open(); err != nil {
			return err
		}
		if r.dec.StackDepth() <= base {
			return nil
		}
	}
}

// arguments reads the value of the member what, which must be an object of
// named arguments.
func (r *reader) arguments(what string, f *fault) (decision.Arguments, error) {
	if is, err := r.object(what, f); !is || err != nil {
		return nil, err
	}
	return r.fields()
}

// fields reads the members of the open object.
func (r *reader) fields() (map[string]any, error) {
	m := map[string]any{}
	for {
		more, err := r.more('}')
		if err != nil || !more {
			return m, err
		}
		tok, err := r.dec.ReadToken()
		if err != nil {
			return nil, syntax(err)
		}
		name := tok.String()
		if m[name], err = r.value(); err != nil {
			return nil, err
		}
	}
}

// value reads one value as encoding/json gives it to an any, except that a
// number which a float64 would change stays a json.Number.
func (r *reader) value() (any, error) {
	if k := r.dec.PeekKind(); k == '{' || k == '[' {
		if err := r.open(); err != nil {
			return nil, err
		}
		if k == '{' {
			return r.fields()
		}
		return r.items()
	}
	tok, err := r.dec.ReadToken()
	if err != nil {
		return nil, syntax(err)
	}
	switch byte(tok.Kind()) {
	case '"':
		return tok.String(), nil
	case '0':
		return number(tok), nil
	case 't', 'f':
		return tok.Bool(), nil
	default:
		return nil, nil //nolint:nilnil // null
	}
}

// items reads the entries of the open array.
func (r *reader) items() ([]any, error) {
	list := []any{}
	for {
		more, err := r.more(']')
		if err != nil || !more {
			return list, err
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

func number(tok jsontext.Token) any {
	f, err := tok.Float()
	if err != nil || math.Abs(f) >= maxExactInt {
		return json.Number(tok.String())
	}
	return f
}

// syntax says where a body stops being JSON, without its text.
func syntax(err error) error {
	if err == nil {
		return nil
	}
	var at *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &at):
		return malformed("a member name occurs twice in one object, at byte " + strconv.FormatInt(at.ByteOffset, 10))
	case errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF):
		return malformed("the body ends before the JSON object does")
	case errors.As(err, &at) && at.Err != nil:
		return malformed("not valid JSON at byte " + strconv.FormatInt(at.ByteOffset, 10) + ": " + decision.Quote(at.Err.Error()))
	}
	return malformed("not valid JSON")
}

// kindName is the JSON type of a value that begins with k.
func kindName(k jsontext.Kind) string {
	switch byte(k) {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "something else"
	}
}
