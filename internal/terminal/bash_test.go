package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/terminal"
)

// mentionsFunction reports whether a script declares a function of that name.
func mentionsFunction(script, name string) bool {
	return regexp.MustCompile(`(^|[\s;&|({)` + "`" + `])(function\s+)?` + regexp.QuoteMeta(name) + `\s*(\(|\{|$|\s)`).MatchString(script)
}

// oracle is a real bash whose PATH holds only stubs that note how they were
// called, and the real programs that start others.
type oracle struct {
	bash, bin, work, log string
}

// stubs are the programs that exist for the oracle. Those of the second list
// have no rule.
func stubs() (permitted, forbidden []string) {
	return []string{"ok", "git", "rg", "lst"}, []string{"curl", "evil"}
}

func newOracle(t *testing.T) *oracle {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no bash to compare with")
		}
		t.Skip("no bash to compare with")
	}
	o := &oracle{bash: bash, bin: t.TempDir(), work: t.TempDir()}
	o.log = filepath.Join(o.bin, "log")
	permitted, forbidden := stubs()
	for _, name := range append(permitted, forbidden...) {
		script := "#!" + bash + "\nprintf '%s\\n' \"${0##*/} $1\" >> '" + o.log + "'\nprintf 'x\\n'\n"
		if err := os.WriteFile(filepath.Join(o.bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "sh", "env", "timeout", "nice", "nohup", "xargs", "find", "setsid", "stdbuf"} {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(o.bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return o
}

// run runs a script and returns what the stubs noted, a line each.
func (o *oracle) run(t *testing.T, script string) []string {
	t.Helper()
	if err := os.RemoveAll(o.log); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, o.bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir, cmd.Env = o.work, []string{"PATH=" + o.bin, "HOME=" + o.work, "x=curl", "n=a[$(curl n)]"}
	cmd.WaitDelay = time.Second
	var exit *exec.ExitError
	if out, err := cmd.CombinedOutput(); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		t.Fatalf("%v: %s", err, out)
	}
	noted, err := os.ReadFile(o.log)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(noted), func(r rune) bool { return r == '\n' })
}

// unexpected returns the calls that no rule allows: "ok", "lst", "rg" and "git
// status" have one.
func unexpected(calls []string) []string {
	var bad []string
	for _, call := range calls {
		name, first, _ := strings.Cut(call, " ")
		switch {
		case name == "ok", name == "lst", name == "rg" && !strings.HasPrefix(first, "--pre"), name == "git" && first == "status":
		default:
			bad = append(bad, call)
		}
	}
	return bad
}

func oracleRules() []string {
	return []string{"ok", "lst", "rg", "git status", "xargs", "find", "read", "printf", "echo", "mapfile", "unset", "getopts", "let", "type"}
}

// TestBashRunsNothingElse runs what the judge permits in a real bash and looks
// at which programs were started. The scripts are those of the tables and
// generated ones.
func TestBashRunsNothingElse(t *testing.T) {
	t.Parallel()
	o := newOracle(t)
	if got := unexpected(o.run(t, "ok a; curl x; git push; git status")); len(got) != 2 {
		t.Fatalf("the oracle saw %q, want the two calls that have no rule", got)
	}
	j := judge(t, terminal.ModeAllowlist, oracleRules()...)
	var scripts []string
	for _, c := range readLabelled(t) {
		scripts = append(scripts, c.Command)
	}
	for _, s := range attacks() {
		scripts = append(scripts, s)
	}
	g := generator{rand.New(rand.NewPCG(1, 2))}
	for range 6000 {
		scripts = append(scripts, g.script())
	}
	ran := 0
	for _, s := range scripts {
		if ran == 250 {
			break
		}
		if strings.IndexByte(s, 0) >= 0 || !permits(j.Judge(s)) {
			continue
		}
		ran++
		if bad := unexpected(o.run(t, s)); len(bad) > 0 {
			t.Errorf("permitted, and bash started %q:\n%s", bad, s)
		}
	}
	t.Logf("%d scripts run", ran)
	if ran < 200 {
		t.Errorf("only %d scripts were permitted; the generator makes too little that is", ran)
	}
}

// generator makes scripts that hide curl, git push and rg --pre in the ways
// that shells have, mixed with permitted ones.
type generator struct{ *rand.Rand }

func (g generator) pick(from ...string) string { return from[g.IntN(len(from))] }

func (g generator) script() string {
	n := 1 + g.IntN(3)
	parts := make([]string, n)
	for i := range parts {
		parts[i] = g.command(3)
	}
	return strings.Join(parts, g.pick("; ", "\n", " && ", " || ", " | ", " & ", "\n# note\n", " # note\n"))
}

// name is a command name: mostly a permitted one.
func (g generator) name() string {
	return g.pick("ok", "ok", "ok", "lst", "git status", "rg -n", "o\\k", "'ok'", `"ok"`, "$'\\x6fk'", ":", "true", "echo", "printf %s",
		"git push", "cur\\l", "$x", "rg", "f", "g", "command ok", "env ok", "timeout 2 ok", "nice ok")
}

func (g generator) word(depth int) string {
	if depth <= 0 {
		return g.pick("a", "'curl x'", "-n", "src", `"$x"`, "./*", "--", "1")
	}
	return g.pick("a", "'; curl x;'", `"; curl x;"`, `\;`, "--", "--pre=curl", "{a,b}", "*.go", "~", "$x", `"$x"`, "${x}", "$n", "$1", `"$@"`,
		"$("+g.command(depth-1)+")", `"$(`+g.command(depth-1)+`)"`, "`"+strings.ReplaceAll(g.command(0), "`", "")+"`", "<("+g.command(depth-1)+")",
		"${x:-"+g.word(depth-1)+"}", `"${x:-`+g.pick("a", "$(ok)", "$(curl x)")+`}"`, "${x/"+g.word(0)+"/b}", "$((1+2))", "$((n))", "${#x}", "${n:1}", "${a[n]}",
		"${a[0]}", "${x@Q}", "${x@P}", "${!x}", "$\\\n(curl x)", "\"$\\\n(curl x)\"", "a\\\nb", "a#b", "$'a\\'b'", "@(a|b)")
}

func (g generator) command(depth int) string {
	simple := g.name()
	for range g.IntN(3) {
		simple += " " + g.word(depth-1)
	}
	if depth <= 0 || g.IntN(3) == 0 {
		return simple + g.redirect()
	}
	inner := func() string { return g.command(depth - 1) }
	switch g.IntN(24) {
	case 0:
		return "(" + inner() + ")"
	case 1:
		return "{ " + inner() + "; }"
	case 2:
		return "if " + inner() + "; then " + inner() + "; fi"
	case 3:
		return "for i in a " + g.word(1) + "; do " + inner() + "; done"
	case 4:
		return "case " + g.word(1) + " in a|" + g.word(0) + ") " + inner() + ";; *) " + inner() + ";; esac"
	case 5:
		return g.pick("f", "g", "ok", "curl") + "() { " + inner() + "; }"
	case 6:
		return g.pick("a=", "x=", "a=(", "declare b=", "export D=", "local c=", "PATH=", "a[0]=", "a[n]=") + "v" + g.pick("", "", ")")
	case 7:
		return g.pick("bash -c ", "sh -c ", "eval ", "env sh -c ", "bash -ec ") + "'" + strings.ReplaceAll(inner(), "'", `'\''`) + "'"
	case 8:
		return "cat_() { ok; }; ok <<" + g.pick("E", "'E'", "-E", `\E`) + "\n" + g.pick("$(ok)", "$(curl x)", "plain", "$x", "`curl x`", "\\$(curl x)", "$\\\n(curl x)") + "\nE\n" + inner()
	case 9:
		return "bash <<'E'\n" + inner() + "\nE\n"
	case 10:
		return g.pick("find . -maxdepth 0 -exec ", "find . -maxdepth 0 -execdir ") + g.pick("ok {}", "curl {}", "lst", "git status", "$x") + ` \;`
	case 11:
		return "echo a | xargs " + g.pick("", "ok", "curl", "-I{} ok {}", "-n1 ok", "rg", "rg --", "sh -c 'ok'", "sh -c 'curl x'", "git", "git status")
	case 12:
		return "[[ " + g.pick("a", "$x", "$n") + g.pick(" == ", " -eq ", " =~ ", " != ", " -nt ") + g.pick("a", "1", "@(a|b)", "$n", "$(ok)", "$(curl x)") + " ]]"
	case 13:
		return g.pick("[", "test") + " " + g.pick("-n", "-v", "$n", `"$n"`, "!") + " " + g.pick(`"$n"`, "$x", "a", "'a[$(curl x)]'") + g.pick(" ]", "", " = a ]")
	case 14:
		return g.pick("read ", "read -r ", "printf -v ", "unset ", "let ", "mapfile ", "declare ", "declare -i ", "declare -n r=", "export ", "((", "type ") + g.pick("a", "$n", `"$n"`, "'a[$(curl x)]'", "a=1", "b") + g.pick("", "", "))")
	case 15:
		return "trap " + g.pick("'ok'", "'curl x'", `"$x"`, "f") + " EXIT"
	case 16:
		return "! " + simple
	case 17:
		return "time " + g.pick("", "-p ", "-- ") + simple
	case 18:
		return "while " + inner() + "; do " + inner() + "; break; done"
	case 19:
		return "IFS= read -r l < <(" + inner() + ")"
	case 20:
		return "f() { " + inner() + "; }; " + g.pick("f", "unset -f f; f", "(f)", "f | f", "bash -c f", "env f")
	case 21:
		return "x=" + g.word(1) + "; " + simple
	case 22:
		return fmt.Sprintf("set -%s; %s", g.pick("e", "u", "x", "o pipefail", "o history", "- a b"), inner())
	}
	return simple
}

func (g generator) redirect() string {
	return g.pick("", "", "", "", " > out", " 2>&1", " >/dev/null", " < out", " > $x", " > \"$(curl x)\"", " <<< \"$(ok)\"", " <<< '$(curl x)'", " 2>/dev/null", " >&echo")
}
