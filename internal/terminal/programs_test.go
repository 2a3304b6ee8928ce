package terminal_test

import (
	"testing"

	"github.com/toolgate/toolgate/internal/terminal"
)

// TestProgramsThatRunOthers holds, side by side, ordinary uses of a program
// under a bare rule for it, and uses that run or write something else.
func TestProgramsThatRunOthers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule         string
		fine, others []string
	}{
		{
			"sed",
			[]string{`sed -i s/a/b/ f`, `sed -n '/[a-z]/p' f`, `sed '1!G;h;$!d' f`, `sed -E 's/(a|b)+/\1/g; s|x|y|' f`, `sed -e p -e '$d' f`},
			[]string{
				`sed -i 'w x' f`, `sed 's/a/b/e'`, `sed 's/a/b/w x'`, `sed '1e id'`, `sed 's/[^]/]/;w x' f`, "sed 'a\\\nx'", `sed -f x f`, `sed --fil=x f`,
				`sed --expression='w x' f`, `sed --line-length 5 'w x' f`, `sed "$x" f`, `sed 'r /etc/x' f`,
			},
		},
		{
			"awk",
			[]string{
				`awk -F, '{print $2}' f`, `awk '/a|b/ {print}' f`, `awk '$3 ~ /a|b/ || NR>1 {c[$1]++} END {for (k in c) print k, c[k]/2}' f`,
				`awk -v n="$n" 'NR==n' f`, `awk '{ if ($1 > 3) print $2 }' f`, `awk '{print "a > b | c"}' f`,
			},
			[]string{
				`awk 'BEGIN{system("x")}'`, `awk '{print > "f"}'`, "awk '{print $1,\n$2 > \"f\"}'", `awk '{print | "sh"}'`, `awk '"sh" | getline'`,
				`awk '{ if (1) /"/; print 1 > "f" } # "'`, `awk '/[]/"]/ {print 1 > "x"} # "'`, `awk --field-separator , 'BEGIN{system("x")}'`,
				`awk -f x`, `awk -i x '{}'`, `awk "NR==$n" f`, `awk -F , 'BEGIN{system("x")}'`,
			},
		},
		{
			"git",
			[]string{
				`git -C sub log -5 --format=%H`, `git --no-pager grep -n x`, `git config --get user.name`, `git commit -am "$m"`, `git add -- "$f"`,
				`git submodule foreach git status`, `git log --oneline -S foo`, `git fetch --update-head-ok`,
			},
			[]string{
				`git -c alias.p='!x' p`, `git p`, `git config core.pager x`, `git grep -inOx a`, `git rebase -ix id`, `git diff --ext-diff`, `git diff --out=x`,
				`git clone --upload-pac=x .`, `git clone ext::x`, `git clone -c core.pager=x .`, `git -p log`, `git "$x"`, `git log "$x"`, `git submodule foreach 'curl x'`,
				`git bisect run curl x`, `git --exec-path=. log`, `git init --template=x`,
			},
		},
		{"git config", []string{`git config --list`}, []string{`git config core.pager x`, `git config --global alias.a '!x'`}},
		{"git config user.name", []string{`git config user.name x`}, []string{`git config core.pager x`}},
		{"find", []string{`find . -name '*.go' -print0`, `find . -name "$x"`, `find a -exec true {} +`}, []string{
			`find . -delete`, `find . -fprintf x y`, `find . -exec {} \;`, `find . -exec $x \;`, `find $x`, `find . -ok curl {} \;`,
		}},
		{"tar", []string{`tar czf a.tgz -C x .`, `tar --checkpoint -xf a`}, []string{
			`tar cIf x a`, `tar -xIx -f a`, `tar xf a --to-com=x`, `tar --checkpoint-action=exec=x -cf a b`, `tar xf host:a`, `tar -xf host:a`, `tar xf a "$x"`,
		}},
		{"go", []string{`go build -ldflags '-s -w -X a=b' .`, `go test -run X ./...`}, []string{
			`go build -toolexec=x .`, `go build --toolexec x .`, `go test -exec x`, `go vet -vettool=x`, `go build -ldflags=-extld=x`, `go build -ldflags "$x"`,
		}},
		{"make", []string{`make -j4 all`, `make -C sub CC=gcc`}, []string{
			`make -f - <<< x`, `make -f <(echo x)`, `make -f /dev/stdin`, `make --eval=x`, `make SHELL=x`, `make X='$(shell x)'`, `make "$x"`,
		}},
		{"python3", []string{`python3 x.py -c "$y"`, `python3 -m pytest -c x`, `python3 --version`}, []string{
			`python3 -c x`, `python3 -Ec x`, `python3`, `python3 -`, `python3 /dev/stdin`, `echo x | python3`, `python3 -W ignore`, `python3 -i x.py`,
		}},
		{"perl", []string{`perl x.pl -e`}, []string{`perl -e x`, `perl -lne x`, `perl -l -e x`, `perl -Mx y`, `perl`}},
		{"node", []string{`node x.js --eval`, `node --version`}, []string{`node -e x`, `node --eval x`, `node --ev=x`, `node -r x y`, `node`}},
		{"sort", []string{`sort -t, -k2,2n a`}, []string{`sort -uo x a`, `sort --output=x`, `sort --comp=x a`, `sort "$x"`}},
		{"ssh", []string{`ssh -p 22 -o BatchMode=yes h ls -o x`}, []string{`ssh -oProxyCommand=x h`, `ssh -vo LocalCommand=x h`, `ssh -F x h`, `ssh "$x"`}},
		{"vim", []string{`vim x`}, []string{`vim -c x`, `vim +x y`, `vim --cmd x`, `vim x < y`, `{ vim x; } < y`, `vim -S x`}},
		{"sqlite3", []string{`sqlite3 db 'select 1'`}, []string{`sqlite3 db '.shell x'`, `sqlite3 db < x`, `sqlite3 -cmd x db`}},
		{"less", []string{`less x`}, []string{`less '+!x' y`, `less -k x y`}},
		{"parallel", nil, []string{`parallel x`, `parallel`}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			j := judge(t, terminal.ModeAllowlist, c.rule, "git status", "echo")
			for _, s := range c.fine {
				if v := j.Judge(s); !permits(v) {
					t.Errorf("refused: %s\n%s %s", s, v.Reason, v.Detail)
				}
			}
			for _, s := range c.others {
				if v := j.Judge(s); permits(v) {
					t.Errorf("permitted: %s", s)
				}
			}
		})
	}
}

