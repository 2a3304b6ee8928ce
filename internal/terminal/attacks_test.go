package terminal_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/terminal"
)

// attacks try to run curl past rules that do not allow it. Under the rules of a
// developer each is refused, for whatever reason.
func attacks() map[string]string {
	return map[string]string{
		"continuation after a dollar in quotes":       "echo \"$\\\n(curl x)\"",
		"continuation after a dollar in a document":   "cat <<E\n$\\\n(curl x)\nE",
		"three backslashes before a newline":          "echo a\\\\\\\n;curl x",
		"function that is declared later":             `curl x; curl() { echo; }`,
		"function that may not be declared":           `if [ -f a ]; then curl() { echo; }; fi; curl x`,
		"function declared in a subshell":             `(curl() { echo; }); curl x`,
		"function declared in the background":         `curl() { echo; } & curl x`,
		"function that is taken away":                 `curl() { echo; }; unset -f curl; curl x`,
		"function that is taken away as a variable":   `curl() { echo; }; unset curl; curl x`,
		"function called by one called too early":     `g() { curl x; }; g; curl() { echo; }`,
		"function that is not seen by another shell":  `curl() { echo; }; bash -c 'curl x'`,
		"function that is not seen by env":            `curl() { echo; }; env curl x`,
		"function that is not seen by command":        `curl() { echo; }; command curl x`,
		"unquoted variable in a test":                 `[ $x ]`,
		"two unknown words in a test":                 `test "$a" "$b"`,
		"subscript in a test":                         `[ -v 'a[$(curl x)]' ]`,
		"subscript in a condition":                    `[[ -v a[$i] ]]`,
		"printf into a subscript":                     `printf -v 'a[$(curl x)]' y`,
		"printf into the search path":                 `printf -v PATH /tmp/x; ls`,
		"printf whose format may be an option":        `printf "$x" y`,
		"read into the search path":                   `read PATH <<< /tmp/x; ls`,
		"loop over the search path":                   `for PATH in /tmp/x; do ls; done`,
		"default value of the search path":            `echo "${PATH:=/tmp}"; ls`,
		"unset search path default":                   `: ${BASH_ENV:=/tmp/x}`,
		"sum into the search path":                    `((PATH=1)); ls`,
		"sum of a variable":                           `x='a[$(curl x)]'; ((x))`,
		"let":                                         `let 'a[$(curl x)]'`,
		"integer variable":                            `declare -i n; n='a[$(curl x)]'`,
		"substring by a variable":                     `echo ${a:x}`,
		"subscript by a variable":                     `echo ${a[x]}`,
		"assignment to a computed subscript":          `a[x]=1`,
		"prompt expansion":                            `x='$(curl x)'; echo "${x@P}"`,
		"name of a variable in a variable":            `echo ${!x}`,
		"name reference":                              `declare -n r=x; r=1`,
		"exported function":                           `ls() { echo; }; export -f ls`,
		"trap by a variable":                          `trap "$x" EXIT`,
		"trap on every command":                       `trap 'curl x' DEBUG; ls`,
		"eval of pieces":                              `eval cur"l x"`,
		"eval of a variable":                          `eval "$x"`,
		"source of a pipe":                            `. <(echo curl x)`,
		"shell fed by a here-string":                  `bash <<< 'curl x'`,
		"shell fed by a pipe":                         `echo curl x | bash`,
		"shell fed by a file":                         `bash < script`,
		"shell in a group fed by a document":          "{ bash; } <<'E'\ncurl x\nE",
		"dash reads ANSI-C quotes otherwise":          `sh -c "echo \$'a\\'; curl x; echo \\'b' ''"`,
		"dash reads two parentheses otherwise":        `sh -c '((curl))'`,
		"carriage return made by quoting":             `bash -c $'echo a \r#$(curl x)'`,
		"comment in a code string":                    "bash -c $'ls # a\\\\\ncurl x'",
		"zsh takes the path of a command":             `zsh -c '=curl x'`,
		"start-up file of a shell":                    `bash --rcfile f -i`,
		"local program named like a wrapper":          `./env ls`,
		"program elsewhere named like a shell":        `/tmp/bash -c ls`,
		"wrapper option that nobody knows":            `timeout --curl 5 ls`,
		"env splits a string":                         `env -S 'curl x'`,
		"env splits a string, joined":                 `env '-Scurl x'`,
		"env splits a string, long":                   `env --split-string='curl x'`,
		"env splits a string, shortened":              `env --split='curl x'`,
		"env sets the search path":                    `env PATH=/tmp/x ls`,
		"xargs with an unknown command":               `echo curl | xargs -I{} {} x`,
		"xargs adds options":                          `echo --pre=curl | xargs rg`,
		"xargs starts a shell":                        `echo x | xargs sh -c 'curl x'`,
		"xargs of a variable":                         `echo | xargs $x`,
		"find starts an unknown command":              `find . -exec $x \;`,
		"find starts two commands":                    `find . -exec ls {} \; -exec curl x \;`,
		"find with okdir":                             `find . -okdir curl x \;`,
		"find that may have more actions":             `find . $x`,
		"find writes":                                 `find . -fls out`,
		"time and two dashes":                         `time -- curl x`,
		"coprocess":                                   `coproc curl x`,
		"alias":                                       "shopt -s expand_aliases\nalias ls='curl x'\nls",
		"name by a glob":                              `/usr/bin/c?rl x`,
		"name by braces":                              `{curl,x}`,
		"name by a tilde":                             `~/curl x`,
		"empty word before the name":                  `$x curl y`,
		"options by a glob":                           `rg *`,
		"options by braces":                           `rg {--pre=curl,x}`,
		"options by an array":                         `rg "${a[@]}" src`,
		"option shortened":                            `sort --comp=curl f`,
		"option shortened more":                       `tar xf a --to-c=curl`,
		"option in a cluster":                         `tar -xIcurl -f a`,
		"old-style tar cluster":                       `tar xIf curl a.tar`,
		"tar checkpoint":                              `tar cf a b --checkpoint=1 --checkpoint-action=exec=curl`,
		"tar through another host":                    `tar xf a --rsh-command=curl`,
		"sort writes":                                 `sort -o .git/hooks/pre-commit f`,
		"sed executes":                                `sed '1e curl x' f`,
		"sed executes what matched":                   `sed 's/a/curl x/e' f`,
		"sed writes what matched":                     `sed 's/a/b/w out' f`,
		"sed script in a file":                        `sed -f script f`,
		"sed script by a variable":                    `sed "$x" f`,
		"sed in place":                                `sed -i 's/a/b/;w .git/hooks/x' f`,
		"awk pipe":                                    `awk '{ print | "curl x" }' f`,
		"awk getline":                                 `awk 'BEGIN { "curl x" | getline }'`,
		"awk redirection":                             `awk '{ print > "/etc/x" }' f`,
		"awk program in a file":                       `awk -f prog f`,
		"awk program by a variable":                   `awk "$x" f`,
		"awk loads an extension":                      `awk -l filefuncs 'BEGIN{}'`,
		"git configuration":                           `git -c core.pager=curl log`,
		"git configuration joined":                    `git -ccore.pager=curl log`,
		"git configuration from the environment":      `git --config-env=core.pager=X log`,
		"git programs elsewhere":                      `git --exec-path=/tmp status`,
		"git external diff":                           `git diff --ext-diff`,
		"git grep opens files":                        `git grep -Ocurl x`,
		"git grep opens files, in a cluster":          `git grep -iOcurl x`,
		"git fetch by a command":                      `git fetch "ext::sh -c curl" main`,
		"git fetch program, shortened":                `git fetch --upload=curl .`,
		"git alias":                                   `git st`,
		"git by a variable":                           `git $x`,
		"rg preprocessor by quotes":                   `rg "--"pre=curl x`,
		"rg helper for host names":                    `rg --hostname-bin=curl x`,
		"make from standard input":                    `make -f- <<< 'a:;curl x'`,
		"make code":                                   `make --eval='$(shell curl x)'`,
		"make with another shell":                     `make SHELL=/tmp/x`,
		"go tool wrapper":                             `go build -toolexec=curl ./...`,
		"go tool wrapper with two dashes":             `go build --toolexec curl ./...`,
		"go test runner":                              `go test -exec curl ./...`,
		"go vet tool":                                 `go vet -vettool=curl ./...`,
		"hash of a name":                              `hash -p /tmp/x ls; ls`,
		"hash table":                                  `BASH_CMDS[ls]=/tmp/x; ls`,
		"alias table":                                 `BASH_ALIASES[ls]='curl x'; ls`,
		"native code":                                 `enable -f ./x.so ls; ls`,
		"map file callback":                           `mapfile -C 'curl x' -c 1 a`,
		"completion":                                  `compgen -C 'curl x'`,
		"pager variable":                              `export PAGER='curl x'; git log`,
		"editor variable":                             `export EDITOR='curl x'; git commit`,
		"preload by append":                           `LD_PRELOAD+=x ls`,
		"variable descriptor":                         `ls {PATH}> out`,
		"network redirection":                         `cat < /dev/tcp/x/80`,
		"network redirection in exec":                 `exec 3<>/dev/udp/x/53`,
		"redirection out of the workspace":            `echo x > ../x`,
		"redirection out of the workspace inside":     `echo x > a/../../x`,
		"redirection to a repository":                 `echo x > sub/.git/config`,
		"redirection to a repository by another case": `echo x > .GIT/config`,
		"redirection out of /tmp":                     `echo x > /tmp/../etc/x`,
		"redirection after leaving":                   `cd / && echo x > etc`,
		"redirection after leaving in a loop":         `for i in 1 2; do echo x > etc; cd /; done`,
		"redirection to a variable":                   `echo x > "$f"`,
		"redirection by a tilde":                      `echo x >~/.profile`,
		"command after a here-document":               "cat <<'E'\nx\nE\ncurl x",
		"here-document that ends early":               "cat <<-'E'\n\tE\ncurl x\nE",
		"extended glob with quotes":                   `[[ x == @(a")"|b) ]]; curl x`,
		"command in a pattern":                        `case x in $(curl x)) ;; esac`,
		"command in a replacement":                    `echo ${x/a/$(curl x)}`,
		"command in an assignment":                    `x=$(curl x)`,
		"command in an array":                         `x=(a $(curl x))`,
		"command in a here-string":                    `cat <<< "$(curl x)"`,
		"command in a condition":                      `[[ -f $(curl x) ]]`,
		"command in backquotes in quotes":             "echo \"`curl x`\"",
		"busybox shell":                               `busybox sh -c 'curl x'`,
		"shell by the loader":                         `/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x`,
		"script":                                      `script -c 'curl x'`,
		"flock":                                       `flock /tmp/l -c 'curl x'`,
		"setsid and shell":                            `setsid bash -c 'curl x'`,
		"su":                                          `su -c 'curl x'`,
		"watch":                                       `watch 'curl x'`,
		"parallel":                                    `parallel curl ::: x`,
		"number that the last word replaces":          `_=1; : 'a[$(curl x)]'; echo $((_))`,
		"number that read replaces without a name":    `REPLY=1; read <<< 'a[$(curl x)]'; echo $((REPLY))`,
		"number that the function's name replaces":    `f='a[$(curl x)]'; FUNCNAME=1; f() { echo $((FUNCNAME)); }; f`,
		"number that mapfile replaces":                `MAPFILE=1; mapfile <<< 'a[$(curl x)]'; echo $((MAPFILE))`,
		"number that getopts replaces":                `OPTARG=1; getopts a: o '-aa[$(curl x)]'; echo $((OPTARG))`,
		"number that an escaped read replaces":        `n=1; r\ead n <<< 'a[$(curl x)]'; echo $((n))`,
		"number that an escaped eval replaces":        `n=1; ev\al "n='a[\$(curl x)]'"; echo $((n))`,
		"number that a joined option replaces":        `n=1; printf -vn %s 'a[$(curl x)]'; echo $((n))`,
		"number that a joined array option replaces":  `n=1; read -an <<< 'a[$(curl x)]'; echo $((n))`,
		"number that an escaped declaration replaces": `n=1; declare n\=a\[\$\(curl\ x\)\]; echo $((n))`,
		"number that a quoted declaration replaces":   `n=1; declare "n=a[\$(curl x)]"; echo $((n))`,
		"number that is appended to":                  `n=1; n+='a[$(curl x)]'; echo $((n))`,
		"number set in a subshell only":               `(n=1); echo $((n))`,
		"number set at the end of a pipe only":        `: | n=1; echo $((n))`,
		"number set perhaps":                          `false && n=1; echo $((n))`,
		"number set in a function that never ran":     `f() { n=1; }; echo $((n))`,
		"number set in the background":                `n=1 & echo $((n))`,
		"number in the environment of one command":    `n=1 ls; echo $((n))`,
		"operand of a wrapper that may be several":    `timeout -- $x ls`,
		"operand of nice that may be several":         `nice -n $x ls`,
		"variable for env that may be several":        `env LANG=$x ls`,
		"python here-document":                        "python3 - <<'E'\nimport os\nE",
	}
}

