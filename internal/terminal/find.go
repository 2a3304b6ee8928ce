package terminal

import "strings"

// findInner judges the commands of find's -exec and its kind, and notes its
// other actions (find(1), section ACTIONS).
func (w *walk) findInner(c *command, h *hazard) {
	for i := 1; i < len(c.args); i++ {
		a := &c.args[i]
		switch {
		case a.is("-exec") || a.is("-execdir") || a.is("-ok") || a.is("-okdir"):
			end := i + 1
			for end < len(c.args) && !findEnd(c.args, end) {
				end++
			}
			inner := make([]arg, 0, end-i)
			for j := i + 1; j < end; j++ {
				b := c.args[j]
				if !b.known && (b.many || b.text == "") { // it may be the ; or the {} that ends the command
					h.unclear(&c.args[j])
				}
				inner = append(inner, filledIn(b, "{}", "./"))
			}
			w.innerCommand(c, inner)
			i = end
		case a.is("-delete") || strings.HasPrefix(a.text, "-fprint") || strings.HasPrefix(a.text, "-fls"):
			h.add(a.String(), min(i+1, len(c.args)-1))
		case a.is("-files0-from"):
			h.add(a.text, min(i+1, len(c.args)-1))
		case a.unknownOption() && !findValue(c.args, i):
			h.unclear(a)
		}
	}
}

// findEnd reports the ; or + that ends a command. A + counts only after {}.
func findEnd(args []arg, i int) bool {
	return args[i].is(";") || args[i].is("+") && args[i-1].is("{}")
}

// findValue reports whether a word is the value of a test before it, which
// takes exactly one word.
func findValue(args []arg, i int) bool {
	if args[i].many {
		return false
	}
	if i > 1 && findTakes(args[i-2].text) && args[i-2].known {
		return false // the word before may itself be a value
	}
	return args[i-1].known && findTakes(args[i-1].text)
}

// findTakes reports the tests that take one word.
func findTakes(test string) bool {
	switch test {
	case "-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname",
		"-newer", "-anewer", "-cnewer", "-samefile", "-type", "-user", "-group", "-perm", "-size", "-mtime", "-mmin",
		"-ctime", "-cmin", "-atime", "-amin", "-maxdepth", "-mindepth", "-printf", "-fstype", "-inum", "-links":
		return true
	}
	return false
}
