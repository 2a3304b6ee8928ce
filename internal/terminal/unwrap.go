package terminal

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/toolgate/toolgate/internal/decision"
)

// unwrapped is what a wrapper runs.
type unwrapped struct {
	command []arg
	assigns []arg
	code    *arg   // a script for sh
	replace string // xargs -I: what stands for the words of standard input
	options int    // how many options were read
	bad     *arg   // the word because of which it is not known
	splits  int    // how many env -S were read
}

// wrapper judges a wrapper and the command inside it.
func (w *walk) wrapper(c *command, wr *wrapper) {
	defer w.leave()
	if !w.enter(c.at) {
		return
	}
	u := wr.unwrap(c.args[1:])
	if c.args[0].is("command") && commandQuery(c.args[1:]) {
		return
	}
	if u.bad != nil || w.strict && wr.bareOnly && u.options > 0 {
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
		return
	}
	bare := len(u.command) == 0 && u.code == nil
	name := c.args[0].text
	moves := wr.split != 0 && movesFolder(c.args[1:len(c.args)-min(len(u.command), len(c.args)-1)])
	if wr.own || !w.trusted(name) || bare && !isBuiltinWrapper(name) || moves {
		w.permit(c, nil, hazard{})
	}
	if moves {
		w.left, w.moved = true, true
	}
	w.envArguments(u.assigns, c.at)
	switch {
	case u.code != nil && !u.code.known:
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
	case u.code != nil:
		w.code(u.code.text, c.at, c.in, posix, false)
	case bare && !wr.alone:
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
	case bare:
	case wr.joined:
		w.joined(c, u.command)
	default:
		inner := command{args: u.command, at: c.at, in: c.in, direct: c.direct && isBuiltinWrapper(name) && name != "exec", noFunctions: true}
		if wr.more && u.replace != "" && countsLines(c.args[1:len(c.args)-len(u.command)]) {
			w.refuse(decision.CommandUnresolvable, c.at, w.shown(c)) // which option wins is not told by the marker
		}
		if wr.more {
			inner.args, inner.in = xargsWords(u.command, u.replace), stdin{piped: true}
		}
		w.run(&inner)
	}
}

// isBuiltinWrapper reports the wrappers that the shell itself is.
func isBuiltinWrapper(name string) bool {
	return name == "command" || name == "builtin" || name == "exec"
}

// commandQuery reports command -v and -V, which only tell what would run.
func commandQuery(args []arg) bool {
	return len(args) > 0 && args[0].known && len(args[0].text) > 1 && args[0].text[0] == '-' &&
		strings.Trim(args[0].text[1:], "pvV") == "" && strings.ContainsAny(args[0].text, "vV")
}

// movesFolder reports env -C, after which a relative path is another file.
func movesFolder(options []arg) bool {
	return slices.ContainsFunc(options, func(a arg) bool {
		return strings.HasPrefix(a.text, "--chdir") || !strings.HasPrefix(a.text, "--") && strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "C")
	})
}

// envArguments judges NAME=value operands of env and sudo.
func (w *walk) envArguments(assigns []arg, at syntax.Pos) {
	for i := range assigns {
		name, _, _ := strings.Cut(assigns[i].text, "=")
		if !assigns[i].known || !syntax.ValidName(name) || !w.j.mayExport(name) {
			w.refuse(decision.CommandAssignment, at, assigns[i].String())
		}
	}
}

// joined judges words that are joined with blanks and given to sh.
func (w *walk) joined(c *command, words []arg) {
	var b strings.Builder
	for i := range words {
		if !words[i].known {
			w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
			return
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].text)
	}
	w.code(b.String(), c.at, c.in, posix, false)
}

// countsLines reports options of xargs that append words, whatever -I says.
func countsLines(options []arg) bool {
	return slices.ContainsFunc(options, func(a arg) bool {
		return strings.HasPrefix(a.text, "--max-") ||
			!strings.HasPrefix(a.text, "--") && strings.HasPrefix(a.text, "-") && strings.ContainsAny(a.text, "Lln")
	})
}

// xargsWords returns the command that xargs builds: with words of standard
// input in the place of the marker, or after the command.
func xargsWords(args []arg, marker string) []arg {
	out := make([]arg, len(args), len(args)+1)
	copy(out, args)
	if marker == "" {
		return append(out, arg{text: "", many: true, loose: true})
	}
	for i := range out {
		out[i] = filledIn(out[i], marker, "")
	}
	return out
}

// filledIn returns a word in which a program puts a value in the place of a
// marker; begins is what the value is known to begin with.
func filledIn(a arg, marker, begins string) arg {
	before, _, found := strings.Cut(a.text, marker)
	if !found {
		return a
	}
	if before == "" {
		before = begins
	}
	a.text, a.known, a.word = before, false, nil
	return a
}

// unwrap reads the options of a wrapper.
func (wr *wrapper) unwrap(args []arg) unwrapped {
	var u unwrapped
	wr.read(args, &u)
	return u
}

