package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/config"
)

// socketFolder is short: the path of a socket holds about a hundred bytes.
func socketFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "tg") //nolint:usetesting // t.TempDir is too long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// TestSocketIsPrivateFromTheStart is not parallel: the umask is the process's.
func TestSocketIsPrivateFromTheStart(t *testing.T) {
	bare := func(ctx context.Context, path string) (net.Listener, error) {
		return (&net.ListenConfig{Control: ownerOnly}).Listen(ctx, "unix", path)
	}
	for name, row := range map[string]struct {
		mask   int
		listen func(context.Context, string) (net.Listener, error)
	}{
		"no umask, before any chmod":      {0, bare},
		"a usual umask, before any chmod": {0o022, bare},
		"no umask":                        {0, bindSocket},
		"a umask that takes all":          {0o777, bindSocket},
	} {
		path := filepath.Join(socketFolder(t), "s")
		old := syscall.Umask(row.mask)
		ln, err := row.listen(t.Context(), path)
		syscall.Umask(old)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
		_ = ln.Close()
	}
}

func TestSocketsInTheWay(t *testing.T) {
	t.Parallel()
	leave := func(t *testing.T, path string) {
		t.Helper()
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		ln.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = ln.Close()
	}
	live := func(t *testing.T, path string) {
		t.Helper()
		ln, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
	}
	datagrams := func(t *testing.T, path string) {
		t.Helper()
		conn, err := net.ListenPacket("unixgram", path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
	file := func(t *testing.T, path string) {
		t.Helper()
		if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name string
		make func(*testing.T, string)
		want string // in the error; empty: bound
	}{
		{"nothing", func(*testing.T, string) {}, ""},
		{"a socket that was left behind", leave, ""},
		{"a socket that answers", live, "another process listens"},
		{"a socket of another kind, in use", datagrams, "may be in use"},
		{"a file", file, "not a socket"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(socketFolder(t), "s")
			row.make(t, path)
			ln, err := bind(t.Context(), "api", config.Address{Text: unixPrefix + path})
			if row.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if ln.address() != unixPrefix+path {
					t.Errorf("address %q", ln.address())
				}
				_ = ln.Close()
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), "listen.api") {
				t.Errorf("bound over %s: %v", row.name, err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("%s was removed", row.name)
			}
		})
	}
}

// TestBindUsesWhatWasChecked: localhost is 127.0.0.1, whatever a hosts file
// calls it.
func TestBindUsesWhatWasChecked(t *testing.T) {
	t.Parallel()
	ln, err := bind(t.Context(), "api", config.Address{Text: "localhost:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if !strings.HasPrefix(ln.address(), "127.0.0.1:") {
		t.Errorf("bound to %s", ln.address())
	}
	for _, text := range []string{"", "www.example.com:80", ":80", "127.0.0.1"} {
		if ln, err := bind(t.Context(), "api", config.Address{Text: text}); err == nil {
			_ = ln.Close()
			t.Errorf("bound to %q", text)
		}
	}
}

// TestWatchLooksOnceAtTheStart: what changed before the folder was watched is
// not missed.
func TestWatchLooksOnceAtTheStart(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	looked := make(chan struct{}, 1)
	done := make(chan error, 1)
	go func() {
		done <- watch(ctx, filepath.Join(t.TempDir(), "toolgate.yaml"), func() {
			select {
			case looked <- struct{}{}:
			default:
			}
		})
	}()
	select {
	case <-looked:
		cancel()
	case <-ctx.Done():
		t.Error("the file was not looked at")
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
