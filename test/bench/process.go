package main

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const mebibyte = 1 << 20

// build makes the release binary, as the Makefile does, and weighs it.
func build(dir string) (string, figure, error) {
	binary := filepath.Join(dir, "toolgate")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./cmd/toolgate")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", figure{}, fmt.Errorf("build: %w", err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		return "", figure{}, err
	}
	return binary, figure{"binary size", float64(info.Size()) / mebibyte, 25, "MiB", true}, nil
}

// config is what the measured toolgate runs on: the log on, free ports.
const config = `version: 1
listen: {api: "127.0.0.1:0", proxy: "127.0.0.1:0", metrics: "127.0.0.1:0"}
tools:
  terminal: {enabled: true, sandbox: {mode: allowlist, allow: [ls, git status]}}
agents:
  demo: {tools: [read_file, grep_code, run_terminal, fetch_url]}
`

// sidecar is a running toolgate.
type sidecar struct {
	cmd   *exec.Cmd
	addrs map[string]string
	ready time.Duration // from start to ready
	token string
	log   *os.File
}

// start runs binary and waits until it is ready.
func start(dir, binary string) (*sidecar, error) {
	run, err := os.MkdirTemp(dir, "run-")
	if err != nil {
		return nil, err
	}
	file, addrFile := filepath.Join(run, "toolgate.yaml"), filepath.Join(run, "addr")
	state := filepath.Join(run, "state")
	if err := os.WriteFile(file, []byte(config+"state: "+state+"\n"), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(run, "decisions.jsonl"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, "serve", "-c", file, "--addr-file", addrFile)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = log, &stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &sidecar{cmd: cmd, addrs: map[string]string{}, log: log}
	for time.Since(begin) < 10*time.Second {
		if s.isReady(addrFile) {
			s.ready = time.Since(begin)
			token, err := os.ReadFile(filepath.Join(state, "api-token"))
			s.token = strings.TrimSpace(string(token))
			return s, err
		}
		time.Sleep(time.Millisecond)
	}
	s.stop()
	return nil, fmt.Errorf("toolgate was not ready in 10 s: %s", stderr.String())
}

func (s *sidecar) isReady(addrFile string) bool {
	data, err := os.ReadFile(addrFile)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(data)) {
		name, addr, _ := strings.Cut(strings.TrimSpace(line), "=")
		s.addrs[name] = addr
	}
	res, err := http.Get("http://" + s.addrs["metrics"] + "/readyz")
	if err != nil {
		return false
	}
	res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// rss returns the resident memory in MiB.
func (s *sidecar) rss() (float64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(data)
	if m == nil {
		return 0, errors.New("no VmRSS in the process status")
	}
	kib, err := strconv.ParseFloat(string(m[1]), 64)
	return kib / 1024, err
}

func (s *sidecar) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
	_ = s.log.Close()
}

// startAndMemory measures start to ready (median of five) and idle memory.
func startAndMemory(dir, binary string) ([]figure, error) {
	var starts []float64
	var memory float64
	for range 5 {
		s, err := start(dir, binary)
		if err != nil {
			return nil, err
		}
		starts = append(starts, float64(s.ready.Microseconds())/1000)
		time.Sleep(time.Second)
		memory, err = s.rss()
		s.stop()
		if err != nil {
			return nil, err
		}
	}
	return []figure{
		{"start to ready", median(starts), 100, "ms", true},
		{"idle memory", memory, 25, "MiB", true},
	}, nil
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
