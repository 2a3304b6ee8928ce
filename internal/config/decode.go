package config

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/toolgate/toolgate/internal/decision"
)

// decoder fills Go values from a YAML tree by the key tags of their types. It
// goes on after a problem, so that all of them are told at once.
type decoder struct {
	file     string
	codecs   map[reflect.Type]codec
	defaults map[string]*yaml.Node
	places   map[string]decision.Position // of every value that was written, by path
	paths    map[decision.Position]string // the same, by place; made when asked for
	problems Problems
}

func newDecoder(file string) *decoder {
	return &decoder{
		file: file, codecs: codecs(),
		defaults: map[string]*yaml.Node{}, places: map[string]decision.Position{},
	}
}

// at is the place of a node; zero for a default, which stands nowhere.
func (d *decoder) at(n *yaml.Node) decision.Position {
	if n.Line == 0 {
		return decision.Position{}
	}
	return decision.Position{File: d.file, Line: n.Line, Col: n.Column}
}

func (d *decoder) problem(n *yaml.Node, path, message, fix string) {
	d.badAt(d.at(n), path, message, fix)
}

// value decodes n into v.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	if n.Line != 0 {
		d.places[path] = d.at(n)
	}
	c, special := d.codecs[v.Type()]
	if v.Kind() == reflect.Struct && !special {
		d.fill(v)
	}
	if !d.plain(n, path) {
		return
	}
	if special {
		c.decode(d, n, v, path)
		return
	}
	switch kind := v.Kind(); {
	case kind == reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		d.value(n, v.Elem(), path)
	case kind == reflect.Struct:
		d.mapping(n, v, path)
	case kind == reflect.Slice && isNamed(v.Type().Elem()):
		d.named(n, v, path)
	case kind == reflect.Slice:
		d.list(n, v, path)
	case kind == reflect.Bool:
		d.boolean(n, v, path)
	case kind == reflect.Int:
		d.integer(n, v, path)
	case kind == reflect.String:
		if text, ok := d.text(n, path); ok {
			v.SetString(text)
		}
	default:
		panic("config: no way to decode " + v.Type().String()) // a type without a codec: every test sees it
	}
}

// plain refuses what YAML has and a policy must not: anchors, aliases, merge
// keys, tags, and a value that is missing.
func (d *decoder) plain(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		d.problem(n, path, "*"+n.Value+" is an alias", "write the value itself")
	case n.Anchor != "":
		d.problem(n, path, "&"+n.Anchor+" is an anchor", "remove it")
	case n.Style&yaml.TaggedStyle != 0:
		d.problem(n, path, n.ShortTag()+" is a tag", "remove it")
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null":
		d.problem(n, path, "there is no value", "write one, or remove the key")
	default:
		return true
	}
	return false
}

// mapping decodes the keys of a struct.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "expected a mapping, found "+kindOf(n), "write "+keyList(v.Type()))
		return
	}
	if pos := v.FieldByName("Pos"); pos.IsValid() && pos.Type() == reflect.TypeFor[decision.Position]() {
		pos.Set(reflect.ValueOf(d.at(n)))
	}
	fields := keysOf(v.Type())
	seen := d.pairs(n, path, func(key, val *yaml.Node, sub string) {
		f, ok := fields[key.Value]
		switch {
		case !ok:
			d.unknownKey(key, path, v.Type())
		case f.later != "":
			d.problem(key, sub, f.later, "remove the key")
		default:
			d.value(val, v.FieldByIndex(f.index), sub)
			d.bounds(val, v.FieldByIndex(f.index), f, sub)
		}
	})
	for _, name := range orderedKeys(v.Type()) {
		if fields[name].required && !seen[name] {
			d.problem(n, path, "the key "+name+" is missing", "add it")
		}
	}
	if s, ok := reflect.TypeAssert[interface{ decoded(seen map[string]bool) }](v.Addr()); ok {
		s.decoded(seen)
	}
}

// pairs calls f for each key of a mapping that can be used, and returns which
// keys there were. sub is the path of the key's value.
func (d *decoder) pairs(n *yaml.Node, path string, f func(key, val *yaml.Node, sub string)) map[string]bool {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, val := n.Content[i], n.Content[i+1]
		if key.ShortTag() == "!!merge" {
			d.problem(key, path, "<< is a merge key", "write the keys themselves")
			continue
		}
		if !d.plain(key, path) {
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			d.problem(key, path, "a key that is not text: "+kindOf(key), "put it in quotes")
			continue
		}
		if bad := unprintable(key.Value); bad != "" {
			d.problem(key, path, "a key with the invisible character "+bad, "remove it")
			continue
		}
		sub := join(path, key.Value)
		if seen[key.Value] {
			d.problem(key, sub, "the key is there twice", "remove one")
			continue
		}
		seen[key.Value] = true
		f(key, val, sub)
	}
	return seen
}

func (d *decoder) unknownKey(key *yaml.Node, path string, t reflect.Type) {
	known := orderedKeys(t)
	fix := instead(key.Value, known)
	if fix == "" {
		fix = "known keys: " + strings.Join(known, ", ")
	}
	d.problem(key, join(path, key.Value), "unknown key", fix)
}

