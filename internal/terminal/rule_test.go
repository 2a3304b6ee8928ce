package terminal_test

import (
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/terminal"
)

func TestParseRuleNamesTheWrongToken(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, token string }{
		{"nothing", "", "names no command"},
		{"only blanks", " \t", "names no command"},
		{"only an anchor", "$", "names no command"},
		{"something behind the anchor", "git status $ -s", `"-s"`},
		{"an empty alternative", "git a||b", `"a||b"`},
		{"an alternative with blanks around", "git a | b", `"|"`},
		{"part of a word as a wildcard", "git s*", `"s*"`},
		{"quotes", "git 'a b'", `"'a"`},
		{"an operator", "git status; ls", `"status;"`},
		{"a sign for refusal", "!git push", `"!git"`},
		{"parentheses of other tools", "Bash(ls)", `"Bash(ls)"`},
		{"a control character", "git\x01 a", "U+0001"},
		{"a no-break space", "git\u00a0push", "U+00A0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := terminal.ParseRule(c.text)
			if err == nil || !strings.Contains(err.Error(), c.token) {
				t.Errorf("%q: error %v, want one that names %s", c.text, err, c.token)
			}
		})
	}
}

func TestRuleMatching(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, rule, script string
		want               bool
	}{
		{"prefix", "git status", "git status -s", true},
		{"shorter command", "git status", "git", false},
		{"anchor", "make $", "make", true},
		{"anchor and more", "make $", "make all", false},
		{"anchor and a word that may vanish", "make $", "make $x", false},
		{"wildcard word", "npm run *", "npm run build", true},
		{"wildcard word that is not there", "npm run *", "npm run", false},
		{"wildcard and an unknown word", "tool run *", `tool run "$x"`, true},
		{"wildcard and words of unknown number", "tool run * --dry $", "tool run $x --dry", false},
		{"alternative commands", "cat|head a", "head a", true},
		{"unknown word where the rule has one", "npm run build", `npm run "$x"`, false},
		{"name and its trusted path", "ls", "/usr/bin/ls", true},
		{"name and another path", "ls", "/bin/ls", false},
		{"name and a path with detours", "ls", "/usr/bin/../bin/ls", false},
		{"path", "./ci.sh", "./ci.sh", true},
		{"path written otherwise", "./ci.sh", "././ci.sh", false},
		{"path without the folder", "./ci.sh", "ci.sh", false},
		{"another case", "ls", "LS", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if v := judge(t, terminal.ModeAllowlist, c.rule).Judge(c.script); permits(v) != c.want {
				t.Errorf("rule %q, command %q: %s %s", c.rule, c.script, v.Reason, v.Detail)
			}
		})
	}
}

func TestBlockRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, block, script string
		reason              string
	}{
		{"plain", "git push", "git push origin", "command_blocked"},
		{"another subcommand", "git push", "git status", "command_ok"},
		{"behind options of git", "git push", "git --no-pager -C /r push", "command_blocked"},
		{"in a path", "curl", "/opt/x/curl", "command_blocked"},
		{"unknown argument", "git push", "git $x", "command_ok"},
		{"any first word", "* --force", "mytool --force", "command_blocked"},
		{"the word is only text", "git push", "echo git push", "command_ok"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if v := judge(t, terminal.ModeBlocklist, c.block).Judge(c.script); v.Reason.String() != c.reason {
				t.Errorf("block %q, command %q: %s %s, want %s", c.block, c.script, v.Reason, v.Detail, c.reason)
			}
		})
	}
	// In allowlist mode a word that could be the blocked one counts against.
	if v := judge(t, terminal.ModeAllowlist, "tool", "!tool push").Judge(`tool "$x"`); v.Reason.String() != "command_unresolvable" {
		t.Errorf("a word that may be blocked: %s %s", v.Reason, v.Detail)
	}
}

