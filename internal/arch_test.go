package internal_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"iter"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/toolgate/toolgate"

// mayImport is the import direction of toolgate, package by package. The test
// fails on an edge that is not here and on a package that is not here.
var mayImport = map[string][]string{
	// vocabulary and facts
	"decision": {},
	"ipclass":  {},
	// judges: pure, no I/O
	"allowlist": {"decision"},
	"urlguard":  {"decision", "ipclass"},
	"terminal":  {"decision"},
	// document and decision point
	"config": {"decision", "allowlist", "urlguard", "terminal"},
	"policy": {"decision", "config", "allowlist", "urlguard", "terminal", "ipclass"},
	// state and effects
	"runs":    {"decision", "allowlist"},
	"pin":     {"decision", "urlguard", "ipclass"},
	"audit":   {"decision"},
	"metrics": {"decision"},
	// enforcement points: never one another, never policy
	"egress": {"decision", "urlguard", "pin"},
	"api":    {"decision"},
	// wiring
	"daemon": {
		"config", "policy", "runs", "pin", "audit", "metrics", "egress", "api", "decision",
		"ipclass", "urlguard", "terminal", "allowlist",
	},
}

// pure are the packages that may not import what reaches outside the process.
var pure = map[string][]string{
	"decision":  {"net", "net/http", "os", "os/exec", "log/slog"},
	"ipclass":   {"net", "net/http", "os", "os/exec", "log/slog"},
	"allowlist": {"net", "net/http", "os", "os/exec", "log/slog"},
	"urlguard":  {"net", "net/http", "os", "os/exec", "log/slog"},
	"terminal":  {"net", "net/http", "os", "os/exec", "log/slog"},
}

// onlyIn confines a dependency to the packages that wrap it.
var onlyIn = map[string][]string{
	"github.com/elazarl/goproxy":          {"egress"},
	"github.com/miekg/dns":                {"pin", "dnsgate", "testkit/dnstest"},
	"mvdan.cc/sh/v3":                      {"terminal"},
	"github.com/prometheus/client_golang": {"metrics"},
	"github.com/rs/zerolog":               {"audit", "daemon"},
	"go.yaml.in/yaml/v4":                  {"config"},
	"github.com/fsnotify/fsnotify":        {"daemon"},
}

// TestImportDirection parses the sources itself instead of running "go list":
// the go command caches a passing test and only notices files that the test
// process opened, so a subprocess would let a later violation pass as "(cached)".
func TestImportDirection(t *testing.T) {
	t.Parallel()
	for name := range sources(t) {
		pkg := path.Dir(name)
		if pkg == "." || strings.HasPrefix(pkg, "testkit/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		allowed, known := mayImport[pkg]
		if !known {
			t.Errorf("%s: internal/%s is not in mayImport: decide who may import it", name, pkg)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if dep, ours := strings.CutPrefix(imp, module+"/internal/"); ours && !slices.Contains(allowed, dep) {
				t.Errorf("%s: internal/%s may not import internal/%s", name, pkg, dep)
			}
			if slices.Contains(pure[pkg], imp) {
				t.Errorf("%s: internal/%s is pure and may not import %s", name, pkg, imp)
			}
			for lib, homes := range onlyIn {
				if (imp == lib || strings.HasPrefix(imp, lib+"/")) && !slices.Contains(homes, pkg) {
					t.Errorf("%s: only %v may import %s", name, homes, lib)
				}
			}
		}
	}
}

// sources yields the Go files below internal/, slash-separated.
func sources(t *testing.T) iter.Seq[string] {
	t.Helper()
	return func(yield func(string) bool) {
		err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && d.Name() == "testdata" {
				return fs.SkipDir
			}
			if !d.IsDir() && path.Ext(name) == ".go" && !yield(name) {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