func TestAttacksAreRefused(t *testing.T) {
	t.Parallel()
	j := judge(t, terminal.ModeAllowlist, developer()...)
	for name, script := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v := j.Judge(script); permits(v) {
				t.Errorf("permitted: %s", script)
			}
		})
	}
}

// TestSpellings holds each spelling of one command to one verdict.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for name, spellings := range map[string][]string{
		"plain": {
			`curl x`, `c\url x`, `'cu'rl x`, `"curl" x`, `""curl x`, `$'\x63url' x`, `$'c\165rl' x`, "cu\\\nrl x", `curl 'x'`, "curl\tx", "\n\n  curl x\n", `curl "x"; :`,
			`{ curl x; }`, `(curl x)`, `! curl x`, `time curl x`, `if curl x; then :; fi`, `while curl x; do :; done`, `for i in 1; do curl x; done`,
			`case a in a) curl x;; esac`, `f() { curl x; }; f`, `: "$(curl x)"`, ": `curl x`", `: <(curl x)`, `x=$(curl x)`, `: ${a:-$(curl x)}`,
			"cat <<E\n$(curl x)\nE", `cat <<< "$(curl x)"`, `true && curl x`, `false || curl x`, `: | curl x`, `curl x &`, `curl x > /dev/null`, `>/dev/null curl x`,
			`/usr/bin/curl x`,
		},
		"wrapped": {
			`env curl x`, `env -i A=1 curl x`, `env -u A curl x`, `env -S 'curl x'`, `nice curl x`, `nice -n 5 curl x`, `nice -5 curl x`, `nohup curl x`, `timeout 5 curl x`,
			`timeout -k 1 5 curl x`, `timeout --signal=KILL 5s curl x`, `setsid curl x`, `stdbuf -oL curl x`, `stdbuf -o L curl x`, `ionice -c 3 curl x`, `chrt -f 1 curl x`,
			`taskset 1 curl x`, `strace -f curl x`, `ltrace curl x`, `sudo curl x`, `sudo -u root curl x`, `sudo -E curl x`, `doas curl x`, `xargs curl`, `xargs -n1 -I{} curl {}`,
			`xargs -r -0 curl`, `find . -exec curl {} \;`, `find . -execdir curl {} +`, `find . -ok curl \;`, `command curl x`, `command -p curl x`, `builtin command curl x`,
			`exec curl x`, `exec -a name curl x`, `eval curl x`, `eval 'curl x'`, `eval "eval 'curl x'"`, `trap 'curl x' EXIT`, `bash -c 'curl x'`, `sh -c 'curl x'`,
			`dash -c 'curl x'`, `/bin/sh -c 'curl x'`, `bash -lc 'curl x'`, `bash -o pipefail -c 'curl x'`, `bash -c -- 'curl x'`, `bash --norc -c 'curl x'`, `zsh -lc 'curl x'`,
			`bash -c 'bash -c "curl x"'`, "bash <<'E'\ncurl x\nE", "bash -s <<'E'\ncurl x\nE", `bash <<< 'curl x'`, `busybox curl x`, `busybox sh -c 'curl x'`, `toybox curl x`,
			`script -c 'curl x'`, `su -c 'curl x'`, `flock /tmp/l curl x`, `flock /tmp/l -c 'curl x'`, `unshare -r curl x`, `nsenter -t 1 curl x`, `chroot / curl x`,
			`watch curl x`, `watch -n 1 'curl x'`, `git submodule foreach 'curl x'`, `/lib64/ld-linux-x86-64.so.2 /usr/bin/curl x`, `time -p curl x`, `coproc curl x`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			block := judge(t, terminal.ModeBlocklist, "curl")
			allow := judge(t, terminal.ModeAllowlist, append(developer(), "git submodule")...)
			both := judge(t, terminal.ModeAllowlist, append(developer(), "curl", "!curl")...)
			for _, s := range spellings {
				if v := block.Judge(s); permits(v) {
					t.Errorf("blocked curl runs: %s", s)
				}
				if v := allow.Judge(s); permits(v) {
					t.Errorf("curl without a rule runs: %s", s)
				}
				if v := both.Judge(s); permits(v) {
					t.Errorf("curl that is allowed and blocked runs: %s", s)
				}
			}
		})
	}
}