func (wr *wrapper) read(args []arg, u *unwrapped) {
	operands := wr.operands
	for len(args) > 0 && u.bad == nil {
		a := &args[0]
		switch {
		case a.is("--"):
			args = args[1:]
			for ; operands > 0 && len(args) > 0; operands-- {
				if args[0].many {
					u.bad = &args[0]
				}
				args = args[1:]
			}
			if wr.assigns {
				args = u.assignments(args)
			}
			u.command = args
			return
		case !a.known && operands > 0 && (a.many || a.mayBeOption()):
			u.bad = a
		case a.known && len(a.text) > 1 && a.text[0] == '-':
			n := wr.option(args, u)
			args = args[n:]
			u.options++
		case a.is("-") && (wr.assigns || wr.code != 0):
			args = args[1:]
		case operands > 0:
			operands--
			args = args[1:]
		case wr.assigns && strings.Contains(a.text, "="):
			args = u.assignments(args)
			u.command = args
			return
		case wr.permuted && wr.code != 0 && u.code != nil:
			args = args[1:] // operands of su and script
		default:
			u.command = args
			return
		}
	}
}

// assignments takes NAME=value words off the front.
func (u *unwrapped) assignments(args []arg) []arg {
	for len(args) > 0 && strings.Contains(args[0].text, "=") {
		u.assigns = append(u.assigns, args[0])
		args = args[1:]
	}
	return args
}

// option reads one option and returns how many words it took.
func (wr *wrapper) option(args []arg, u *unwrapped) int {
	text := args[0].text
	if strings.HasPrefix(text, "--") {
		return wr.longOption(args, u)
	}
	if wr.number && strings.Trim(text[1:], "-+0123456789") == "" {
		return 1
	}
	for i := 1; i < len(text); i++ {
		f := text[i]
		switch {
		case strings.IndexByte(wr.flags, f) >= 0:
		case strings.IndexByte(wr.attached, f) >= 0:
			if f == 'i' {
				u.replace = strings.TrimPrefix(text[i+1:], "=")
				if u.replace == "" {
					u.replace = "{}"
				}
			}
			return 1
		case strings.IndexByte(wr.values, f) >= 0, f == wr.code && f != 0, f == wr.split && f != 0:
			value, n := optionValue(args, text[i+1:])
			if value == nil {
				u.bad = &args[0]
				return 1
			}
			return wr.takes(f, value, args, n, u)
		default:
			u.bad = &args[0]
			return 1
		}
	}
	return 1
}

// optionValue returns the value of an option: the rest of its word, or the next.
func optionValue(args []arg, rest string) (*arg, int) {
	if rest != "" {
		v := literal(rest)
		return &v, 1
	}
	if len(args) < 2 || args[1].many {
		return nil, 1
	}
	return &args[1], 2
}

// takes uses the value of an option.
func (wr *wrapper) takes(f byte, value *arg, args []arg, n int, u *unwrapped) int {
	switch {
	case f == wr.code && f != 0:
		u.code = value
	case f == wr.split && f != 0:
		// env -S: the words stand in the place of the option. Quotes, escapes and
		// variables of its own language are not understood.
		if !value.known || strings.ContainsAny(value.text, "\\'\"$#") || u.splits > maxNested {
			u.bad = &args[0]
			return n
		}
		words := make([]arg, 0, len(args)+4)
		for s := range strings.FieldsSeq(value.text) {
			words = append(words, literal(s))
		}
		inner := unwrapped{splits: u.splits + 1, assigns: u.assigns, options: u.options}
		wr.read(append(words, args[n:]...), &inner)
		*u = inner
		return len(args)
	case wr.traces && f == 'o' && (!value.known || strings.HasPrefix(value.text, "|") || strings.HasPrefix(value.text, "!")):
		u.bad = &args[0] // strace -o '|command'
	case wr.more && (f == 'I'):
		u.replace = value.text
		if !value.known || value.text == "" {
			u.bad = &args[0]
		}
	}
	return n
}

func (wr *wrapper) longOption(args []arg, u *unwrapped) int {
	name, value, has := strings.Cut(args[0].text[2:], "=")
	switch {
	case name == wr.longCode && name != "", name == "split-string" && wr.split != 0:
		v, n := &arg{text: value, known: true}, 1
		if !has {
			if v, n = optionValue(args, ""); v == nil {
				u.bad = &args[0]
				return 1
			}
		}
		letter := wr.code
		if name == "split-string" {
			letter = wr.split
		}
		return wr.takes(letter, v, args, n, u)
	case name == "replace" && wr.more:
		u.replace = value
		if value == "" {
			u.replace = "{}"
		}
		return 1
	case strings.Contains(wr.long, " "+name+" "):
		return 1
	case strings.Contains(wr.long, " "+name+"= "):
		if has {
			return 1
		}
		if len(args) < 2 || args[1].many {
			u.bad = &args[0]
			return 1
		}
		return 2
	}
	u.bad = &args[0]
	return 1
}
