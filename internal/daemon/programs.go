package daemon

import (
	"os"
	"path/filepath"
)

// trustedPath finds programs in the folders that only an administrator writes
// to. It implements terminal.Programs.
type trustedPath struct{}

// SameFile reports whether an absolute path is the very file that name stands
// for. What cannot be found is not the same.
func (trustedPath) SameFile(path, name string) bool {
	if !filepath.IsAbs(path) || name == "" || filepath.Base(path) != name {
		return false
	}
	for _, dir := range [...]string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		named, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		given, err := os.Stat(path)
		return err == nil && os.SameFile(named, given)
	}
	return false
}
