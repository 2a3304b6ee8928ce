package daemon

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
)

func TestNameCheck(t *testing.T) {
	t.Parallel()
	private := "egress: {allow_private: [{host: git.corp, cidr: 10.1.0.0/16, ports: [443]}]}\n"
	watched := strings.Replace(small, "pm: {tools: [fetch_url]}", "pm: {tools: [fetch_url], mode: report}", 1)
	for name, row := range map[string]struct {
		text, host string
		want       decision.Reason // url_ok: the name may be asked for
	}{
		"an ordinary name":                     {small, "www.example.com", decision.URLOK},
		"an internal name":                     {small, "git.corp", decision.URLInternal},
		"one that is opened on purpose":        {small + private, "git.corp", decision.URLOK},
		"another one beside it":                {small + private, "hg.corp", decision.URLInternal},
		"metadata":                             {small, "metadata.google.internal", decision.URLMetadata},
		"an internal name in report mode":      {small + "mode: report\n", "git.corp", decision.URLOK},
		"an internal name, one agent reported": {watched, "git.corp", decision.URLOK},
		"metadata in report mode":              {small + "mode: report\n", "metadata.google.internal", decision.URLMetadata},
		"loopback in report mode":              {small + "mode: report\n", "a.localhost", decision.URLLoopback},
	} {
		err := nameCheck(loaded(t, row.text).Document)(row.host)
		if row.want == decision.URLOK {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var refused *nameError
		if !errors.As(err, &refused) || refused.DecisionReason() != row.want || !strings.Contains(err.Error(), row.host) {
			t.Errorf("%s: %v, want %v", name, err, row.want)
		}
	}
}

func TestTrustedPath(t *testing.T) {
	t.Parallel()
	const program = "/bin/sh"
	if _, err := os.Stat(program); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "sh")
	if err := os.WriteFile(copied, []byte("#!/bin/false\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := func(mode os.FileMode, target, name string) string {
		dir := t.TempDir()
		if err := errors.Join(os.Symlink(target, filepath.Join(dir, name)), os.Chmod(dir, mode)); err != nil {
			t.Fatal(err)
		}
		return filepath.Join(dir, name)
	}
	linked := link(0o755, program, "sh")
	folder := filepath.Join(link(0o755, filepath.Dir(program), "folder"), "sh")
	root := os.Getuid() == 0 // else the links below are not an administrator's
	for name, row := range map[string]struct {
		path, name string
		want       bool
	}{
		"the program itself":          {program, "sh", true},
		"an administrator's link":     {linked, "sh", root},
		"a link that others change":   {link(0o777, program, "sh"), "sh", false},
		"a link to such a link":       {link(0o755, linked, "sh"), "sh", false},
		"a folder that is a link":     {folder, "sh", false},
		"a link of another name":      {link(0o755, program, "ls"), "sh", false},
		"the same, asked as it is":    {link(0o755, program, "ls"), "ls", false},
		"another file of that name":   {copied, "sh", false},
		"a relative path":             {"bin/sh", "sh", false},
		"the bare name":               {"sh", "sh", false},
		"another name":                {program, "bash", false},
		"no name":                     {program, "", false},
		"a name with a slash":         {program, "bin/sh", false},
		"a file that is not there":    {"/nowhere/sh", "sh", false},
		"a name that nothing is":      {filepath.Join(filepath.Dir(copied), "no-such-program"), "no-such-program", false},
		"a folder with the right end": {filepath.Dir(program) + "/", "", false},
	} {
		if got := (trustedPath{}).SameFile(row.path, row.name); got != row.want {
			t.Errorf("%s: SameFile(%q, %q) = %t", name, row.path, row.name, got)
		}
	}
}

func TestPoliciesThatDoNotLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, row := range map[string]struct {
		path     string
		loopback bool
		want     string // in the error
		problems int    // 0: the file could not be read
	}{
		"no file":                     {filepath.Join(dir, "none.yaml"), false, "no such file", 0},
		"a folder":                    {dir, false, "is a directory", 0},
		"an empty file":               {write("empty.yaml", ""), false, "empty.yaml:1:1", 1},
		"two faults, both told":       {write("two.yaml", small+"mode: off\nnonsense: 1\n"), false, "nonsense", 2},
		"longer than a configuration": {write("long.yaml", small+"#"+strings.Repeat("x", maxConfig)), false, "", 1},
		"an anonymous browser with loopback open": {
			write("anon.yaml", "version: 1\nagents: {web: {tools: [browser_open]}}\negress: {anonymous: {agent: web, tool: browser_open}}\n"),
			true, "unset the variable", 1,
		},
	} {
		p, err := LoadPolicy(PolicyOptions{Path: row.path, Loopback: row.loopback})
		var problems config.Problems
		var unreadable *ConfigError
		switch {
		case err == nil || p != nil:
			t.Errorf("%s: loaded", name)
		case row.problems == 0 && !errors.As(err, &unreadable):
			t.Errorf("%s: %v is no *ConfigError", name, err)
		case row.problems > 0 && (!errors.As(err, &problems) || len(problems) != row.problems):
			t.Errorf("%s: %d problems, want %d: %v", name, len(problems), row.problems, err)
		case !strings.Contains(err.Error(), row.want):
			t.Errorf("%s: no %q in: %v", name, row.want, err)
		}
	}
}

