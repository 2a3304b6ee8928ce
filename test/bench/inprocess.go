package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
)

// bounds are the in-process figures: a Go benchmark of package policy, and the
// most it may take.
var bounds = []struct {
	bench string
	nanos float64
	exact bool // no allocation at all
}{
	{"BenchmarkDecideTool", 200, true},
	{"BenchmarkDecideCommand", 15_000, false},
	{"BenchmarkDecideURLWarm", 2_000, false},
}

// inProcess runs the benchmarks of the decision point and reads their lines.
func inProcess() ([]figure, error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-bench", "^BenchmarkDecide(Tool|Command|URLWarm)$", "-benchmem", "-count", "5", "./internal/policy")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("benchmarks: %w\n%s", err, out)
	}
	var figures []figure
	for _, b := range bounds {
		line := regexp.MustCompile(`(?m)^` + b.bench + `(?:-\d+)?\s+\d+\s+([\d.]+) ns/op\s+\d+ B/op\s+(\d+) allocs/op`)
		var nanos []float64
		allocs := 0.0
		for _, m := range line.FindAllSubmatch(out, -1) {
			ns, err := strconv.ParseFloat(string(m[1]), 64)
			if err != nil {
				return nil, err
			}
			n, err := strconv.ParseFloat(string(m[2]), 64)
			if err != nil {
				return nil, err
			}
			nanos, allocs = append(nanos, ns), max(allocs, n)
		}
		if len(nanos) == 0 {
			return nil, fmt.Errorf("%s printed no result:\n%s", b.bench, out)
		}
		figures = append(figures, figure{b.bench, median(nanos), b.nanos, "ns", true})
		if b.exact {
			figures = append(figures, figure{b.bench + " allocations", allocs, 0, "", true})
		}
	}
	return figures, nil
}
