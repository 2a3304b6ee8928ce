package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCommandsExist finds a make target or a toolgate command that a page
// names and that is not there.
func TestCommandsExist(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	makefile, err := fs.ReadFile(root, "Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t, root) {
		text, err := fs.ReadFile(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, fault := range unknownCommands(string(text), string(makefile)) {
			t.Errorf("%s: %s", page, fault)
		}
	}
}

// subcommands are those of the binary; the end-to-end tests run each.
var subcommands = []string{"serve", "check", "decide", "explain", "healthcheck", "version"}

var (
	makeCall = regexp.MustCompile("`make ([\\w-]+)")
	gateCall = regexp.MustCompile("`(?:bin/)?toolgate ([a-z]+)\\b")
)

// unknownCommands returns what a page calls and nobody has.
func unknownCommands(page, makefile string) []string {
	var faults []string
	for _, m := range makeCall.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			faults = append(faults, "no make target "+m[1])
		}
	}
	for _, m := range gateCall.FindAllStringSubmatch(page, -1) {
		if !slices.Contains(subcommands, m[1]) {
			faults = append(faults, fmt.Sprintf("toolgate has no command %s", m[1]))
		}
	}
	return faults
}

func TestUnknownCommands(t *testing.T) {
	t.Parallel()
	const makefile = "\nbuild: x\n"
	for _, row := range []struct {
		name, page string
		want       int
	}{
		{"what is there", "run `make build`, then `bin/toolgate serve -c x`", 0},
		{"no such target", "run `make install`", 1},
		{"no such command", "run `toolgate start`", 1},
		{"prose", "toolgate decides\ntoolgate stops", 0},
	} {
		if got := unknownCommands(row.page, makefile); len(got) != row.want {
			t.Errorf("%s: %q", row.name, got)
		}
	}
}
