package allowlist_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// meets asks one condition about one value.
func meets(t *testing.T, c *allowlist.Catalogue, test allowlist.Test, want, value string) bool {
	t.Helper()
	s := list("load_skill")
	s.Conditions = []allowlist.Condition{{Tool: allowlist.Named{Name: "load_skill"}, Arg: "x", Test: test, Want: []string{want}}}
	a, problems := c.Compile(s, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return a.CheckArguments("load_skill", &decision.Facts{}, decision.Arguments{"x": value}, nil).Reason.Allows()
}

// FuzzDecide asks for hostile names: none may be allowed but those that are
// written down, spelled exactly so.
func FuzzDecide(f *testing.F) {
	for _, name := range []string{
		"read_file", "READ_FILE", "read_file\x00", " read_file", "mcp__jira__get_issue", "mcp__jira__get_\n", "mcp__jira",
		"mcp__jira__", "mcp____get_x", "mcp__jira____get_x", "@code_read", "*", "mcp__*__get_x", "", "mcp__", "mcp__jira__delete_it",
	} {
		f.Add(name)
	}
	c := catalogue(f)
	a, problems := c.Compile(with(with(list("@code_read"), mcp("jira", "get_*", "delete_*")), denying("mcp__*__delete_*")), servers())
	if len(problems) > 0 {
		f.Fatal(problems)
	}
	tool := regexp.MustCompile(`\Amcp__jira__get_[!-~]*\z`)
	f.Fuzz(func(t *testing.T, name string) {
		v := a.Decide(name, &decision.Facts{})
		written := name == "read_file" || name == "grep_code" || tool.MatchString(name)
		if v.Reason.Allows() && !written {
			t.Errorf("%q is %v", name, v.Reason)
		}
		if written && len(name) < 128 && !strings.Contains(name, "__delete_") && !v.Reason.Allows() {
			t.Errorf("%q is %v", name, v.Reason)
		}
	})
}

// FuzzPattern compares patterns of an MCP server's tools with regular
// expressions.
func FuzzPattern(f *testing.F) {
	for _, row := range [][2]string{
		{"get_*", "get_x"},
		{"*", "x"},
		{"a*a", "a"},
		{"a*a", "aa"},
		{"*ab*ab", "abab"},
		{"*ab*ab", "aba"},
		{"**x", "x"},
		{"a*b*c", "abcbc"},
		{"", "x"},
		{"get", "get"},
		{"get", "gets"},
		{"?", "x"},
		{"*_", "__"},
	} {
		f.Add(row[0], row[1])
	}
	c := catalogue(f)
	ascii := regexp.MustCompile(`\A[!-~]{1,100}\z`)
	f.Fuzz(func(t *testing.T, pattern, tool string) {
		if !ascii.MatchString(pattern) || !ascii.MatchString(tool) {
			return
		}
		a, problems := c.Compile(with(list("load_skill"), mcp("jira", pattern)), servers())
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		text := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
		want := regexp.MustCompile(`\A` + text + `\z`).MatchString(tool)
		if got := a.Decide("mcp__jira__"+tool, &decision.Facts{}).Reason.Allows(); got != want {
			t.Errorf("pattern %q on %q: %t, want %t", pattern, tool, got, want)
		}
	})
}

// FuzzUnder compares with the segments of the path, counted one by one.
func FuzzUnder(f *testing.F) {
	for _, row := range [][2]string{
		{"/site", "/site/a"},
		{"/site", "/site/../etc"},
		{"/site", "/siteshop"},
		{".", "a/../../b"},
		{"a/b", "a/b/c"},
		{"..", "../../x"},
		{"/", "/x"},
		{"/site", "/site/%2e%2e/x"},
		{".", "~x"},
		{".", "c:x"},
		{"/site", "//site"},
	} {
		f.Add(row[0], row[1])
	}
	c := catalogue(f)
	f.Fuzz(func(t *testing.T, folder, value string) {
		if folder == "" || !meets(t, c, allowlist.TestUnder, folder, value) {
			return
		}
		if path.IsAbs(folder) != path.IsAbs(value) {
			t.Fatalf("%q is under %q", value, folder)
		}
		if base, got := resolved(folder), resolved(value); len(got) < len(base) || !slices.Equal(got[:len(base)], base) || slices.Contains(got[len(base):], "..") {
			t.Fatalf("%q is under %q: %q under %q", value, folder, got, base)
		}
	})
}

// resolved walks a path: the segments that are left, leading .. kept where the
// path is relative.
func resolved(p string) []string {
	var out []string
	for segment := range strings.SplitSeq(p, "/") {
		switch {
		case segment == "" || segment == ".":
		case segment != "..":
			out = append(out, segment)
		case len(out) > 0 && out[len(out)-1] != "..":
			out = out[:len(out)-1]
		case !path.IsAbs(p):
			out = append(out, "..")
		}
	}
	return out
}

// FuzzGlob compares with regular expressions.
func FuzzGlob(f *testing.F) {
	for _, row := range [][2]string{
		{"src/*.go", "src/a.go"},
		{"src/**", "src/a/b"},
		{"a?c", "aéc"},
		{"**a**", "bab"},
		{"***", "a/b"},
		{"*", "a/b"},
		{"", ""},
		{"?", "/"},
		{"src/**", "src/../x"},
		{"[a]", "[a]"},
		{"*", "\xff"},
	} {
		f.Add(row[0], row[1])
	}
	c := catalogue(f)
	f.Fuzz(func(t *testing.T, pattern, value string) {
		if len(pattern) > 100 || len(value) > 1000 || !utf8.ValidString(pattern) {
			return
		}
		got := meets(t, c, allowlist.TestGlob, pattern, value)
		climbing := slices.Contains(strings.FieldsFunc(value, func(r rune) bool { return r == '/' || r == '\\' }), "..") ||
			strings.Contains(value, "%")
		if want := expression(pattern).MatchString(value) && utf8.ValidString(value); got != want && (got || !climbing) {
			t.Errorf("glob %q on %q: %t, want %t", pattern, value, got, want)
		}
	})
}

// expression writes a glob as a regular expression.
func expression(pattern string) *regexp.Regexp {
	text := regexp.QuoteMeta(pattern)
	text = strings.ReplaceAll(text, `\*\*`, `(?s:.*)`)
	text = strings.ReplaceAll(text, `\*`, `[^/]*`)
	text = strings.ReplaceAll(text, `\?`, `[^/]`)
	return regexp.MustCompile(`\A(?:` + text + `)\z`)
}
