package main

import (
	"bytes"
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

// serveBare answers a constant on a free port, whose address it writes to a
// file. The constant is a real answer of toolgate, in the file beside it, so that
// both servers send the same bytes.
func serveBare(addrFile string) error {
	constant, err := os.ReadFile(addrFile + ".answer")
	if err != nil {
		return err
	}
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
			_, _ = w.Write(constant)
		}),
	}
	return srv.Serve(ln)
}

// startBare runs this program again as the bare server, in a process of its own.
func startBare(dir string, constant []byte) (*exec.Cmd, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	addrFile := filepath.Join(dir, "bare-addr")
	if err := os.WriteFile(addrFile+".answer", constant, 0o600); err != nil {
		return nil, "", err
	}
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
	gate, err := start(dir, binary)
	if err != nil {
		return nil, err
	}
	defer gate.stop()
	constant, err := ask(context.Background(), &http.Transport{}, gate.addrs["api"], gate.token)
	if err != nil {
		return nil, err
	}
	bare, bareAddr, err := startBare(dir, constant)
	if err != nil {
		return nil, err
	}
	defer func() { _ = bare.Process.Kill(); _ = bare.Wait() }()
	var ratios, rates []float64
	for range rounds {
		base, err := round(bareAddr, gate.token, length)
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
		wg.Go(func() { counts[i], errs[i] = askOn(ctx, transport, addr, token) })
	}
	wg.Wait()
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / time.Since(begin).Seconds(), errors.Join(errs...)
}

// askOn asks one question after the other until ctx is done.
func askOn(ctx context.Context, transport *http.Transport, addr, token string) (int, error) {
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return n, nil //nolint:nilerr // the time is over, as it should be
		}
		// The last question is answered after the time is over.
		if _, err := ask(context.WithoutCancel(ctx), transport, addr, token); err != nil {
			return n, err
		}
	}
}

// ask asks one question and requires that it is allowed.
func ask(ctx context.Context, transport *http.Transport, addr, token string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr+"/access/v1/evaluation", strings.NewReader(question))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte(`{"decision":true`)) {
		return nil, fmt.Errorf("answered %s: %s", res.Status, body)
	}
	return body, nil
}
