package readme_test

import (
	"strings"
	"testing"
)

const sample = `# A page

<!-- test:readme run exit=3 -->
~~~sh
gate decide
~~~

~~~text
no, …
~~~

<!-- test:readme run -->
~~~sh
a
b
~~~
text
`

func unfence(s string) string { return strings.ReplaceAll(s, "~~~", "```") }

func TestParse(t *testing.T) {
	t.Parallel()
	blocks, err := parse(unfence(sample))
	if err != nil || len(blocks) != 2 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	if b := blocks[0]; b.exit != 3 || b.script != "gate decide\n" || b.output != "no, …\n" || !b.shown {
		t.Errorf("first block %+v", b)
	}
	if b := blocks[1]; b.exit != 0 || b.script != "a\nb\n" || b.shown {
		t.Errorf("second block %+v", b)
	}
	for name, page := range map[string]string{
		"a misspelt tag":      "<!-- test:readme runs -->\n~~~sh\nx\n~~~\n",
		"a tag without block": "<!-- test:readme run -->\n\ntext\n",
		"a block left open":   "<!-- test:readme run -->\n~~~sh\nx\n",
	} {
		if _, err := parse(unfence(page)); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestSame(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, want, got string
		ok              bool
	}{
		{"equal", "a\nb\n", "a\nb", true},
		{"carriage returns of HTTP", "a\n\nb\n", "a\r\n\r\nb\r\n", true},
		{"a gap in a line", `{"id":"…","x":1}`, `{"id":"0190","x":1}`, true},
		{"a gap stands for something", "id …", "id ", false},
		{"a gap ends with its line", "a…", "ab\nc", false},
		{"a line more", "a", "a\nb", false},
		{"a pattern is text", "a.c", "abc", false},
	} {
		if got := same(row.want, row.got); got != row.ok {
			t.Errorf("%s: same(%q, %q) = %t", row.name, row.want, row.got, got)
		}
	}
}

func TestFill(t *testing.T) {
	t.Parallel()
	before := unfence(sample)
	blocks, err := parse(before)
	if err != nil {
		t.Fatal(err)
	}
	if got := fill(before, blocks, []string{"no, really\n", ""}); got != before {
		t.Errorf("an output that is the same was written again:\n%s", got)
	}
	got := fill(before, blocks, []string{"yes\n", "id 0190a3c4-0000-7000-8000-000000000000\n"})
	want := strings.Replace(before, "no, …", "yes", 1)
	want = strings.Replace(want, "b\n```\n", "b\n```\n\n```text\nid …\n```\n", 1)
	if got != want {
		t.Errorf("filled page:\n%s\nwant:\n%s", got, want)
	}
	if again, err := parse(got); err != nil || len(again) != 2 || !again[1].shown {
		t.Errorf("the filled page cannot be read: %v", err)
	}
}
