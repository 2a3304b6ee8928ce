package terminal

import "github.com/toolgate/toolgate/internal/decision"

// Explain judges a script like Judge and lists every command that it found, in
// the order in which they were judged.
func (j *Judge) Explain(script string) Verdict { return j.judge(script, true) }

// record opens the entry of a command; the function it returns closes it.
func (w *walk) record(c *command) func() {
	if !w.explain {
		return func() {}
	}
	entry := Command{Argv: make([]string, len(c.args)), Reason: decision.CommandOK}
	for i := range c.args {
		entry.Argv[i] = c.args[i].String()
	}
	entry.Line, entry.Col = w.place(c.at)
	w.commands = append(w.commands, entry)
	outer := w.current
	w.current = len(w.commands)
	return func() { w.current = outer }
}
