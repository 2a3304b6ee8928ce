package terminal_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
)

// harmless are the builtins that need no rule (contracts, section 3), the ways
// to declare variables, and what is looked through: shells and wrappers that do
// nothing but run what is judged after them.
func harmless() []string {
	return []string{
		":", "true", "false", "cd", "pwd", "test", "[", "[[", "exit", "return", "break", "continue", "shift", "wait", "local", "set",
		"declare", "typeset", "export", "readonly", "command", "trap",
		"exec", "eval", "builtin", "env", "nice", "nohup", "timeout", "setsid", "stdbuf", "ionice", "chrt", "taskset", "time", "watch", "numactl", "prlimit",
		"bash", "rbash", "sh", "dash", "ash", "zsh", "ksh",
	}
}

// FuzzJudge holds what must be true of every script: no panic, the same verdict
// twice and with an explanation, nothing but harmless builtins without a rule,
// and a block that never permits.
func FuzzJudge(f *testing.F) {
	for _, c := range readLabelled(f) {
		f.Add(c.Command)
	}
	for _, script := range everyday() {
		f.Add(script)
	}
	for _, script := range attacks() {
		f.Add(script)
	}
	allow := judge(f, terminal.ModeAllowlist, developer()...)
	stricter := judge(f, terminal.ModeAllowlist, append(developer(), "!git commit", "!ls", "!rg * src", "!echo $")...)
	empty := judge(f, terminal.ModeAllowlist)
	block := judge(f, terminal.ModeBlocklist, "curl")
	blockMore := judge(f, terminal.ModeBlocklist, "curl", "ls", "git push")
	f.Fuzz(func(t *testing.T, script string) {
		v := allow.Judge(script)
		if again := allow.Judge(script); !reflect.DeepEqual(v, again) {
			t.Errorf("two verdicts: %+v and %+v", v, again)
		}
		explained := allow.Explain(script)
		if explained.Reason != v.Reason || explained.Line != v.Line || explained.Col != v.Col {
			t.Errorf("%+v is explained as %+v", v, explained)
		}
		if permits(v) && slices.ContainsFunc(explained.Commands, refusedCommand) {
			t.Errorf("permitted with a refused command: %+v", explained.Commands)
		}
		if permits(stricter.Judge(script)) && !permits(v) {
			t.Error("more blocks permit more in allowlist mode")
		}
		if permits(blockMore.Judge(script)) && !permits(block.Judge(script)) {
			t.Error("more blocks permit more in blocklist mode")
		}
		nothing := empty.Explain(script)
		if !permits(nothing) {
			return
		}
		declared := map[string]bool{}
		for _, c := range nothing.Commands {
			if len(c.Argv) > 0 && !slices.Contains(harmless(), c.Argv[0]) && !declared[c.Argv[0]] && !mentionsFunction(script, c.Argv[0]) {
				t.Errorf("%q runs without a rule: %q", c.Argv[0], script)
			}
		}
	})
}

func refusedCommand(c terminal.Command) bool { return c.Reason != decision.CommandOK }
