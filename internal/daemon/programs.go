package daemon

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// trustedPath finds programs in the folders that only an administrator writes
// to. It implements terminal.Programs.
type trustedPath struct{}

// trustedFolders are the folders of the trusted PATH, in its order.
func trustedFolders() []string {
	return []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}
}

// SameFile reports whether an absolute path is the very file that name stands
// for, and stays it: a script that is judged first and runs later must not be
// able to put another program there. What cannot be found is not the same. The
// last element must be the name, because one file can be many programs
// (busybox).
func (trustedPath) SameFile(path, name string) bool {
	if !filepath.IsAbs(path) || name == "" || filepath.Base(path) != name {
		return false
	}
	for _, dir := range trustedFolders() {
		named, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		given, err := os.Stat(path)
		return err == nil && os.SameFile(named, given) && stays(path)
	}
	return false
}

// stays reports whether only an administrator can change what path leads to: it
// lies in a trusted folder, or it and every folder above it belong to root and
// to nobody else's writing, and a link leads straight into a trusted folder.
func stays(path string) bool {
	dir := filepath.Dir(path)
	if slices.Contains(trustedFolders(), dir) {
		return true
	}
	if real, err := filepath.EvalSymlinks(dir); err != nil || real != dir {
		return false
	}
	for {
		if info, err := os.Lstat(dir); err != nil || !ofRoot(info) || info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	info, err := os.Lstat(path)
	if err != nil || !ofRoot(info) {
		return false
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return info.Mode().Perm()&0o022 == 0
	}
	target, err := os.Readlink(path)
	return err == nil && slices.Contains(trustedFolders(), filepath.Dir(target))
}

// ofRoot reports whether a file belongs to root.
func ofRoot(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == 0
}
