package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// The width of a table where the terminal does not say.
const defaultWidth = 100

// screen is where a person reads an answer: how wide it may be, and whether
// colour is welcome. It keeps the first error of a write: an answer that did not
// arrive is a fault.
type screen struct {
	out   io.Writer
	width int
	color bool
	err   error
}

// newScreen looks at a writer. Colour is used on a terminal only, and not when
// NO_COLOR is set (no-color.org).
func newScreen(w io.Writer, getenv func(string) string) *screen {
	s := &screen{out: w, width: defaultWidth}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return s
	}
	if size.Col > 40 {
		s.width = int(size.Col)
	}
	s.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

// line writes one line.
func (s *screen) line(format string, args ...any) {
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.out, format+"\n", args...)
	}
}

// paint colours a text.
func (s *screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// The colours of an answer.
const (
	green = "32"
	red   = "31"
	dim   = "2"
)

// table writes rows in columns, each cut to the width.
func (s *screen) table(header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(row []string) string {
		var b strings.Builder
		for i, cell := range row {
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
		}
		return cut(strings.TrimRight(b.String(), " "), s.width)
	}
	s.line("%s", s.paint(dim, line(header)))
	for _, row := range rows {
		s.line("%s", line(row))
	}
}

// cut shortens a text to n characters.
func cut(text string, n int) string {
	r := []rune(text)
	if len(r) <= n {
		return text
	}
	return string(r[:max(n-1, 0)]) + "…"
}

// indent writes a text, wrapped and indented. A word that is longer than a line
// is broken.
func (s *screen) indent(text string) {
	width := max(s.width-4, 30)
	for paragraph := range strings.SplitSeq(text, "\n") {
		var line []rune
		for word := range strings.FieldsSeq(paragraph) {
			rest := []rune(word)
			if len(line) > 0 && len(line)+1+len(rest) > width {
				s.line("  %s", string(line))
				line = line[:0]
			}
			if len(line) > 0 {
				line = append(line, ' ')
			}
			for ; len(rest) > width; rest = rest[width:] {
				s.line("  %s", string(rest[:width]))
			}
			line = append(line, rest...)
		}
		if len(line) > 0 {
			s.line("  %s", string(line))
		}
	}
}
