package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/daemon"
)

type checkCmd struct {
	Files []string `arg:"" optional:"" name:"file" help:"Configuration files; without any, the embedded default."`
	JSON  bool     `help:"Print JSON, one object a file."`
}

// finding is a problem or a warning of a file.
type finding struct {
	Position string `json:"position"`
	Path     string `json:"path,omitempty"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
}

// checked is what was found in one file.
type checked struct {
	File     string    `json:"file"`
	OK       bool      `json:"ok"`
	Problems []finding `json:"problems"`
	Warnings []finding `json:"warnings"`
	Summary  []string  `json:"summary,omitempty"`
}

func (c *checkCmd) Run(e *env) error {
	files := c.Files
	if len(files) == 0 {
		files = []string{""}
	}
	loopback, err := daemon.ParseLoopback(e.getenv(daemon.LoopbackVariable))
	if err != nil {
		return &exitError{exitUsage, err}
	}
	bad := 0
	for _, file := range files {
		out, err := checkFile(file, loopback)
		if err != nil {
			return &exitError{exitUsage, err}
		}
		if !out.OK {
			bad++
		}
		if c.JSON {
			if err := json.NewEncoder(e.stdout).Encode(out); err != nil {
				return err
			}
			continue
		}
		out.print(newScreen(e.stdout, e.getenv))
	}
	if bad > 0 {
		return &exitError{exitUsage, nil}
	}
	return nil
}

// checkFile loads one file. An error means that it could not be read.
func checkFile(file string, loopback bool) (checked, error) {
	out := checked{File: file, Problems: []finding{}, Warnings: []finding{}}
	if file == "" {
		out.File = daemon.EmbeddedName
	}
	p, err := daemon.LoadPolicy(daemon.PolicyOptions{Path: file, Loopback: loopback})
	var problems config.Problems
	switch {
	case errors.As(err, &problems):
		out.Problems = findings(problems)
		return out, nil
	case err != nil:
		return out, err
	}
	out.OK, out.Warnings, out.Summary = true, findings(p.Lints), daemon.Describe(p, loopback)
	return out, nil
}

func findings(list config.Problems) []finding {
	out := make([]finding, len(list))
	for i, p := range list {
		out[i] = finding{p.Pos.String(), p.Path, p.Message, p.Fix}
	}
	return out
}

func (f finding) String() string {
	parts := []string{f.Position}
	if f.Path != "" {
		parts = append(parts, f.Path)
	}
	text := strings.Join(append(parts, f.Message), ": ")
	if f.Fix != "" {
		text += "; " + f.Fix
	}
	return text
}

// print writes problems first, then warnings, then what the file means.
func (c *checked) print(s screen) {
	for _, p := range c.Problems {
		fmt.Fprintln(s, s.paint(red, "problem")+" "+p.String())
	}
	for _, w := range c.Warnings {
		fmt.Fprintln(s, "warning "+w.String())
	}
	if !c.OK {
		fmt.Fprintf(s, "%s: %d problems; nothing starts on it\n", c.File, len(c.Problems))
		return
	}
	fmt.Fprintf(s, "%s: %s\n", c.File, s.paint(green, "ok"))
	for _, line := range c.Summary {
		s.indent(line)
	}
}
