package terminal

import "strings"

// gitGlobals are the options of git before its subcommand (git(1)): those that
// take a value in the next word, and those without a value.
const (
	gitValues = " -C --git-dir --work-tree --namespace --super-prefix --attr-source "
	gitFlags  = " -P --no-pager --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-advice --no-lazy-fetch "
)

// gitSubcommand skips the options before the subcommand. bad is one that can
// run other programs, or that is not known.
func gitSubcommand(args []arg) (at int, bad int) {
	for i := 1; i < len(args); i++ {
		a := &args[i]
		switch {
		case !a.known && (a.many || a.mayBeOption()):
			return i, i
		case !a.known || !strings.HasPrefix(a.text, "-"):
			return i, 0
		case strings.Contains(gitFlags, " "+a.text+" "):
		case strings.Contains(gitValues, " "+a.text+" "):
			i++
			if i < len(args) && args[i].many {
				return i, i
			}
		case gitAttached(a.text):
		default:
			return i, i
		}
	}
	return len(args), 0
}

// gitAttached reports --git-dir=path and its like.
func gitAttached(s string) bool {
	name, _, has := strings.Cut(s, "=")
	return has && strings.Contains(gitValues, " "+name+" ")
}

// withoutGlobals returns a git command without the options that stand before
// its subcommand, so that "git push" also matches git -C dir push; nil for any
// other command.
func (w *walk) withoutGlobals(c *command) []arg {
	_, base, _ := cutLast(c.args[0].text, "/")
	if base != "git" || len(c.args) < 2 {
		return nil
	}
	at, bad := gitSubcommand(c.args)
	if bad > 0 && !w.strict {
		at = gitSkipAny(c.args)
	} else if bad > 0 {
		return nil
	}
	if at <= 1 || at >= len(c.args) {
		return nil
	}
	return append([]arg{c.args[0]}, c.args[at:]...)
}

// gitSkipAny finds the subcommand behind any options, for the block list.
func gitSkipAny(args []arg) int {
	for i := 1; i < len(args); i++ {
		text := args[i].text
		if !args[i].known || !strings.HasPrefix(text, "-") {
			return i
		}
		if text == "-c" || text == "--config-env" || text == "--exec-path" || strings.Contains(gitValues, " "+text+" ") {
			i++
		}
	}
	return len(args)
}

// gitKnown are the subcommands of git that are no alias and no program of
// their own, so that a bare rule for git can speak of them.
const gitKnown = " add am annotate apply archive bisect blame branch bundle cat-file check-attr check-ignore check-mailmap check-ref-format checkout " +
	"checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config count-objects describe diff difftool diff-files diff-index " +
	"diff-tree fetch fmt-merge-msg for-each-ref format-patch fsck gc grep hash-object help index-pack init log ls-files ls-remote ls-tree " +
	"mailinfo mailsplit maintenance merge mergetool merge-base merge-file merge-index merge-tree mktag mktree mv name-rev notes pack-objects pack-refs patch-id prune " +
	"pull push range-diff read-tree rebase reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog show " +
	"show-branch show-index show-ref sparse-checkout stash status stripspace submodule switch symbolic-ref tag unpack-file unpack-objects update-index update-ref " +
	"update-server-info var verify-commit verify-pack verify-tag version whatchanged worktree write-tree "

// gitOptions are the long options that run a program or write a file, in any
// subcommand; gitSubs adds what belongs to one.
const gitOptions = " upload-pack receive-pack exec open-files-in-pager output ext-diff "

// gitSub is what one subcommand has beside that: long options, one-letter ones,
// and letters that take a value, which ends a cluster.
type gitSub struct{ long, short, stop string }

//nolint:gochecknoglobals // a constant table
var gitSubs = map[string]gitSub{
	"clone":     {long: " template config ", short: "uc", stop: "boj"},
	"init":      {long: " template "},
	"ls-remote": {short: "u", stop: "o"},
	"grep":      {short: "O", stop: "efmABC"},
	"rebase":    {short: "x", stop: "sXC"},
	"difftool":  {long: " extcmd tool ", short: "xt"},
	"mergetool": {long: " tool ", short: "t"},
	"archive":   {short: "o"},
	"am":        {},
}

