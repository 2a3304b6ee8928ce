package daemon

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a watched file must be quiet before it is read again: an
// editor writes in several steps, a ConfigMap swaps a symlink.
const settle = 100 * time.Millisecond

// watch calls changed once it watches, for what changed before, and then after
// each burst of changes around the file at path, until ctx is done. It watches folders, not the file: a rename over the file
// and a swapped symlink anywhere on the way to it are seen too.
func watch(ctx context.Context, path string, changed func()) error {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("daemon: watch %s: %w", path, err)
	}
	defer func() { _ = w.Close() }()
	if err := addFolders(w, path); err != nil {
		return err
	}
	quiet := time.NewTimer(settle)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, open := <-w.Events:
			if !open {
				return fmt.Errorf("daemon: watch %s: the watcher stopped", path)
			}
			quiet.Reset(settle)
		case err, open := <-w.Errors:
			if !open || err == nil {
				continue
			}
			quiet.Reset(settle) // events may have been lost: look
		case <-quiet.C:
			// The symlinks may lead elsewhere now. A folder that has gone is
			// not an error: the file's own folder is still watched.
			_ = addFolders(w, path)
			changed()
		}
	}
}

// addFolders watches the folder that path names and the folder that it leads
// to through symlinks.
func addFolders(w *fsnotify.Watcher, path string) error {
	if err := w.Add(filepath.Dir(path)); err != nil {
		return fmt.Errorf("daemon: watch %s: %w", path, err)
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil //nolint:nilerr // the file is away for a moment; its folder is watched
	}
	if dir := filepath.Dir(target); dir != filepath.Dir(path) {
		if err := w.Add(dir); err != nil {
			return fmt.Errorf("daemon: watch %s: %w", dir, err)
		}
	}
	return nil
}
