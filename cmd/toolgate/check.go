package main

import (
	"encoding/json"
	"errors"
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
		out := checkFile(file, loopback)
		if !out.OK {
			bad++
		}
		if c.JSON {
			if err := json.NewEncoder(e.stdout).Encode(out); err != nil {
				return err
			}
			continue
		}
		s := newScreen(e.stdout, e.getenv)
		if out.print(s); s.err != nil {
			return s.err
		}
	}
	if bad > 0 {
		return &exitError{exitUsage, nil}
	}
	return nil
}

// checkFile loads one file. One that cannot be read at all has one problem.
func checkFile(file string, loopback bool) checked {
	out := checked{File: file, Problems: []finding{}, Warnings: []finding{}}
	if file == "" {
		out.File = daemon.EmbeddedName
	}
	p, err := daemon.LoadPolicy(daemon.PolicyOptions{Path: file, Loopback: loopback})
	if problems, ok := errors.AsType[config.Problems](err); ok {
		out.Problems = findings(problems)
		return out
	}
	if err != nil {
		out.Problems = []finding{{Position: out.File, Message: err.Error()}}
		return out
	}
	out.OK, out.Warnings, out.Summary = true, findings(p.Lints), daemon.Describe(p, loopback)
	return out
}

func findings(list config.Problems) []finding {
	out := make([]finding, len(list))
	for i, p := range list {
		out[i] = finding{p.Pos.String(), p.Path, p.Message, p.Fix}
	}
	return out
}

// String says a finding in one line, as compilers do.
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

// print writes problems first, then warnings, then what the file means. Problems
// and warnings are not wrapped: editors read a place from the front of a line.
func (c *checked) print(s *screen) {
	for _, p := range c.Problems {
		s.line("%s %s", s.paint(red, "problem"), p)
	}
	for _, w := range c.Warnings {
		s.line("warning %s", w)
	}
	switch n := len(c.Problems); {
	case n == 1:
		s.line("%s: 1 problem; nothing starts on it", c.File)
		return
	case !c.OK:
		s.line("%s: %d problems; nothing starts on it", c.File, n)
		return
	}
	s.line("%s: %s", c.File, s.paint(green, "ok"))
	for _, line := range c.Summary {
		s.indent(line)
	}
}
