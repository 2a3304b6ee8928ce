// Package audit writes the decision log: one decision, one line of JSON, in
// one write (contracts, section 8). The line is written before the decision is
// acted on, so that with log.on_full: deny nothing happens that is not in the
// log.
//
// Names and targets of a request are text that others chose. In the log they
// are bounded, secrets in them are masked, and control and invisible characters
// are escaped, so that a line can be shown on a terminal (report O14).
// Arguments of tool calls are not logged at all.
//
// Lines get their place in the log in one goroutine (Run), which is where a
// chain of hashes will be added.
package audit