// fill sets the defaults of a struct and of the structs in it.
func (d *decoder) fill(v reflect.Value) {
	for _, f := range keysOf(v.Type()) {
		field := v.FieldByIndex(f.index)
		_, hasCodec := d.codecs[field.Type()]
		switch {
		case f.def != "":
			d.value(d.defaultNode(f.def), field, "")
		case field.Kind() == reflect.Struct && !hasCodec:
			d.fill(field)
		}
	}
}

// defaultNode is the tree of a default, which stands at no place.
func (d *decoder) defaultNode(text string) *yaml.Node {
	if n, ok := d.defaults[text]; ok {
		return n
	}
	var n yaml.Node
	if err := yaml.Load([]byte(text), &n); err != nil {
		panic("config: default " + text + ": " + err.Error()) // a tag of ours: every test sees it
	}
	root := n.Content[0]
	root.Line, root.Column = 0, 0
	for _, c := range root.Content {
		c.Line, c.Column = 0, 0
	}
	d.defaults[text] = root
	return root
}

// list decodes a sequence.
func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.problem(n, path, "expected a list, found "+kindOf(n), "write [a, b]")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.value(item, out.Index(i), path+"["+strconv.Itoa(i)+"]")
	}
	v.Set(out)
}

// isNamed reports whether elements of type t are written as a mapping from
// their names.
func isNamed(t reflect.Type) bool {
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[CommandRule]() {
		return false
	}
	f, ok := t.FieldByName("Name")
	return ok && f.Type.Kind() == reflect.String && f.Tag.Get("key") == ""
}

// named decodes a mapping from names to elements, in the order of the file.
func (d *decoder) named(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		d.problem(n, path, "expected a mapping from names, found "+kindOf(n), "write name: …")
		return
	}
	out := reflect.MakeSlice(v.Type(), 0, len(n.Content)/2)
	d.pairs(n, path, func(key, val *yaml.Node, sub string) {
		e := reflect.New(v.Type().Elem()).Elem()
		if key.Value == "" {
			d.problem(key, path, "an empty name", "write one")
			return
		}
		d.value(val, e, sub)
		e.FieldByName("Name").SetString(key.Value)
		e.FieldByName("Pos").Set(reflect.ValueOf(d.at(key)))
		out = reflect.Append(out, e)
	})
	v.Set(out)
}

func (d *decoder) boolean(n *yaml.Node, v reflect.Value, path string) {
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool":
		fix := "write true or false"
		if n.Kind == yaml.ScalarNode && n.Style != 0 {
			fix += " without quotes"
		}
		d.problem(n, path, "expected true or false, found "+kindOf(n), fix)
	case n.Value != "true" && n.Value != "false":
		d.problem(n, path, "expected true or false, found "+decision.Quote(n.Value), "write "+strings.ToLower(n.Value))
	default:
		v.SetBool(n.Value == "true")
	}
}

func (d *decoder) integer(n *yaml.Node, v reflect.Value, path string) {
	if i, ok := d.number(n, path); ok {
		v.SetInt(int64(i))
	}
}

// number reads a plain decimal number.
func (d *decoder) number(n *yaml.Node, path string) (int, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		fix := "write digits"
		if n.Kind == yaml.ScalarNode && n.Style != 0 {
			fix += " without quotes"
		}
		d.problem(n, path, "expected a number, found "+kindOf(n), fix)
		return 0, false
	}
	i, err := strconv.Atoi(n.Value)
	if err != nil || strconv.Itoa(i) != n.Value {
		d.problem(n, path, "expected a plain decimal number, found "+decision.Quote(n.Value), "write decimal digits only")
		return 0, false
	}
	return i, true
}

// text reads a scalar that is text.
func (d *decoder) text(n *yaml.Node, path string) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.problem(n, path, "expected text, found "+kindOf(n), "write one value")
	case n.ShortTag() != "!!str":
		d.problem(n, path, "expected text, found "+kindOf(n), "put it in quotes: \""+n.Value+"\"")
	case unprintable(n.Value) != "":
		d.problem(n, path, "the invisible character "+unprintable(n.Value)+" in a text", "remove it")
	default:
		return n.Value, true
	}
	return "", false
}

// unprintable names the first character of a text that hides from a reader;
// "" where there is none.
func unprintable(s string) string {
	for _, r := range s {
		if hidden(r) || r == unicode.ReplacementChar {
			return codePoint(r)
		}
	}
	return ""
}

// kindOf says in words what a node is.
func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind != yaml.ScalarNode:
		return "no value"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "the truth value " + n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!timestamp":
		return "the date " + n.Value
	}
	return "the text " + decision.Quote(n.Value)
}

// join adds a key to a path; one that is no plain word is quoted.
func join(path, key string) string {
	for _, r := range key {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-@*", r) {
			return path + "[" + decision.Quote(key) + "]"
		}
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
