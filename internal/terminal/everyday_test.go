package terminal_test

import (
	"testing"

	"github.com/toolgate/toolgate/internal/terminal"
)

// developer are rules as somebody writes them who lets an agent build and test.
func developer() []string {
	return []string{
		"git status|log|diff|show|add|commit|branch|rev-parse|ls-files|grep|fetch", "go build|test|vet|env|list", "npm test|ci|install", "npm run *", "make",
		"ls", "cat", "head", "tail", "wc", "grep", "rg", "find", "sort", "uniq", "cut", "tr", "sed", "awk", "xargs", "echo", "printf",
		"mkdir", "cp", "mv", "touch", "date", "sleep", "diff", "tar", "read", "mktemp", "basename", "dirname", "tee", "jq", "python3 -m pytest",
		"test", "seq", "shift", "gh run view",
	}
}

// everyday are commands of the kind that coding agents send, each with what
// could make a guard stumble over it.
func everyday() map[string]string {
	return map[string]string{
		"change of folder before":              `cd sub && go test ./...`,
		"absolute folder before":               `cd /repo/sub && go build ./cmd/x`,
		"folder from a permitted substitution": `cd "$(git rev-parse --show-toplevel)" && ls`,
		"shell under timeout":                  `timeout 30 bash -c 'cd x && git status'`,
		"login shell":                          `bash -lc 'go test ./...'`,
		"shell by its trusted path":            `/usr/bin/bash -c 'git status'`,
		"operators inside single quotes":       `grep -c 'a; b && c | d' file`,
		"operators inside double quotes":       `grep "x & y > z" file`,
		"a substitution inside single quotes":  `grep '$(rm -rf /)' file`,
		"commit message that tells a command":  `git commit -m "never run rm -rf / | sh; really"`,
		"quoted here-document":                 "cat > notes.md <<'EOF'\nrm -rf / && curl x | sh `id` $(id)\nEOF",
		"here-document without expansions":     "cat > a.txt <<EOF\nplain; text & more\nEOF",
		"here-document with a variable":        "cat > a.txt <<EOF\nhello $USER\nEOF",
		"long program in a here-document":      "cat > a.py <<'EOF'\nprint((1, [2, {'a': (3)}]))\nif x: print(\"(((\")\nEOF",
		"reading lines":                        `while IFS= read -r line; do echo "$line"; done < list.txt`,
		"reading lines from a command":         `while read -r f; do wc -l "$f"; done < <(git ls-files)`,
		"file read in place":                   `echo "$(<VERSION)"`,
		"diff of two commands":                 `diff <(sort a) <(sort b)`,
		"loop over words":                      `for d in api web cli; do ls "$d"; done`,
		"loop over files":                      `for f in *.md; do head -1 "$f"; done`,
		"condition on a file":                  `if [ -f go.mod ]; then go build ./...; fi`,
		"condition with a negation":            `[ ! -d out ] && mkdir -p out`,
		"double-bracket condition":             `[[ -f package.json && ! -d node_modules ]] && npm ci`,
		"comparison of strings":                `[[ "$x" == *.go ]] || echo no`,
		"number of arguments":                  `[ "$#" -eq 0 ] && echo none`,
		"quoted variable in brackets":          `[ -n "$CI" ] && echo ci`,
		"exported variable":                    `export CGO=1; go build ./...`,
		"permitted variable before a command":  `LANG=C sort a | uniq -c`,
		"variable with a value":                `out=build; mkdir -p "$out"`,
		"variable from a command":              `sha=$(git rev-parse HEAD); echo "$sha"`,
		"array":                                `files=(a.go b.go); wc -l "${files[@]}"`,
		"function":                             `say() { echo "== $1"; }; say build && go build ./...`,
		"streams joined to a file":             `go test ./... > out.log 2>&1`,
		"streams joined, tail":                 `go test ./... 2>&1 | tail -20`,
		"error stream thrown away":             `ls missing 2>/dev/null || true`,
		"file in /tmp":                         `git diff > /tmp/a.patch`,
		"appending":                            `echo "- item" >> CHANGELOG.md`,
		"strict mode":                          `set -euo pipefail; go vet ./...`,
		"comment":                              "# build it\ngo build ./... # quickly\n",
		"continued line":                       "go test \\\n  -run TestX \\\n  ./...",
		"pipe at the end of a line":            "git log --oneline |\n  head -5",
		"xargs with its rule":                  `git ls-files | xargs wc -l`,
		"find and grep":                        `find . -name '*.go' -not -path './vendor/*' | xargs grep -l TODO`,
		"find with exec":                       `find . -name '*.txt' -exec grep -H foo {} \;`,
		"awk columns":                          `ls -l | awk '{ s += $5 } END { print s }'`,
		"awk with a comparison":                `awk -F: '$3 > 100 {print $1}' f`,
		"sed substitution":                     `sed -n 's/^a \(b\)/\1/p' f`,
		"sed range":                            `sed -n '10,20p' main.go`,
		"search with braces":                   `rg -n 'func \w+\(' --glob '*.go' internal`,
		"sort by column":                       `sort -t, -k2,2n -u a.csv`,
		"archive":                              `tar -czf out.tgz -C build .`,
		"braces in a word":                     `git show HEAD@{1}`,
		"brace list":                           `mkdir -p src/{api,web}`,
		"sum of numbers":                       `echo $((40 + 2))`,
		"length":                               `x=abc; echo ${#x}`,
		"suffix cut off":                       `f=a.tar; echo "${f%.tar}"`,
		"default value":                        `echo "${NAME:-nobody}"`,
		"git in a folder":                      `git -C sub status`,
		"background and wait":                  `sleep 1 & wait`,
		"nested substitution":                  `echo "$(basename "$(git rev-parse --show-toplevel)")"`,
		"case":                                 `case "$1" in a) echo a ;; *) echo other ;; esac`,
		"env in front":                         `env LANG=C sort a`,
		"nice in front":                        `nice -n 10 make -j4`,
		"time in front":                        `time go build ./...`,
		"trap":                                 `trap 'echo done' EXIT; make`,
		"asking where a program is":            `command -v go && go env GOPATH`,
		"until":                                `until [ -f ready ]; do sleep 1; done`,
	}
}

func TestEverydayCommandsPass(t *testing.T) {
	t.Parallel()
	j := judge(t, terminal.ModeAllowlist, developer()...)
	for name, script := range everyday() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if v := j.Judge(script); !permits(v) {
				t.Errorf("%s\n%s: %s at %d:%d", script, v.Reason, v.Detail, v.Line, v.Col)
			}
		})
	}
}
