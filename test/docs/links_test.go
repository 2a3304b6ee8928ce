package docs_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestLinks finds a relative link to a file or a heading that is not there.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	seen := 0
	for _, page := range pages(t, root) {
		text, err := fs.ReadFile(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			seen++
			if fault := follow(root, page, m[1]); fault != "" {
				t.Errorf("%s: %s", page, fault)
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d links in all pages: the pattern finds none", seen)
	}
}

// follow returns what is wrong with a link of a page.
func follow(root fs.FS, page, target string) string {
	file, heading, hasHeading := strings.Cut(target, "#")
	if file == "" {
		file = path.Base(page)
	}
	name := path.Join(path.Dir(page), file)
	if _, err := fs.Stat(root, name); err != nil {
		return target + " does not exist"
	}
	if !hasHeading || path.Ext(name) != ".md" {
		return ""
	}
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return err.Error()
	}
	for line := range strings.Lines(string(text)) {
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") && anchor(title) == heading {
			return ""
		}
	}
	return target + ": no such heading"
}

// anchor is the fragment that a heading gets.
func anchor(title string) string {
	title = strings.ToLower(strings.TrimSpace(title))
	title = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(title, "")
	return strings.ReplaceAll(title, " ", "-")
}

// pages lists the Markdown files of the repository.
func pages(t *testing.T, root fs.FS) []string {
	t.Helper()
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, names...)
	}
	return all
}

func TestFollow(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	for _, row := range []struct {
		name, target string
		ok           bool
	}{
		{"a page", "reasons.md", true},
		{"a heading of another page", "reasons.md#refused-by-the-url-guard", true},
		{"a folder", "decisions/", true},
		{"a page that is not there", "reason.md", false},
		{"a heading that is not there", "reasons.md#refused", false},
	} {
		if fault := follow(root, "docs/x.md", row.target); (fault == "") != row.ok {
			t.Errorf("%s: follow(%q) = %q", row.name, row.target, fault)
		}
	}
}
