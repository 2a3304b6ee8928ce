package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
)

// catalogue returns the built-in catalogue.
func catalogue(tb testing.TB) *allowlist.Catalogue {
	tb.Helper()
	c, problems := config.LoadCatalogue(configs.CatalogueName, configs.Catalogue())
	if err := problems.Err(); err != nil {
		tb.Fatal(err)
	}
	return c.Ready
}

// wantPrefix begins the lines at the end of a file that say which problems, or
// which warnings, it has. The file's name stands for itself in them.
const wantPrefix = "# want: "

// expected cuts the expectations off a file.
func expected(text string) (body string, want []string) {
	body, rest, _ := strings.Cut(text, "\n"+wantPrefix)
	if rest != "" {
		want = strings.Split(strings.TrimSuffix(rest, "\n"), "\n"+wantPrefix)
	}
	return strings.TrimSuffix(body, "\n") + "\n", want
}

// TestFaults loads files with one fault each, and compares every problem.
func TestFaults(t *testing.T) {
	t.Parallel()
	eachFile(t, "faults", func(t *testing.T, body []byte) config.Problems {
		t.Helper()
		doc, problems := config.Load("f", body, catalogue(t))
		if doc != nil {
			t.Error("a document came back beside the problems")
		}
		return problems
	})
}

// TestLints loads files without a problem, and compares every warning.
func TestLints(t *testing.T) {
	t.Parallel()
	eachFile(t, "lints", func(t *testing.T, body []byte) config.Problems {
		t.Helper()
		_, lints, problems := config.LoadWithLints("f", body, catalogue(t))
		if err := problems.Err(); err != nil {
			t.Error(err)
		}
		return lints
	})
}

// eachFile compares what load says about each file of a folder with the file's
// own expectations; with -update it writes these.
func eachFile(t *testing.T, folder string, load func(*testing.T, []byte) config.Problems) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			body, want := expected(string(text))
			got := strings.Split(load(t, []byte(body)).Error(), "\n")
			if *update {
				lines := body + wantPrefix + strings.Join(got, "\n"+wantPrefix) + "\n"
				if err := os.WriteFile(file, []byte(lines), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
