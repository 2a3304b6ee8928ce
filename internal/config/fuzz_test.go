package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/config"
)

// FuzzLoad loads whatever it is given: it returns a document or problems,
// never both or neither, the same ones every time, and every problem stands
// inside the file.
func FuzzLoad(f *testing.F) {
	cat := catalogue(f)
	f.Add(configs.Default())
	f.Add([]byte(full))
	files, err := filepath.Glob(filepath.Join("testdata", "*", "*.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		body, _ := expected(string(text))
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		doc, lints, problems := config.LoadWithLints("f", data, cat)
		if (doc == nil) != (len(problems) > 0) {
			t.Fatalf("document %v, problems %v", doc, problems)
		}
		again, lintsAgain, problemsAgain := config.LoadWithLints("f", data, cat)
		if (doc == nil) != (again == nil) {
			t.Fatal("a document came back only once")
		}
		if diff := cmp.Diff(problems, problemsAgain) + cmp.Diff(lints, lintsAgain); diff != "" {
			t.Fatalf("two loads differ:\n%s", diff)
		}
		lines := strings.Split(string(data), "\n")
		for _, p := range append(problems, lints...) {
			if p.Pos.File != "f" || p.Message == "" {
				t.Fatalf("no place or no message: %+v", p)
			}
			if p.Pos.Line < 1 || p.Pos.Line > len(lines) || p.Pos.Col < 1 || p.Pos.Col > utf8.RuneCountInString(lines[p.Pos.Line-1])+1 {
				t.Fatalf("%s is outside the file", p)
			}
			if strings.ContainsFunc(p.String(), func(r rune) bool { return r < ' ' }) {
				t.Fatalf("a control character in %q", p.String())
			}
		}
	})
}