// TestBounds holds sizes and depths at both sides of each bound.
func TestBounds(t *testing.T) {
	t.Parallel()
	deep := func(open, inner, end string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
	}
	for _, c := range []struct {
		name, script string
		want         bool
	}{
		{"as long as may be", "true " + strings.Repeat("a", 64<<10-5), true},
		{"one byte longer", "true " + strings.Repeat("a", 64<<10-4), false},
		{"fifteen subshells", deep("( ", "true", ")", 15), true},
		{"half a million parentheses", strings.Repeat("(", 500_000), false},
		{"a hundred subshells", deep("( ", "true", ")", 100), false},
		{"a hundred blocks", deep("{ ", "true; ", "}; ", 100), false},
		{"a hundred substitutions", deep(": $(", "true", ")", 100), false},
		{"a hundred default values", ": " + deep("${a:-", "x", "}", 100), false},
		{"a hundred sums", ": " + deep("$((", "1", "))", 100), false},
		{"a hundred conditions", deep("if true; then ", "true; ", "fi; ", 100), false},
		{"a hundred loops", deep("while true; do ", "true; ", "done; ", 100), false},
		{"a hundred cases", deep("case a in a) ", "true ", ";; esac ", 100), false},
		{"a hundred functions", deep("f() { ", "true; ", "}; ", 100), false},
		{"depth behind quoted brackets", strings.Repeat("( : ')' ;", 100) + "true" + strings.Repeat(")", 100), false},
		{"depth behind comments", strings.Repeat("( #)\n", 100) + "true" + strings.Repeat(")", 100), false},
		{"a long list", strings.TrimSuffix(strings.Repeat("true && ", 5000), "&& "), true},
		{"a long pipeline", strings.TrimSuffix(strings.Repeat("true | ", 5000), "| "), true},
		{"many commands", strings.Repeat("true\n", 5000), true},
		{"a long sum", ": $((" + strings.Repeat("1+", 20_000) + "1))", true},
		{"many negations", "[[ " + strings.Repeat("! ", 30_000) + "a ]]", false},
		{"many functions in one", strings.Repeat("f()", 20_000) + "{ true; }", false},
		{"many times time", strings.Repeat("time ", 13_000) + "true", false},
		{"wrappers in wrappers", strings.Repeat("nice ", 10) + "true", true},
		{"too many wrappers in wrappers", strings.Repeat("xargs ", 10_000) + "true", false},
		{"too many strings for env", strings.Repeat("env -S ", 8_000) + "true", false},
		{"functions that call one another", chain(1000), true},
		{"many brackets side by side", strings.Repeat("(true);", 1000), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []terminal.Mode{terminal.ModeAllowlist, terminal.ModeBlocklist} {
				if v := judge(t, mode, "none").Judge(c.script); permits(v) != c.want {
					t.Errorf("mode %s: %s %.80s, want permitted: %v", mode, v.Reason, v.Detail, c.want)
				}
			}
		})
	}
}

// chain declares n functions, each of which calls the one before, and calls the
// last one n times.
func chain(n int) string {
	var b strings.Builder
	b.WriteString("f0() { true; }\n")
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, "f%d() { f%d; }\n", i, i-1)
	}
	b.WriteString(strings.Repeat(fmt.Sprintf("f%d\n", n-1), n))
	return b.String()
}
