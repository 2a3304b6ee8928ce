package daemon

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// tokenBytes is the entropy of an API token that toolgate makes.
const tokenBytes = 32

// minTokenLength is the shortest token that an operator's own file may hold.
const minTokenLength = 16

// maxTokenLength bounds what is read of a token file.
const maxTokenLength = 4096

// loadToken returns the API token in the file at path. A file that does not
// exist is made, mode 0600, when make is set (the file is toolgate's own);
// otherwise it is an error. Toolgate's own file is refused if others can use it;
// the mode of an operator's file is the operator's (a mounted secret belongs to
// a group).
func loadToken(path string, create bool) (string, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) && create {
		return makeToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("daemon: API token: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return "", fmt.Errorf("daemon: API token: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("daemon: API token file %s is not a regular file: name a file that holds the token", path)
	case create && info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("daemon: API token file %s has mode %04o and others can use it: chmod 600 it", path, info.Mode().Perm())
	case info.Size() > maxTokenLength:
		return "", fmt.Errorf("daemon: API token file %s is longer than %d bytes: write the token alone into it", path, maxTokenLength)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxTokenLength))
	if err != nil {
		return "", fmt.Errorf("daemon: API token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minTokenLength {
		return "", fmt.Errorf("daemon: API token in %s is shorter than %d characters: write a longer secret into it", path, minTokenLength)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", fmt.Errorf("daemon: API token in %s holds a character that cannot stand in a header: write one line of printable ASCII without blanks", path)
	}
	return token, nil
}

// makeToken writes a fresh token to path. The file is renamed into place, so
// that a second process never reads half of it.
func makeToken(path string) (string, error) {
	raw := make([]byte, tokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("daemon: API token: %w", err)
	}
	token := base64.RawURLEncoding.EncodeToString(raw)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("daemon: state folder: %w", err)
	}
	if err := writeRenamed(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("daemon: API token: %w", err)
	}
	return token, nil
}

// writeRenamed writes data beside path and renames it into place.
func writeRenamed(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	tmp := f.Name()
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = os.Remove(tmp)
	}
	return err
}
