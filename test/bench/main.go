// Command bench measures the figures that toolgate promises and compares each
// with its bound; it exits 1 when one misses. All of it runs on loopback, in
// one run, so that ratios hold on any machine:
//
//	go run ./test/bench
//
// In-process figures come from the Go benchmarks beside the code. The load on
// the decision API is compared with a bare net/http handler that answers a
// constant, in interleaved rounds with the same client.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// figure is one measured value and its bound.
type figure struct {
	name   string
	value  float64
	bound  float64
	unit   string
	atMost bool // the value may be at most the bound; otherwise at least
}

// ok reports whether the figure meets its bound.
func (f figure) ok() bool {
	if f.atMost {
		return f.value <= f.bound
	}
	return f.value >= f.bound
}

func (f figure) String() string {
	rel, verdict := "≥", "ok"
	if f.atMost {
		rel = "≤"
	}
	if !f.ok() {
		verdict = "MISS"
	}
	return fmt.Sprintf("%-52s %12.2f %s %10.2f %-8s %s", f.name, f.value, rel, f.bound, f.unit, verdict)
}

func main() {
	bare := flag.String("bare", "", "serve the constant answer on this address file's listener (used by bench itself)")
	rounds := flag.Int("rounds", 5, "interleaved rounds of load")
	length := flag.Duration("length", 2*time.Second, "length of one round")
	flag.Parse()
	if *bare != "" {
		exit(serveBare(*bare))
	}
	exit(measure(*rounds, *length))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// measure takes every figure and prints it as it comes.
func measure(rounds int, length time.Duration) error {
	dir, err := os.MkdirTemp("", "toolgate-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	missed := 0
	report := func(figures []figure, err error) error {
		for _, f := range figures {
			fmt.Println(f)
			if !f.ok() {
				missed++
			}
		}
		return err
	}
	binary, size, err := build(dir)
	if err != nil {
		return err
	}
	if err := report([]figure{size}, nil); err != nil {
		return err
	}
	if err := report(startAndMemory(dir, binary)); err != nil {
		return err
	}
	if err := report(load(dir, binary, rounds, length)); err != nil {
		return err
	}
	if err := report(inProcess()); err != nil {
		return err
	}
	if missed > 0 {
		return fmt.Errorf("%d figures miss their bound", missed)
	}
	return nil
}
