package internal_test

import (
	"fmt"
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
var pure = []string{"decision", "ipclass", "allowlist", "urlguard", "terminal"}

// outside is what reaches outside the process, chance and the logger included.
// A name covers what is below it, except for net (net/netip and net/url are
// plain values).
var outside = []string{
	"os", "syscall", "golang.org/x/sys", "log", "net/http", "net/rpc", "net/smtp", "crypto/rand", "math/rand", "plugin", "database/sql",
}

// timeless are the pure packages that read no clock either. (decision names
// time.Time in Event.)
var timeless = []string{"ipclass", "allowlist", "urlguard", "terminal"}

// onlyIn confines a dependency to the packages that wrap it.
var onlyIn = map[string][]string{
	"github.com/elazarl/goproxy":          {"egress"},
	"github.com/miekg/dns":                {"pin"},
	"mvdan.cc/sh/v3":                      {"terminal"},
	"github.com/prometheus/client_golang": {"metrics"},
	"github.com/rs/zerolog":               {"audit", "daemon"},
	"go.yaml.in/yaml/v4":                  {"config"},
	"github.com/fsnotify/fsnotify":        {"daemon"},
	"github.com/go-json-experiment/json":  {"api"},
	"github.com/alecthomas/kong":          {}, // cmd/toolgate
	"golang.org/x/net/idna":               {"urlguard"},
}

// TestImportDirection parses the sources itself instead of running "go list":
// the go command caches a passing test and only notices files that the test
// process opened, so a subprocess would let a later violation pass as "(cached)".
func TestImportDirection(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for name := range sources(t) {
		pkg := path.Dir(name)
		if strings.HasPrefix(pkg, "testkit/") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		found[pkg] = true
		if _, known := mayImport[pkg]; !known {
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
			for _, fault := range faults(pkg, imp) {
				t.Errorf("%s: %s", name, fault)
			}
		}
	}
	for pkg := range mayImport {
		if !found[pkg] {
			t.Errorf("mayImport names internal/%s, which is not there", pkg)
		}
	}
}

// faults says why a package may not import another.
func faults(pkg, imp string) []string {
	var out []string
	if dep, ours := strings.CutPrefix(imp, module+"/internal/"); ours && !slices.Contains(mayImport[pkg], dep) {
		out = append(out, "internal/"+pkg+" may not import internal/"+dep)
	}
	reaches := imp == "net" || slices.ContainsFunc(outside, func(lib string) bool { return isBelow(imp, lib) })
	if reaches && slices.Contains(pure, pkg) {
		out = append(out, "internal/"+pkg+" is pure and may not import "+imp)
	}
	if imp == "time" && slices.Contains(timeless, pkg) {
		out = append(out, "internal/"+pkg+" reads no clock and may not import time")
	}
	for lib, homes := range onlyIn {
		if isBelow(imp, lib) && !slices.Contains(homes, pkg) {
			out = append(out, fmt.Sprintf("only %v may import %s", homes, lib))
		}
	}
	return out
}

// isBelow reports whether imp is a package or one below it.
func isBelow(imp, lib string) bool { return imp == lib || strings.HasPrefix(imp, lib+"/") }

// TestPlantedFaults: the rules above find what they are there to find.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, pkg, imp string
		want           int
	}{
		{"a judge opens files", "allowlist", "os", 1},
		{"a judge starts programs", "terminal", "os/exec", 1},
		{"a judge resolves", "urlguard", "net", 1},
		{"a judge handles addresses", "urlguard", "net/netip", 0},
		{"a judge reads the clock", "terminal", "time", 1},
		{"the vocabulary names a time", "decision", "time", 0},
		{"a judge logs", "allowlist", "log/slog", 1},
		{"a judge calls the kernel", "terminal", "golang.org/x/sys/unix", 1},
		{"a judge asks another", "allowlist", module + "/internal/urlguard", 1},
		{"the vocabulary knows a judge", "decision", module + "/internal/allowlist", 1},
		{"an enforcement point knows the policy", "egress", module + "/internal/policy", 1},
		{"an enforcement point knows another", "api", module + "/internal/egress", 1},
		{"a fake in production", "egress", module + "/internal/testkit/dnstest", 1},
		{"the proxy library elsewhere", "api", "github.com/elazarl/goproxy", 1},
		{"the proxy library at home", "egress", "github.com/elazarl/goproxy", 0},
		{"a command line inside", "daemon", "github.com/alecthomas/kong", 1},
		{"a name that only begins like a library", "api", "github.com/elazarl/goproxy-other", 0},
		{"wiring", "daemon", module + "/internal/policy", 0},
	} {
		if got := faults(row.pkg, row.imp); len(got) != row.want {
			t.Errorf("%s: %q, want %d", row.name, got, row.want)
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
