// Package readme_test runs the README: its tagged commands, in their order, as
// they are written, in a fresh copy of the sources and a network of their own,
// and compares what they print with what the page shows.
//
//	go test ./test/readme -update   # writes the outputs into the page
package readme_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolgate/toolgate/test/world"
)

const (
	root = "../.."
	page = root + "/README.md"
)

var update = flag.Bool("update", false, "write the outputs into README.md")

func TestMain(m *testing.M) {
	world.Main()
	os.Exit(m.Run())
}

// tagged returns the README and its tagged blocks.
func tagged(t *testing.T) (string, []block) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(text), blocks
}

// TestTwoCommands: one command runs toolgate, one passes the tests, and CI
// calls the second as the README writes it.
func TestTwoCommands(t *testing.T) {
	t.Parallel()
	_, blocks := tagged(t)
	found := map[string][]string{}
	for _, b := range blocks {
		found[b.kind] = append(found[b.kind], strings.TrimSpace(b.script))
	}
	for _, kind := range []string{"serve", "test"} {
		if len(found[kind]) != 1 || strings.Contains(found[kind][0], "\n") {
			t.Errorf("%d blocks for %s, want one command", len(found[kind]), kind)
		}
	}
	ci, err := os.ReadFile(root + "/.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range found["test"] {
		if !strings.Contains(string(ci), "\n"+command+"\n") {
			t.Errorf(".ci/run does not call %q", command)
		}
	}
}

// TestCommands runs the page.
func TestCommands(t *testing.T) {
	var counter world.Counter
	net := world.New(t, &counter)
	needs(t, "curl")
	net.Set(t, world.Zone{Names: map[string]world.Name{
		"example.com": {{A: []string{world.PublicV4}, TTL: 60}},
	}}, nil)

	text, blocks := tagged(t)
	shell := newShell(t, net)
	outputs := make([]string, len(blocks))
	for i, b := range blocks {
		switch b.kind {
		case "serve":
			shell.serve(t, b.script)
		case "run":
			out, code := shell.run(t, b.script)
			if code != b.exit {
				t.Errorf("exit code %d, want %d:\n%s\n%s", code, b.exit, b.script, out)
				continue
			}
			outputs[i] = out
			if b.shown && !same(b.output, out) && !*update {
				t.Errorf("%s\nprints\n%s\nwant\n%s", b.script, out, b.output)
			}
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(fill(text, blocks, outputs)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// needs skips, or fails in CI, where a program is missing.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err == nil {
		return
	}
	if os.Getenv("CI") != "" {
		t.Fatalf("this test needs %s", program)
	}
	t.Skipf("this test needs %s", program)
}

// shell runs scripts in a copy of the sources and in the pod's network.
type shell struct {
	net        *world.Net
	dir        string
	resolvConf string
}

func newShell(t *testing.T, net *world.Net) *shell {
	t.Helper()
	s := &shell{net: net, dir: t.TempDir(), resolvConf: filepath.Join(t.TempDir(), "resolv.conf")}
	if err := os.WriteFile(s.resolvConf, []byte("nameserver "+world.DNSAddr+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cmd", "internal", "configs"} {
		if err := os.CopyFS(filepath.Join(s.dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// The pod reaches no module proxy, so what the build needs is fetched here.
	fetch := exec.Command("go", "list", "-deps", "./cmd/toolgate")
	fetch.Dir = s.dir
	if out, err := fetch.CombinedOutput(); err != nil {
		t.Fatalf("go list: %v\n%s", err, out)
	}
	return s
}

// command makes bash run script as a reader would.
func (s *shell) command(script string) *exec.Cmd {
	// "ip netns exec" has made a mount namespace, so the bind is seen here only.
	cmd := s.net.Pod("bash", "-c", `mount --bind "$0" /etc/resolv.conf && exec bash -c "$1"`, s.resolvConf, script)
	cmd.Dir = s.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// run runs script and returns what it printed and its exit code.
func (s *shell) run(t *testing.T, script string) (string, int) {
	t.Helper()
	out, err := s.command(script).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		return string(out), exit.ExitCode()
	}
	return string(out), 0
}

// serve starts script and waits until toolgate is ready. At the end of the test
// it is stopped by SIGTERM.
func (s *shell) serve(t *testing.T, script string) {
	t.Helper()
	var said bytes.Buffer
	cmd := s.command("exec " + script)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
			t.Error("toolgate did not end on SIGTERM")
		}
		if t.Failed() {
			t.Logf("toolgate said:\n%s", said.String())
		}
	})
	deadline := time.Now().Add(2 * time.Minute) // "go run" compiles first
	for {
		if _, code := s.run(t, "curl -sf http://127.0.0.1:8183/readyz"); code == 0 {
			return
		}
		select {
		case err := <-done:
			done <- err
			t.Fatalf("%s ended: %v", strings.TrimSpace(script), err)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was not ready in time", strings.TrimSpace(script))
		}
	}
}
