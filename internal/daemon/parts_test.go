package daemon

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLoopbackVariable(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "1": true, "": false, "false": false, "0": false} {
		if got, err := ParseLoopback(value); err != nil || got != want {
			t.Errorf("ParseLoopback(%q) = %t, %v", value, got, err)
		}
	}
	for _, value := range []string{"True", "yes", "on", " true", "2", "TRUE", "true\n"} {
		if got, err := ParseLoopback(value); err == nil || got {
			t.Errorf("ParseLoopback(%q) = %t, %v: anything else must refuse to start", value, got, err)
		}
	}
}

func TestTokenIsMadeOnceAndKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state", "api-token")
	first, err := loadToken(path, true)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("token file: %v, %v", info, err)
	}
	second, err := loadToken(path, true)
	if err != nil || second != first || len(first) < 40 {
		t.Errorf("second start reads %q, %v; first made %q", second, err, first)
	}
}

func TestTokenFilesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		data string
		mode os.FileMode
		make bool
		want string
	}{
		"others can read our own file": {strings.Repeat("a", 40), 0o644, true, "chmod 600"},
		"too short to be a secret":     {"abc", 0o600, false, "shorter"},
		"empty":                        {"", 0o600, false, "shorter"},
		"two lines":                    {strings.Repeat("a", 40) + "\n" + strings.Repeat("b", 40), 0o600, false, "character"},
		"a whole disk":                 {strings.Repeat("a", 5000), 0o600, false, "longer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(row.data), row.mode); err != nil {
				t.Fatal(err)
			}
			if got, err := loadToken(path, row.make); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("loadToken = %q, %v; want an error with %q", got, err, row.want)
			}
		})
	}
	if _, err := loadToken(filepath.Join(t.TempDir(), "none"), false); err == nil {
		t.Error("a configured token file that does not exist is accepted")
	}
}

func TestOwnAddresses(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	own := &ownAddresses{}
	at := netip.MustParseAddrPort(ln.Addr().String())
	if own.is(at) {
		t.Error("an address is our own before anything is bound")
	}
	own.set([]listener{{"api", ln}})
	for name, row := range map[string]struct {
		target netip.AddrPort
		want   bool
	}{
		"the bound address":              {at, true},
		"its mapped form":                {netip.AddrPortFrom(netip.AddrFrom16(at.Addr().As16()), at.Port()), true},
		"another loopback address":       {netip.AddrPortFrom(netip.MustParseAddr("127.9.9.9"), at.Port()), true},
		"IPv6 loopback, same port":       {netip.AddrPortFrom(netip.IPv6Loopback(), at.Port()), true},
		"unspecified lands here":         {netip.AddrPortFrom(netip.IPv4Unspecified(), at.Port()), true},
		"another port":                   {netip.AddrPortFrom(at.Addr(), at.Port()^1), false},
		"another machine, the same port": {netip.AddrPortFrom(netip.MustParseAddr("93.184.216.34"), at.Port()), false},
	} {
		if got := own.is(row.target); got != row.want {
			t.Errorf("%s (%v): own = %t, want %t", name, row.target, got, row.want)
		}
	}
}

func TestWatchSeesASwappedSymlink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(folder, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "toolgate.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	link := func(target, name string) {
		t.Helper()
		tmp := filepath.Join(dir, name+".tmp")
		if err := os.Symlink(target, tmp); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// As the kubelet lays a ConfigMap: the file points into ..data, which
	// points to a folder with a time in its name.
	write("..1", "one")
	link("..1", "..data")
	link(filepath.Join("..data", "toolgate.yaml"), "toolgate.yaml")
	path := filepath.Join(dir, "toolgate.yaml")

	ctx, cancel := context.WithCancel(t.Context())
	seen := make(chan string, 16)
	done := make(chan error, 1)
	go func() {
		done <- watch(ctx, path, func() {
			text, _ := os.ReadFile(path)
			seen <- string(text)
		})
	}()
	expect := func(want string, again func()) {
		t.Helper()
		deadline := time.After(10 * time.Second)
		for {
			again()
			select {
			case got := <-seen:
				if got == want {
					return
				}
			case <-time.After(500 * time.Millisecond): // the watcher may not have stood yet
			case <-deadline:
				t.Fatalf("never saw %q", want)
			}
		}
	}
	write("..2", "two")
	expect("two", func() { link("..2", "..data") })
	expect("three", func() { write("..2", "three") }) // and a write inside the new folder
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestConnectionsForALimit(t *testing.T) {
	t.Parallel()
	for files, want := range map[uint64]int{0: 16, 256: 16, 300: 16, 1024: 256, 65536: 21760, 1 << 40: 32768} {
		if got := connsFor(files); got != want {
			t.Errorf("%d descriptors: %d connections, want %d", files, got, want)
		}
	}
}
