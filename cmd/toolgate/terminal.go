package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The width of a table where the terminal does not say.
const defaultWidth = 100

// screen is where a table is written: how wide it may be, and whether colour
// is welcome.
type screen struct {
	io.Writer
	width int
	color bool
}

// newScreen looks at a writer. Colour is used on a terminal only, and not when
// NO_COLOR is set (no-color.org).
func newScreen(w io.Writer, getenv func(string) string) screen {
	s := screen{Writer: w, width: defaultWidth}
	f, ok := w.(*os.File)
	if !ok {
		return s
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ) //nolint:gosec // a descriptor is an int
	if err != nil {
		return s
	}
	if size.Col > 40 {
		s.width = int(size.Col)
	}
	s.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

// paint colours a text.
func (s screen) paint(code, text string) string {
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

// table writes rows in columns; the last one is cut to the width.
func (s screen) table(header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	line := func(row []string, code string) {
		var b strings.Builder
		left := s.width
		for i, cell := range row {
			last := i == len(row)-1
			if last {
				cell = cut(cell, left)
			} else {
				cell += strings.Repeat(" ", widths[i]-len([]rune(cell))+2)
			}
			left -= len([]rune(cell))
			b.WriteString(cell)
		}
		text := strings.TrimRight(b.String(), " ")
		if code != "" {
			text = s.paint(code, text)
		}
		fmt.Fprintln(s, text)
	}
	line(header, dim)
	for _, row := range rows {
		line(row, "")
	}
}

// cut shortens a text to n characters.
func cut(text string, n int) string {
	r := []rune(text)
	if len(r) <= n || n < 2 {
		return text
	}
	return string(r[:n-1]) + "…"
}

// indent writes a paragraph, wrapped and indented.
func (s screen) indent(text string) {
	width := max(s.width-4, 30)
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			if line != "" && len(line)+1+len(word) > width {
				fmt.Fprintln(s, "  "+line)
				line = ""
			}
			if line != "" {
				line += " "
			}
			line += word
		}
		if line != "" {
			fmt.Fprintln(s, "  "+line)
		}
	}
}