// gitHazards looks for what makes git run other programs.
func gitHazards(c *command, h *hazard) {
	at, bad := gitSubcommand(c.args)
	if bad > 0 {
		if !c.args[bad].known {
			h.unclear(&c.args[bad])
			return
		}
		h.add(c.args[bad].text, min(bad+1, len(c.args)-1))
		return
	}
	if at >= len(c.args) {
		return
	}
	sub := c.args[at].text
	switch {
	case !c.args[at].known:
		h.unclear(&c.args[at])
		return
	case !strings.Contains(gitKnown, " "+sub+" "):
		h.add(sub, at) // an alias, or a program of that name: git-sub
	case sub == "config" && !gitConfigReads(c.args[at+1:]):
		key := at
		for key+1 < len(c.args) && strings.HasPrefix(c.args[key+1].text, "-") {
			key++
		}
		h.add(sub, min(key+1, len(c.args)-1)) // the rule has to name what is set
	}
	gitArguments(c, at, h)
}

func gitArguments(c *command, at int, h *hazard) {
	known := gitSubs[c.args[at].text]
	for i := at + 1; i < len(c.args); i++ {
		a := &c.args[i]
		last := min(i+1, len(c.args)-1)
		switch {
		case a.is("--") && (i == at+1 || !c.args[i-1].mayBeOption()): // else it may be a value
			return
		case strings.HasPrefix(a.text, "ext::") || strings.HasPrefix(a.text, "fd::"):
			h.add(a.String(), last)
		case a.unknownOption() && !gitValue(c.args, at, i):
			h.unclear(a)
		case strings.HasPrefix(a.text, "--"):
			name, _, _ := strings.Cut(a.text[2:], "=")
			if name != "" && strings.Contains(gitOptions+known.long, " "+name) {
				h.add(a.String(), last)
			}
		case len(a.text) > 1 && a.text[0] == '-' && known.reaches(a.text[1:]):
			h.add(a.String(), last)
		}
	}
}

// gitValue reports whether a word that is not known is the value of a known
// option: --name=$x, or the message after -m.
func gitValue(args []arg, at, i int) bool {
	a := &args[i]
	if a.many {
		return false
	}
	if strings.HasPrefix(a.text, "--") {
		return strings.Contains(a.text, "=")
	}
	switch args[at].text {
	case "commit", "tag":
		before := &args[i-1]
		return before.is("-m") || before.is("-am") || before.is("--message")
	}
	return false
}

// reaches reports whether a cluster of one-letter options holds one that runs a
// program, before a letter that takes a value.
func (g *gitSub) reaches(cluster string) bool {
	for i := range len(cluster) {
		switch c := cluster[i]; {
		case strings.IndexByte(g.short, c) >= 0:
			return true
		case strings.IndexByte(g.stop, c) >= 0:
			return false
		}
	}
	return false
}

// gitConfigReads reports the forms of git config that change nothing.
func gitConfigReads(args []arg) bool {
	for i := range args {
		switch args[i].text {
		case "get", "list", "--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch":
			return args[i].known
		}
	}
	return false
}

// gitInner judges the code that git submodule foreach and git bisect run give
// to a shell.
func (w *walk) gitInner(c *command) {
	at := gitSkipAny(c.args)
	rest := c.args[min(at, len(c.args)):]
	if len(rest) < 2 {
		return
	}
	switch {
	case rest[0].is("submodule"):
		i := 1
		for i < len(rest) && (rest[i].is("--quiet") || rest[i].is("-q")) {
			i++
		}
		if i >= len(rest) || !rest[i].is("foreach") {
			return
		}
		rest = rest[i+1:]
		for len(rest) > 0 && (rest[0].is("--recursive") || rest[0].is("--quiet") || rest[0].is("-q") || rest[0].is("--")) {
			rest = rest[1:]
		}
		switch len(rest) {
		case 0:
		case 1:
			w.joined(c, rest)
		default:
			w.innerCommand(c, rest)
		}
	case rest[0].is("bisect") && rest[1].is("run"):
		w.innerCommand(c, rest[2:])
	}
}