// TestRuleThatSpellsItOut holds that a rule permits what it names word by word,
// and nothing more.
func TestRuleThatSpellsItOut(t *testing.T) {
	t.Parallel()
	j := judge(t, terminal.ModeAllowlist, "find . -delete $", "python3 -c 1", "git rebase -x true", "tar *")
	for s, want := range map[string]bool{
		`find . -delete`: true, `find . -name x -delete`: false, `python3 -c 1`: true, `python3 -c 2`: false,
		`git rebase -x true`: true, `git rebase -x false`: false, `tar -Ix`: false,
	} {
		if v := j.Judge(s); permits(v) != want {
			t.Errorf("%s: %s %s", s, v.Reason, v.Detail)
		}
	}
}

// TestFolders holds what a change of folder does to relative paths.
func TestFolders(t *testing.T) {
	t.Parallel()
	j := judge(t, terminal.ModeAllowlist, "ls", "./run.sh", "source", "env")
	for s, want := range map[string]bool{
		`ls > out`: true, `cd sub && ls > out`: true, `cd /tmp/x && ls > out`: true, `(cd /etc); ls > out`: true, `ls > /tmp/out`: true,
		`cd /etc && ls > out`: false, `cd .. && ls > out`: false, `cd "$d" && ls > out`: false, `cd && ls > out`: false, `cd .git && ls > hooks/x`: false,
		`ls > out; cd ..`: false, `f() { ls > out; }; (cd /etc; f)`: false, `bash -c 'cd /etc; ls > out'`: false, `source x; ls > out`: false,
		`./run.sh`: true, `cd sub && ./run.sh`: false, `(cd sub); ./run.sh`: true, `env -C sub ./run.sh`: false,
	} {
		if v := j.Judge(s); permits(v) != want {
			t.Errorf("%s: %s %s", s, v.Reason, v.Detail)
		}
	}
}
