package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestColour: on a terminal only, and not where the user or the terminal does
// not want it.
func TestColour(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, row := range map[string]struct {
		file *os.File
		vars map[string]string
		want bool
	}{
		"a terminal":                    {terminal, nil, true},
		"a terminal, NO_COLOR":          {terminal, map[string]string{"NO_COLOR": "1"}, false},
		"a terminal, NO_COLOR is empty": {terminal, map[string]string{"NO_COLOR": ""}, true},
		"a terminal that has none":      {terminal, map[string]string{"TERM": "dumb"}, false},
		"no terminal":                   {null, nil, false},
	} {
		s := newScreen(row.file, func(name string) string { return row.vars[name] })
		if painted := s.paint(red, "x") != "x"; s.color != row.want || painted != row.want {
			t.Errorf("%s: colour %t, painted %t", name, s.color, painted)
		}
		if s.width != defaultWidth {
			t.Errorf("%s: %d columns where nobody says", name, s.width)
		}
	}
	if s := newScreen(&bytes.Buffer{}, func(string) string { return "" }); s.color {
		t.Error("colour in a buffer")
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		text string
		n    int
		want string
	}{
		{"short", 10, "short"},
		{"exactly", 7, "exactly"},
		{"too long", 4, "too…"},
		{"äöüß", 3, "äö…"},
		{"no room", 1, "…"},
		{"none at all", 0, "…"},
		{"", 0, ""},
	} {
		if got := cut(row.text, row.n); got != row.want {
			t.Errorf("cut(%q, %d) = %q, want %q", row.text, row.n, got, row.want)
		}
	}
}

// TestParagraphs: every character stays, in lines that fit.
func TestParagraphs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"words":            strings.Repeat("one two three ", 40),
		"one long word":    strings.Repeat("x", 500),
		"a long word":      "before " + strings.Repeat("x", 150) + " after",
		"exactly a line":   strings.Repeat("x", 96),
		"other letters":    strings.Repeat("äöü", 99),
		"two paragraphs":   "one\ntwo",
		"nothing to say":   "",
		"blanks of a kind": "a  \t b",
	} {
		var out bytes.Buffer
		s := &screen{out: &out, width: 100}
		s.indent(text)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(line); n > 100 || !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
		squeeze := func(s string) string { return strings.Join(strings.Fields(s), "") }
		if squeeze(out.String()) != squeeze(text) {
			t.Errorf("%s: %q became %q", name, text, out.String())
		}
	}
}
