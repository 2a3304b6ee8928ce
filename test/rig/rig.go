// Package rig builds the real toolgate and runs it for tests, by the ways that
// users have and no others.
package rig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Object is a JSON object.
type Object = map[string]any

// Build builds the binary into a folder of its own and returns its path and
// what removes it. A TestMain calls it.
func Build() (binary string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "toolgate-test-")
	if err != nil {
		return "", nil, err
	}
	binary = filepath.Join(dir, "toolgate")
	args := append(append([]string{"build"}, buildFlags()...), "-o", binary, "github.com/toolgate/toolgate/cmd/toolgate")
	cmd := exec.Command("go", args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", nil, fmt.Errorf("build: %w: %s", err, out)
	}
	return binary, func() { _ = os.RemoveAll(dir) }, nil
}

// Main is a whole TestMain: it builds the binary, hands it to use, runs the
// tests and returns the exit code.
func Main(m *testing.M, use func(binary string)) int {
	binary, remove, err := Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	use(binary)
	return m.Run()
}

// Environment is a small process environment and what a test adds to it. Under
// the race detector a process sleeps for a second before it ends, unless told
// not to; a race still ends it with exit code 66.
func Environment(dir string, extra ...string) []string {
	return append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GORACE=atexit_sleep_ms=0"}, extra...)
}

// Run runs the binary in an empty folder and returns what it prints and its
// exit code. A signal, or a fault (1), fails the test unless mayFail is set.
func Run(t testing.TB, binary string, env []string, stdin string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(binary, args...)
	cmd.Env, cmd.Dir, cmd.Stdin = Environment(dir, env...), dir, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("toolgate %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// ConfigFile writes a configuration into a folder of the test. JSON is YAML.
func ConfigFile(t testing.TB, doc Object) string {
	t.Helper()
	data, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "toolgate.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Options says how a sidecar is started.
type Options struct {
	Binary string
	Config string   // file; empty: the embedded default
	Env    []string // beside PATH and HOME
	// Command makes the command; nil for exec.Command. A world's Pod runs it in
	// the pod.
	Command func(name string, args ...string) *exec.Cmd
	// AtEnd registers the clean-up; nil for the test's own.
	AtEnd func(func())
}

// Sidecar is a running toolgate.
type Sidecar struct {
	Addrs  map[string]string
	Token  string
	Dir    string // where it runs: the default state is below
	Stdout *Text
	Stderr *Text

	cmd  *exec.Cmd
	once sync.Once
	err  error
}

// Start starts a sidecar and waits until it is bound. Ports should be 0.
func Start(t testing.TB, o Options) *Sidecar {
	t.Helper()
	dir, err := os.MkdirTemp("", "toolgate-run-") //nolint:usetesting // a sidecar may outlive the test that starts it
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"serve", "--addr-file", filepath.Join(dir, "addr")}
	if o.Config != "" {
		args = append(args, "-c", o.Config)
	}
	command := o.Command
	if command == nil {
		command = exec.Command
	}
	s := &Sidecar{Dir: dir, Stdout: new(Text), Stderr: new(Text), cmd: command(o.Binary, args...)}
	s.cmd.Env, s.cmd.Dir = Environment(dir, o.Env...), dir
	s.cmd.Stdout, s.cmd.Stderr = s.Stdout, s.Stderr
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	atEnd := o.AtEnd
	if atEnd == nil {
		atEnd = t.Cleanup
	}
	atEnd(func() {
		s.Signal(syscall.SIGTERM)
		_ = s.Wait()
		_ = os.RemoveAll(dir)
	})
	s.waitForAddrs(t, filepath.Join(dir, "addr"))
	if token, err := os.ReadFile(filepath.Join(dir, "toolgate-state", "api-token")); err == nil {
		s.Token = strings.TrimSpace(string(token))
	}
	return s
}

func (s *Sidecar) waitForAddrs(t testing.TB, file string) {
	t.Helper()
	ok := Eventually(func() bool {
		data, err := os.ReadFile(file)
		if err != nil {
			return false
		}
		s.Addrs = map[string]string{}
		for line := range strings.Lines(string(data)) {
			name, addr, _ := strings.Cut(strings.TrimSpace(line), "=")
			s.Addrs[name] = addr
		}
		return true
	})
	if !ok {
		t.Fatalf("toolgate did not start: %s", s.Stderr.String())
	}
}

// Signal sends a signal to the process.
func (s *Sidecar) Signal(sig syscall.Signal) { _ = s.cmd.Process.Signal(sig) }

// Wait waits for the process to end and returns how it did.
func (s *Sidecar) Wait() error {
	s.once.Do(func() { s.err = s.cmd.Wait() })
	return s.err
}

// Process returns the process id.
func (s *Sidecar) Process() int { return s.cmd.Process.Pid }

// Eventually asks again and again, for ten seconds at the most.
func Eventually(ok func() bool) bool {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if ok() {
			return true
		}
	}
	return ok()
}

// Text is a buffer that a process writes while a test reads.
type Text struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

// Write implements io.Writer.
func (b *Text) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

// String returns what was written so far.
func (b *Text) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