func TestEmbeddedPolicyLoads(t *testing.T) {
	t.Parallel()
	p, err := LoadPolicy(PolicyOptions{})
	if err != nil || p.Document.File != EmbeddedName || !strings.HasPrefix(p.Snapshot.Revision(), "sha256:") {
		t.Fatalf("%+v, %v", p, err)
	}
}

// TestConfiguredAddresses: a question asked without a daemon knows the
// listeners that the document names, in whatever spelling.
func TestConfiguredAddresses(t *testing.T) {
	t.Parallel()
	text := small + "listen: {api: \"localhost:18180\", proxy: \"[::ffff:127.0.0.1]:18181\", metrics: \"127.0.0.1:0\"}\n"
	p, err := compile(PolicyOptions{Loopback: true}, "toolgate.yaml", []byte(strings.Replace(text, "[read_file", "[browser_open, read_file", 1)))
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]decision.Reason{
		"http://127.0.0.1:18180/": decision.URLSelf,
		"http://localhost:18180/": decision.URLSelf,
		"http://[::1]:18180/":     decision.URLSelf,
		"http://127.0.0.1:18181/": decision.URLSelf,
		"http://127.0.0.1:3000/":  decision.URLOK,
	} {
		d := p.Snapshot.Decide(t.Context(), &decision.Request{
			Agent: "dev", Tool: "browser_open", Proven: true, Resource: decision.Resource{Kind: decision.KindURL, ID: url},
		})
		if d.Reason != want {
			t.Errorf("%s: %v, want %v", url, d.Reason, want)
		}
	}
	if configuredAddresses(p.Document)(netip.MustParseAddrPort("127.0.0.1:0")) {
		t.Error("port 0 is some port, and no listener has it")
	}
}

// TestLookupOfARefusedName: a name that may not leave the machine fails with
// its own reason, without a question.
func TestLookupOfARefusedName(t *testing.T) {
	t.Parallel()
	doc := loaded(t, small+"egress: {resolver: {servers: [\"127.0.0.1:9\"], timeout: 100ms}}\n").Document
	r, err := newResolver(PolicyOptions{}, doc)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a question would fail with dns_failed
	_, err = r.Lookup(ctx, "git.corp")
	var reason interface{ DecisionReason() decision.Reason }
	if !errors.As(err, &reason) || reason.DecisionReason() != decision.URLInternal {
		t.Errorf("%v, want url_internal", err)
	}
}
