package rig

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// Sources opens every file that the binary is built from. The go command caches
// a passing test and runs it again only when a file changes that the test itself
// opened; without this, a change of toolgate would leave the tests of the real
// binary "(cached)". Each package that uses Build has a test that calls it. root
// is the module's folder.
func Sources(t testing.TB, root string) {
	t.Helper()
	n := 0
	for _, dir := range []string{"cmd", "internal", "configs"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return err
			}
			n++
			return f.Close()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		if _, err := os.ReadFile(filepath.Join(root, file)); err != nil {
			t.Fatal(err)
		}
	}
	if n < 100 {
		t.Errorf("only %d source files were found below %s", n, root)
	}
}
