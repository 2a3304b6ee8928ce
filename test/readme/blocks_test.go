package readme_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// block is one tagged command of the README with the output that stands below
// it. Line numbers count from 0 and are those of the file's lines.
type block struct {
	kind   string // serve, test or run
	exit   int    // the exit code that the tag announces
	script string
	output string // with … for what differs from run to run
	// shown says whether an output block is there; out and end are its lines,
	// or where one would be put in.
	shown    bool
	out, end int
}

var tag = regexp.MustCompile(`^<!-- test:readme (serve|test|run)(?: exit=(\d+))? -->$`)

// parse returns the tagged blocks of a page: a tag, a fenced sh block right
// below it, and perhaps a fenced text block with its output.
func parse(page string) ([]block, error) {
	lines := strings.Split(page, "\n")
	var blocks []block
	for i := 0; i < len(lines); i++ {
		if !strings.Contains(lines[i], "test:readme") {
			continue
		}
		m := tag.FindStringSubmatch(lines[i])
		if m == nil {
			return nil, fmt.Errorf("line %d: a tag that cannot be read", i+1)
		}
		b := block{kind: m[1]}
		if m[2] != "" {
			b.exit, _ = strconv.Atoi(m[2])
		}
		script, end, ok := fence(lines, i+1, "sh")
		if !ok {
			return nil, fmt.Errorf("line %d: no sh block below the tag", i+1)
		}
		b.script, b.out, b.end = script, end, end
		if i = end; i < len(lines) && lines[i] == "" {
			i++
		}
		if output, end, ok := fence(lines, i, "text"); ok {
			b.output, b.shown, b.out, b.end = output, true, i, end
		}
		i = b.end - 1
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// fence returns the text of the fenced block that starts at line i, and the
// line after it.
func fence(lines []string, i int, language string) (text string, end int, ok bool) {
	if i >= len(lines) || lines[i] != "```"+language {
		return "", i, false
	}
	for j := i + 1; j < len(lines); j++ {
		if lines[j] == "```" {
			return strings.Join(lines[i+1:j], "\n") + "\n", j + 1, true
		}
	}
	return "", i, false
}

// same reports whether got is want, where … in want stands for any text within
// a line.
func same(want, got string) bool {
	w, g := strings.Split(strings.TrimSpace(want), "\n"), strings.Split(strings.TrimSpace(clean(got)), "\n")
	if len(w) != len(g) {
		return false
	}
	for i := range w {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimRight(w[i], " ")), "…", ".+")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(strings.TrimRight(g[i], " ")) {
			return false
		}
	}
	return true
}

// clean takes carriage returns out, so that HTTP headers stand in the page as
// lines.
func clean(s string) string { return strings.ReplaceAll(s, "\r", "") }

// varying is what differs from run to run in an output.
var varying = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT`),
	regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`),
	regexp.MustCompile(`[0-9a-f]{16,}`),
	regexp.MustCompile(`[\w-]{40,}`),
}

// settle replaces what differs from run to run by ….
func settle(s string) string {
	for _, re := range varying {
		s = re.ReplaceAllString(s, "…")
	}
	s = strings.ReplaceAll(s, "……", "…") // an output may be cut there already
	return strings.TrimSpace(clean(s)) + "\n"
}

// fill returns the page with the outputs put in, from the last to the first so
// that line numbers stay true.
func fill(page string, blocks []block, outputs []string) string {
	lines := strings.Split(page, "\n")
	for i, b := range slices.Backward(blocks) {
		if b.kind != "run" || b.shown && same(b.output, outputs[i]) || strings.TrimSpace(outputs[i]) == "" {
			continue
		}
		text := []string{"```text", strings.TrimSuffix(settle(outputs[i]), "\n"), "```"}
		if !b.shown {
			text = append([]string{""}, text...)
		}
		lines = append(lines[:b.out:b.out], append(text, lines[b.end:]...)...)
	}
	return strings.Join(lines, "\n")
}
