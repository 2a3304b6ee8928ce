package config_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/toolgate/toolgate/internal/config"
)

var update = flag.Bool("update", false, "write the generated files")

const (
	schemaFile = "../../configs/toolgate.schema.json"
	docsFile   = "../../docs/config.md"
)

func TestSchemaIsUpToDate(t *testing.T) {
	t.Parallel()
	isUpToDate(t, schemaFile, schemaJSON(t))
}

func TestDocsAreUpToDate(t *testing.T) {
	t.Parallel()
	isUpToDate(t, docsFile, markdown(t))
}

// isUpToDate compares a committed file with what is generated for it.
func isUpToDate(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the types say: run go generate ./internal/config", file)
	}
}

// comments returns the comments of the fields of the package's document types,
// by Type.Field and by Type.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("document*.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				if typ, ok := spec.(*ast.TypeSpec); ok {
					out[typ.Name.Name] = flat(gen.Doc.Text())
					fieldComments(out, typ)
				}
			}
		}
	}
	return out
}

func fieldComments(out map[string]string, typ *ast.TypeSpec) {
	s, ok := typ.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			out[typ.Name.Name+"."+name.Name] = flat(field.Doc.Text())
		}
	}
}

// flat writes a comment on one line.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") }

// schemaJSON is the JSON Schema of a policy document.
func schemaJSON(t *testing.T) []byte {
	t.Helper()
	g := generator{t: t, comments: comments(t)}
	shape := config.DocumentShape()
	root := g.schema(&shape)
	root.Version = jsonschema.Version
	root.ID = "https://github.com/toolgate/toolgate/configs/toolgate.schema.json"
	root.Title = "toolgate policy"
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(root); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

type generator struct {
	t        *testing.T
	comments map[string]string
}

func (g *generator) schema(s *config.Shape) *jsonschema.Schema {
	out := g.one(s)
	if s.Or == nil {
		return out
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{out, g.schema(s.Or)}}
}

func (g *generator) one(s *config.Shape) *jsonschema.Schema {
	switch s.Kind {
	case config.KindMapping:
		return g.mapping(s)
	case config.KindNames:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: g.schema(s.Elem)}
	case config.KindList:
		return &jsonschema.Schema{Type: "array", Items: g.schema(s.Elem)}
	case config.KindBool:
		return &jsonschema.Schema{Type: "boolean"}
	case config.KindNumber:
		if s.What == "a port" {
			return &jsonschema.Schema{Type: "integer", Minimum: "1", Maximum: "65535"}
		}
		return &jsonschema.Schema{Type: "integer", Enum: []any{1}} // the version
	case config.KindText:
	}
	out := &jsonschema.Schema{Type: "string"}
	for _, c := range s.Choices {
		out.Enum = append(out.Enum, c)
	}
	return out
}

func (g *generator) mapping(s *config.Shape) *jsonschema.Schema {
	out := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	for i := range s.Keys {
		k := &s.Keys[i]
		if k.Later != "" {
			continue // refused, so an editor shows it as unknown
		}
		sub := g.schema(&k.Shape)
		sub.Description = g.comment(s, k)
		if sub.Type == "string" || sub.Type == "boolean" {
			sub.Default = defaultValue(k.Default)
		}
		out.Properties.Set(k.Name, sub)
		if k.Required {
			out.Required = append(out.Required, k.Name)
		}
	}
	return out
}

// comment is what the Go source says about a key.
func (g *generator) comment(s *config.Shape, k *config.Key) string {
	text := g.comments[s.Type+"."+k.Field]
	if text == "" {
		g.t.Errorf("%s.%s: the key %s has no comment to publish", s.Type, k.Field, k.Name)
	}
	return text
}

func defaultValue(s string) any {
	switch s {
	case "":
		return nil
	case "true", "false":
		return s == "true"
	}
	return s
}

// markdown is docs/config.md.
func markdown(t *testing.T) []byte {
	t.Helper()
	g := generator{t: t, comments: comments(t)}
	var b strings.Builder
	b.WriteString(docsHead)
	shape := config.DocumentShape()
	g.section(&b, &shape, "")
	return []byte(b.String())
}

const docsHead = `<!-- Generated from the types of internal/config by "go generate ./internal/config". -->
# Configuration

A policy is one YAML document, ` + "`toolgate.yaml`" + `. toolgate reads it strictly: an unknown key, a key in another case, a
duplicate, an anchor, a tag, an empty value or a second document is refused, with ` + "`file:line:column`" + `, the path, and
what to write. All problems are told at once, and nothing starts or reloads on a file with any. ` + "`toolgate check FILE`" + `
tells them, and what is allowed but probably not meant.

[configs/toolgate.yaml](../configs/toolgate.yaml) is the commented default; an editor that knows JSON Schema checks and
completes a policy with [configs/toolgate.schema.json](../configs/toolgate.schema.json). NAME stands for a name that you
choose, [] for an entry of a list.

| key | type | default | meaning |
|---|---|---|---|
`

// section writes the keys of a mapping, each followed by what is inside it.
func (g *generator) section(b *strings.Builder, s *config.Shape, prefix string) {
	for i := range s.Keys {
		k := &s.Keys[i]
		path := prefix + k.Name
		def := k.Default
		if k.Required {
			def = "required"
		} else if def != "" {
			def = "`" + def + "`"
		}
		row := []string{"`" + path + "`", typeOf(&k.Shape), def, g.comment(s, k)}
		for j, cell := range row {
			row[j] = strings.ReplaceAll(cell, "|", `\|`)
		}
		b.WriteString("| " + strings.Join(row, " | ") + " |\n")
		g.inside(b, &k.Shape, path)
	}
}

func (g *generator) inside(b *strings.Builder, s *config.Shape, path string) {
	switch s.Kind {
	case config.KindMapping:
		g.section(b, s, path+".")
	case config.KindNames:
		g.inside(b, s.Elem, path+".NAME")
	case config.KindList:
		g.inside(b, s.Elem, path+"[]")
	case config.KindText, config.KindNumber, config.KindBool:
	}
	if s.Or != nil {
		g.inside(b, s.Or, path)
	}
}

// typeOf says in words how a value is written.
func typeOf(s *config.Shape) string {
	text := ""
	switch s.Kind {
	case config.KindMapping:
		text = "mapping"
	case config.KindNames:
		text = "mapping from names"
		if s.Elem.Kind != config.KindMapping {
			text += ": " + typeOf(s.Elem)
		}
	case config.KindList:
		text = "list of " + strings.TrimPrefix(strings.TrimPrefix(typeOf(s.Elem), "an "), "a ")
	case config.KindBool:
		text = "true or false"
	case config.KindText, config.KindNumber:
		text = s.What
		if len(s.Choices) > 0 {
			text = strings.Join(s.Choices, ", ")
		}
	}
	if s.Or != nil {
		text += "; or " + typeOf(s.Or)
	}
	return text
}