func TestCheckExamples(t *testing.T) {
	t.Parallel()
	r, err := terminal.ParseRule("go build|test")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.CheckExamples([]string{"go test ./...", "go build"}, []string{"go run x.go", "make"}); err != nil {
		t.Errorf("examples that hold: %v", err)
	}
	if err := r.CheckExamples([]string{"go vet"}, nil); err == nil || !strings.Contains(err.Error(), "go vet") {
		t.Errorf("an example that does not match: %v", err)
	}
	if err := r.CheckExamples(nil, []string{"go test x"}); err == nil || !strings.Contains(err.Error(), "go test x") {
		t.Errorf("an example that matches and should not: %v", err)
	}
	if err := (terminal.Rule{}).CheckExamples(nil, nil); err == nil {
		t.Error("a rule that was never parsed has examples")
	}
}

func TestZeroValuesRefuse(t *testing.T) {
	t.Parallel()
	var none *terminal.Judge
	empty, err := terminal.New(terminal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, j := range map[string]*terminal.Judge{"nil": none, "zero": {}, "zero options": empty} {
		if v := j.Judge("true"); v.Reason.String() != "terminal_disabled" || j.Enabled() {
			t.Errorf("%s judge: %s", name, v.Reason)
		}
	}
	if permits(terminal.Verdict{}) {
		t.Error("the zero verdict permits")
	}
	if _, err := terminal.New(terminal.Options{Allow: []terminal.Rule{{Text: "ls"}}}); err == nil {
		t.Error("a rule that was never parsed is taken")
	}
	if _, err := terminal.New(terminal.Options{EnvAllow: []string{"A=1"}}); err == nil {
		t.Error("an assignment is taken for the name of a variable")
	}
	if _, err := terminal.New(terminal.Options{Mode: 9}); err == nil {
		t.Error("a mode that does not exist is taken")
	}
}

func TestZeroByteIsRefusedInEveryMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []terminal.Mode{terminal.ModeAllowlist, terminal.ModeBlocklist, terminal.ModeOff} {
		if v := judge(t, mode).Judge("true\x00"); v.Reason.String() != "command_unparseable" || !strings.Contains(v.Detail, "U+0000") {
			t.Errorf("mode %s: %s %s", mode, v.Reason, v.Detail)
		}
	}
	if v := judge(t, terminal.ModeOff).Judge("(((\r\u00a0"); v.Reason.String() != "terminal_off" {
		t.Errorf("mode off: %s", v.Reason)
	}
}

func TestRefusalTellsWhatAndWhere(t *testing.T) {
	t.Parallel()
	o := options(t, terminal.ModeAllowlist, "ls", "!git push")
	o.Block[0].Pos.Line = 7
	j, err := terminal.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, script, detail string
		line, col            int
	}{
		{"the command", "ls\nls && curl 'a b'", "curl", 2, 7},
		{"the character", "ls\u00a0-l", "U+00A0", 1, 3},
		{"the variable", "ls; LD_PRELOAD=x ls", "LD_PRELOAD", 1, 5},
		{"the target", "ls > ../x", "../x", 1, 4},
		{"an unknown word", "ls\n$cmd x", "$cmd", 2, 1},
		{"a command in a code string", "ls; bash -c 'ls; rm x'", "rm x", 1, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := j.Judge(c.script)
			if permits(v) || !strings.Contains(v.Detail, c.detail) || v.Line != c.line || v.Col != c.col {
				t.Errorf("%q: %+v, want detail %q at %d:%d", c.script, v, c.detail, c.line, c.col)
			}
		})
	}
	if v := j.Judge("ls; git push"); v.Rule != "git push" || v.Pos.Line != 7 {
		t.Errorf("the rule that blocked: %+v", v)
	}
	if v := j.Judge("ls"); v.Rule != "ls" {
		t.Errorf("the rule that allowed: %+v", v)
	}
}

func TestExplainListsEveryCommand(t *testing.T) {
	t.Parallel()
	v := judge(t, terminal.ModeAllowlist, "ls", "grep").Explain("ls \"$d\" | grep x\ntimeout 5 curl y")
	var got []string
	for _, c := range v.Commands {
		got = append(got, strings.Join(c.Argv, " ")+" "+c.Reason.String())
	}
	for _, want := range []string{"ls ⟨", "grep x command_ok", "curl y command_not_allowed"} {
		if !strings.Contains(strings.Join(got, "\n"), want) {
			t.Errorf("%q not among %q", want, got)
		}
	}
}
