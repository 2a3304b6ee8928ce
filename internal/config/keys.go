package config

import (
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/toolgate/toolgate/internal/decision"
)

// keyField is a field of a struct that a key of the document fills.
type keyField struct {
	name     string
	index    []int
	required bool
	def      string // default, as YAML
	later    string // why the key is refused today
	min, max string // bounds of a duration
}

// keysOf returns the keys of a struct type by name.
func keysOf(t reflect.Type) map[string]keyField {
	fields := make(map[string]keyField, t.NumField())
	for _, f := range reflect.VisibleFields(t) {
		tag, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		fields[name] = keyField{
			name: name, index: f.Index, required: option == "required",
			def: f.Tag.Get("default"), later: f.Tag.Get("later"),
			min: f.Tag.Get("min"), max: f.Tag.Get("max"),
		}
	}
	return fields
}

// orderedKeys returns the keys of a struct type in the order of its fields.
func orderedKeys(t reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if tag, ok := f.Tag.Lookup("key"); ok {
			name, _, _ := strings.Cut(tag, ",")
			names = append(names, name)
		}
	}
	return names
}

// keyList names the keys of a struct type for a message.
func keyList(t reflect.Type) string {
	return "key: value with the keys " + strings.Join(orderedKeys(t), ", ")
}

// bounds checks a duration against the bounds of its key.
func (d *decoder) bounds(n *yaml.Node, v reflect.Value, f keyField, path string) {
	if f.min == "" {
		return
	}
	low, _ := time.ParseDuration(f.min)
	high, _ := time.ParseDuration(f.max)
	if got := time.Duration(v.Int()); got < low || got > high {
		d.problem(n, path, decision.Quote(n.Value)+" is out of bounds", "write a duration from "+f.min+" to "+f.max)
	}
}

// Shape says how a value is written: the table behind the JSON Schema and
// docs/config.md, read from the same types as the decoder.
type Shape struct {
	Kind    Kind
	Type    string   // of KindMapping: the Go type whose comments describe it
	What    string   // of KindText and KindNumber: what is expected
	Choices []string // of KindText: the only values
	Keys    []Key    // of KindMapping
	Elem    *Shape   // of KindList and KindNames
	Or      *Shape   // another way to write the same
}

// Key is one key of a mapping.
type Key struct {
	Name     string
	Field    string // the Go field whose comment describes it
	Default  string
	Required bool
	Later    string // why the key is refused today
	Shape    Shape
}

// Kind is the kind of a value.
type Kind uint8

// The kinds.
const (
	KindMapping Kind = iota // fixed keys
	KindNames               // a mapping from names that the author chooses
	KindList
	KindText
	KindNumber
	KindBool
)

// DocumentShape returns the shape of a policy document.
func DocumentShape() Shape { return newShaper().shape(reflect.TypeFor[Document]()) }

type shaper struct{ codecs map[reflect.Type]codec }

func newShaper() shaper { return shaper{codecs()} }

func (s shaper) shape(t reflect.Type) Shape {
	if c, ok := s.codecs[t]; ok {
		return c.shape(s)
	}
	switch t.Kind() { //nolint:exhaustive // every other kind is written as text
	case reflect.Pointer:
		return s.shape(t.Elem())
	case reflect.Struct:
		return s.mapping(t)
	case reflect.Slice:
		elem := s.shape(t.Elem())
		if isNamed(t.Elem()) {
			return Shape{Kind: KindNames, Elem: &elem}
		}
		return Shape{Kind: KindList, Elem: &elem}
	case reflect.Bool:
		return Shape{Kind: KindBool}
	case reflect.Int:
		return Shape{Kind: KindNumber, What: "a number"}
	default:
		return Shape{Kind: KindText, What: "text"}
	}
}

func (s shaper) mapping(t reflect.Type) Shape {
	m := Shape{Kind: KindMapping, Type: t.Name()}
	fields := keysOf(t)
	for _, name := range orderedKeys(t) {
		f := fields[name]
		goField := t.FieldByIndex(f.index)
		m.Keys = append(m.Keys, Key{
			Name: name, Field: goField.Name, Default: f.def, Required: f.required, Later: f.later,
			Shape: s.shape(goField.Type),
		})
	}
	return m
}
