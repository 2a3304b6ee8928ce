package terminal

import (
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// program judges a command that is neither a shell nor a wrapper.
func (w *walk) program(c *command, base string, plainArgs []arg) {
	name := c.args[0].text
	if name == base {
		check := builtins[base]
		if !w.isFree(c) {
			if check == nil {
				w.external(c, base, plainArgs)
				return
			}
			w.permit(c, plainArgs, hazard{})
		}
		if check != nil {
			check(w, c)
		}
		return
	}
	w.external(c, base, plainArgs)
}

// external judges a program.
func (w *walk) external(c *command, base string, plainArgs []arg) {
	p := programNamed(base)
	if p == nil {
		w.permit(c, plainArgs, hazard{})
		return
	}
	var h hazard
	switch p.inner {
	case innerFind:
		w.findInner(c, &h)
	case innerGit:
		w.gitInner(c)
	case innerNone:
	}
	if w.strict && !p.only {
		p.inspect(c, &h)
	}
	w.permit(c, plainArgs, h)
}

// isFree reports whether a builtin needs no rule. A rule for it changes nothing,
// and is named as the one that allowed.
func (w *walk) isFree(c *command) bool {
	name := c.args[0].text
	if !free[name] || name == "set" && !freeSet(c.args[1:]) {
		return false
	}
	if w.strict {
		if rule, _ := w.j.allowed(c.args, 0); rule != nil {
			w.allowedBy(rule)
		}
	}
	return true
}

// programNamed finds what is known about a program; versions at the end of a
// name do not count: python3.12, gcc-14.
func programNamed(base string) *program {
	if p := programs[base]; p != nil {
		return p
	}
	short := strings.TrimRight(base, "0123456789.-")
	if short == base || short == "" {
		return nil
	}
	return programs[short]
}

// program describes what in the arguments of a program makes it run others,
// run code, or write files beside its purpose. Such an argument is refused
// unless a rule spells it out.
type program struct {
	// long are options with two dashes, without them, between blanks. Programs
	// take abbreviations, so every beginning of one counts as well, unless it is
	// in safe.
	long string
	safe string
	// short are one-letter options of that kind; values are those whose value
	// ends a cluster: -fvalue.
	short, values string
	// attached are one-letter options whose value is never the next word; flags
	// are the harmless long options of a program whose operand is code, where
	// the next word matters. "name=" may stand with an attached value only.
	attached, flags string
	// words are further words that count: old options of one dash (-toolexec),
	// find's actions, +cmd. A trailing = matches -name=value, a trailing * any
	// word that begins so.
	words []string
	// bundled says that the first word may be a cluster without a dash: tar xf.
	bundled bool
	// code says that without an operand it reads code from standard input.
	code bool
	// module are one-letter options whose value stands for an operand: -m.
	module string
	// quiet are options after which it does nothing: --version.
	quiet string
	// script judges the first operand, which is code in a small language. The
	// options in scriptOptions give such code instead.
	script        func(string) bool
	scriptOptions string
	scriptLong    string
	// inner says how commands stand in its arguments, which are judged in every
	// mode; only that there is nothing else to look for.
	inner inner
	only  bool
	// extra looks at what the fields above cannot say; custom that they say
	// nothing.
	extra  func(*command, *hazard)
	custom bool
	// stops says that what follows the first operand is not for it.
	stops bool
	// feeds says that it takes commands from standard input beside its operands.
	feeds bool
	// single says that its long options have one dash, so that -abc is no cluster.
	single bool
}

// inner is how commands stand in the arguments of a program.
type inner uint8

const (
	innerNone inner = iota
	innerFind
	innerGit
)

// inspect collects the hazards of a command.
func (p *program) inspect(c *command, h *hazard) {
	if p.custom {
		p.extra(c, h)
		return
	}
	operand, ended := false, false
	scriptSeen := p.script == nil
	for i := 1; i < len(c.args); i++ {
		a := &c.args[i]
		switch {
		case ended:
			if !operand && !scriptSeen {
				p.judgeScript(a, i, h)
			}
			operand = true
			ended = true
		case operand && p.stops:
			i = len(c.args)
		case a.is("--"):
			// Behind an option it may be that option's value.
			ended = i == 1 || !c.args[i-1].mayBeOption()
		case a.unknownOption() && !p.knownPrefix(a):
			h.unclear(a)
		case p.word(a.text):
			h.add(a.String(), min(i+1, len(c.args)-1))
		case strings.HasPrefix(a.text, "-") && a.text != "-":
			if a.known && p.module != "" && !strings.HasPrefix(a.text, "--") && strings.ContainsAny(a.text, p.module) {
				operand = true
				i++
				continue
			}
			used, script := p.option(c.args, i, h)
			scriptSeen = scriptSeen || script
			i += used
		default:
			if p.bundled && i == 1 && a.known && strings.ContainsAny(a.text, p.short) {
				h.add(a.text, len(c.args)-1)
			}
			if !operand && !scriptSeen {
				p.judgeScript(a, i, h)
			}
			operand = operand || !isStdin(a)
		}
	}
	if p.code && !operand && !h.found && !p.isQuiet(c.args[1:]) {
		h.unknown, h.detail = true, c.args[0].text+" reads code from standard input"
	}
	if p.feeds && (c.in.piped || c.in.known) {
		h.unknown, h.detail = true, c.args[0].text+" reads commands from standard input"
	}
	if p.extra != nil {
		p.extra(c, h)
	}
}

func (p *program) isQuiet(args []arg) bool {
	for i := range args {
		if args[i].known && args[i].text != "" && strings.Contains(p.quiet, " "+args[i].text+" ") {
			return true
		}
	}
	return false
}

// knownPrefix reports whether the name of an option is known although its value
// is not: --output-dir=$x.
func (p *program) knownPrefix(a *arg) bool {
	return !a.many && strings.HasPrefix(a.text, "-") && strings.Contains(a.text, "=") ||
		!a.many && !p.single && len(a.text) >= 2 && a.text[0] == '-' && strings.IndexByte(p.values, a.text[1]) >= 0
}

// word reports the words of one dash, and others, that count.
func (p *program) word(s string) bool {
	for _, word := range p.words {
		if rest, ok := strings.CutSuffix(word, "*"); ok && strings.HasPrefix(s, rest) {
			return true
		}
		if rest, ok := strings.CutSuffix(word, "="); ok {
			if s == rest || strings.HasPrefix(s, word) || p.single && (s == "-"+rest || strings.HasPrefix(s, "-"+word)) {
				return true
			}
		}
		if s == word {
			return true
		}
	}
	return false
}

// option judges one option; used is how many further words it took, script
// whether it gave the code that the first operand would be otherwise.
func (p *program) option(args []arg, i int, h *hazard) (used int, script bool) {
	text := args[i].text
	if strings.HasPrefix(text, "--") {
		return p.longOption(args, i, h)
	}
	if p.single {
		return 0, false
	}
	for j := 1; j < len(text); j++ {
		f := text[j]
		if strings.IndexByte(p.short, f) >= 0 {
			h.add(args[i].String(), min(i+1, len(args)-1))
			return 0, false
		}
		if strings.IndexByte(p.scriptOptions, f) >= 0 && f != 0 {
			return p.scriptOption(args, i, text[j+1:], h), true
		}
		if strings.IndexByte(p.attached, f) >= 0 {
			return 0, false
		}
		if strings.IndexByte(p.values, f) >= 0 {
			// Only where an operand means code does it matter which word is one;
			// elsewhere a value is looked at like an option, to be sure.
			if (p.script != nil || p.code) && j == len(text)-1 && i+1 < len(args) {
				return 1, false
			}
			return 0, false
		}
	}
	return 0, false
}

func (p *program) longOption(args []arg, i int, h *hazard) (used int, script bool) {
	name, value, has := strings.Cut(args[i].text[2:], "=")
	if name == "" || strings.Contains(p.safe, " "+name+" ") || strings.Contains(p.quiet, " "+args[i].text+" ") {
		return 0, false
	}
	if p.scriptLong != "" && strings.HasPrefix(p.scriptLong, name) {
		if has {
			v := args[i]
			v.text = value
			p.judgeScript(&v, i, h)
			return 0, true
		}
		return p.scriptOption(args, i, "", h), true
	}
	unread := (p.script != nil || p.code) && !strings.Contains(p.flags, " "+name+" ") &&
		(!has || p.script != nil && !strings.Contains(p.flags, " "+name+"= "))
	if strings.Contains(p.long, " "+name) || unread {
		h.add(args[i].String(), min(i+1, len(args)-1))
	}
	return 0, false
}

func (p *program) scriptOption(args []arg, i int, rest string, h *hazard) int {
	if rest != "" {
		v := args[i]
		v.text = rest
		p.judgeScript(&v, i, h)
		return 0
	}
	if i+1 < len(args) {
		p.judgeScript(&args[i+1], i+1, h)
		return 1
	}
	return 0
}

func (p *program) judgeScript(a *arg, i int, h *hazard) {
	switch {
	case !a.known:
		h.unclear(a)
	case !p.script(a.text):
		h.add(a.text, i)
	}
}

// innerCommand judges a command in the arguments of a program.
func (w *walk) innerCommand(c *command, args []arg) {
	if len(args) == 0 {
		w.deny(decision.CommandUnresolvable, c.at, w.shown(c), nil)
		return
	}
	defer w.leave()
	if w.enter(c.at) {
		w.run(&command{args: args, at: c.at, in: c.in})
	}
}
