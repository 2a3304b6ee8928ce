package config_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/config"
)

// node is as much of JSON Schema as the generated one uses.
type node struct {
	Type                 string          `json:"type"`
	Properties           map[string]node `json:"properties"`
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
	Required             []string        `json:"required"`
	Items                *node           `json:"items"`
	AnyOf                []node          `json:"anyOf"`
	Enum                 []any           `json:"enum"`
}

// accepts reports what the schema has against a value; "" for nothing.
func (s *node) accepts(v any, path string) string {
	if len(s.AnyOf) > 0 {
		why := ""
		for i := range s.AnyOf {
			if why = s.AnyOf[i].accepts(v, path); why == "" {
				return ""
			}
		}
		return why
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return fmt.Sprint(e) == fmt.Sprint(v) }) {
		return fmt.Sprintf("%s: %v is none of %v", path, v, s.Enum)
	}
	switch v := v.(type) {
	case map[string]any:
		return s.object(v, path)
	case []any:
		if s.Type != "array" {
			return path + ": a list"
		}
		for i, e := range v {
			if why := s.Items.accepts(e, fmt.Sprintf("%s[%d]", path, i)); why != "" {
				return why
			}
		}
		return ""
	case string:
		return unless(s.Type == "string", path+": a text")
	case bool:
		return unless(s.Type == "boolean", path+": a truth value")
	case int:
		return unless(s.Type == "integer", path+": a number")
	}
	return fmt.Sprintf("%s: %T", path, v)
}

func unless(ok bool, why string) string {
	if ok {
		return ""
	}
	return why
}

func (s *node) object(m map[string]any, path string) string {
	if s.Type != "object" {
		return path + ": a mapping"
	}
	for _, key := range s.Required {
		if _, ok := m[key]; !ok {
			return path + ": no " + key
		}
	}
	for key, v := range m {
		sub, known := s.Properties[key]
		if !known {
			if string(s.AdditionalProperties) == "false" || json.Unmarshal(s.AdditionalProperties, &sub) != nil {
				return path + ": unknown key " + key
			}
		}
		if why := sub.accepts(v, path+"."+key); why != "" {
			return why
		}
	}
	return ""
}

// TestSchema holds the schema against documents that toolgate takes and
// refuses.
func TestSchema(t *testing.T) {
	t.Parallel()
	var schema node
	if err := json.Unmarshal(configs.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name, text string
		ok         bool
	}{
		{"the embedded default", string(configs.Default()), true},
		{"every key", full, true},
		{"the shortest", "version: 1\n", true},
		{"no version", "mode: report\n", false},
		{"an unknown key", "version: 1\nlisen: {}\n", false},
		{"a key in another case", "version: 1\nMode: report\n", false},
		{"an unknown key deep inside", "version: 1\nagents: {a: {rol: review}}\n", false},
		{"an unknown key of a rule", "version: 1\ntools: {terminal: {sandbox: {allow: [{cmd: ls, wy: x}]}}}\n", false},
		{"a rule without its text", "version: 1\ntools: {terminal: {sandbox: {allow: [{why: x}]}}}\n", false},
		{"an unknown value", "version: 1\nmode: observe\n", false},
		{"a truth value in quotes", "version: 1\ntools: {terminal: {enabled: \"true\"}}\n", false},
		{"what is not built yet", "version: 1\nlisten: {mcp: \"127.0.0.1:8182\"}\n", false},
		{"another version", "version: 2\n", false},
	} {
		var v any
		if err := yaml.Load([]byte(row.text), &v); err != nil {
			t.Fatal(err)
		}
		if why := schema.accepts(v, ""); (why == "") != row.ok {
			t.Errorf("%s: %q", row.name, why)
		}
	}
}

// TestSchemaIsClosed walks the schema beside the decoder's table: every mapping
// with fixed keys is closed and has exactly these keys.
func TestSchemaIsClosed(t *testing.T) {
	t.Parallel()
	var schema node
	if err := json.Unmarshal(configs.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	shape := config.DocumentShape()
	closed(t, &schema, &shape, "")
}

func closed(t *testing.T, s *node, shape *config.Shape, path string) {
	t.Helper()
	if shape.Or != nil {
		closed(t, &s.AnyOf[1], shape.Or, path)
		s = &s.AnyOf[0]
	}
	switch shape.Kind {
	case config.KindMapping:
		if string(s.AdditionalProperties) != "false" {
			t.Errorf("%s is open", path)
		}
		built := 0
		for i := range shape.Keys {
			k := &shape.Keys[i]
			sub, ok := s.Properties[k.Name]
			if ok == (k.Later != "") {
				t.Errorf("%s.%s: in the schema: %v, refused today: %q", path, k.Name, ok, k.Later)
			}
			if ok {
				built++
				closed(t, &sub, &k.Shape, path+"."+k.Name)
			}
		}
		if built != len(s.Properties) {
			t.Errorf("%s: %d keys in the schema, %d in the decoder", path, len(s.Properties), built)
		}
	case config.KindNames:
		var sub node
		if err := json.Unmarshal(s.AdditionalProperties, &sub); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		closed(t, &sub, shape.Elem, path+".NAME")
	case config.KindList:
		closed(t, s.Items, shape.Elem, path+"[]")
	case config.KindText, config.KindNumber, config.KindBool:
	}
}
