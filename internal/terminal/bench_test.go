package terminal_test

import (
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/terminal"
)

func BenchmarkJudge(b *testing.B) {
	j := judge(b, terminal.ModeAllowlist, developer()...)
	for _, c := range []struct{ name, script string }{
		{"simple", `git status --short`},
		{"ten-word pipeline", `git log --oneline | grep -v wip | sort -u | head`},
		{"pipeline with a substitution", `git log --oneline "$(git rev-parse HEAD)" | grep -v wip | head`},
		{"code string", `timeout 30 bash -c 'cd x && git status'`},
		{"thousand commands", strings.Repeat("git status\n", 1000)},
		{"64 KiB of brackets", strings.Repeat("(", 64<<10)},
		{"64 KiB of one word", "echo " + strings.Repeat("a", 64<<10-5)},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				j.Judge(c.script)
			}
		})
	}
}
