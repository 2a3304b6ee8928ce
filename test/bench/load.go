package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// clients is how many connections ask at once.
const clients = 8

// question is a tool call that is allowed, so that the whole chain runs.
const question = `{"subject":{"type":"agent","id":"demo"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":"read_file"}}`

// constant is what the bare handler answers: about as long as a real answer.
const constant = `{"decision":true,"context":{"id":"00000000-0000-7000-8000-000000000000","reason":"listed","state":"granted","layer":"base"}}`

// serveBare answers a constant on a free port, whose address it writes to a file.
func serveBare(addrFile string) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := os.WriteFile(addrFile+".tmp", []byte(ln.Addr().String()), 0o600); err != nil {
		return err
	}
	if err := os.Rename(addrFile+".tmp", addrFile); err != nil {
		return err
	}
	srv := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, constant)
		}),
	}
	return srv.Serve(ln)
}

// startBare runs this program again as the bare server, in a process of its own.
func startBare(dir string) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	addrFile := filepath.Join(dir, "bare-addr")
	cmd := exec.Command(self, "-bare", addrFile)
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	for range 5000 {
		if addr, err := os.ReadFile(addrFile); err == nil {
			return cmd, string(addr), nil
		}
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Kill()
	return nil, "", errors.New("the bare server did not start")
}

// load compares the decision API with the bare handler in interleaved rounds.
func load(dir, binary string, rounds int, length time.Duration) ([]figure, error) {
	bare, bareAddr, err := startBare(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bare.Process.Kill(); _ = bare.Wait() }()
	gate, err := start(dir, binary)
	if err != nil {
		return nil, err
	}
	defer gate.stop()
	var ratios, rates []float64
	for range rounds {
		base, err := round(bareAddr, "", length)
		if err != nil {
			return nil, fmt.Errorf("bare: %w", err)
		}
		rate, err := round(gate.addrs["api"], gate.token, length)
		if err != nil {
			return nil, fmt.Errorf("toolgate: %w", err)
		}
		fmt.Printf("  round: bare %.0f/s, toolgate %.0f/s, ratio %.2f\n", base, rate, rate/base)
		ratios, rates = append(ratios, rate/base), append(rates, rate)
	}
	return []figure{
		{"AuthZEN evaluations, 8 clients, log on", median(rates), 12000, "/s", false},
		{"AuthZEN evaluations against a bare handler", median(ratios), 0.7, "ratio", false},
	}, nil
}

// round asks addr with all clients for length and returns answers a second.
// The clients are those of net/http, as a runtime would use them, on the same
// cores as what they measure: their share is the same for both.
func round(addr, token string, length time.Duration) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	var wg sync.WaitGroup
	counts, errs := make([]int, clients), make([]error, clients)
	begin := time.Now()
	for i := range clients {
		wg.Go(func() { counts[i], errs[i] = ask(ctx, transport, "http://"+addr+"/access/v1/evaluation", token) })
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(begin).Seconds(), errors.Join(errs...)
}

// ask sends one question after the other until ctx is done.
func ask(ctx context.Context, transport *http.Transport, url, token string) (int, error) {
	n := 0
	for ctx.Err() == nil {
		req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(question))
		if err != nil {
			return n, err
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			return n, err
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			return n, err
		}
		if res.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), `{"decision":true`) {
			return n, fmt.Errorf("answered %s: %s", res.Status, body)
		}
		n++
	}
	return n, nil
}
