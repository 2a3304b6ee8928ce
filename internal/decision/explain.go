package decision

import (
	"slices"
	"strconv"
	"strings"
)

// final is said to a model so that it does not try again (report A10).
const final = " This is policy and final: do not retry or work around it; go on without it or tell the user."

// UserText says a decision to a person or a model: what happened, and that it
// is final where it is. It holds no text of the request and no address, so it
// is safe to show to an agent.
func (d *Decision) UserText() string {
	var b strings.Builder
	if d.Would {
		b.WriteString("Allowed in report mode; it would be refused: ")
	}
	b.WriteString(d.Reason.Sentence())
	b.WriteString(" (" + d.Reason.String() + ")")
	if d.Effect == Deny && d.Reason.isFinal() {
		b.WriteString(final)
	}
	return b.String()
}

// AdminText says a decision to an operator: the sentence, the offending token,
// the rule and its place, and the next step. Text of the request is quoted.
func (d *Decision) AdminText() string {
	var b strings.Builder
	b.WriteString(d.Reason.Sentence())
	if d.Detail != "" {
		b.WriteString(" " + Quote(d.Detail) + ".")
	}
	if d.Rule != "" {
		b.WriteString(" Rule " + Quote(d.Rule))
		if !d.Position.IsZero() {
			b.WriteString(" at " + d.Position.String())
		}
		b.WriteString(".")
	}
	if h := d.Reason.Hint(); h != "" && d.Effect == Deny {
		b.WriteString(" " + h)
	}
	return b.String()
}

// isFinal reports whether asking again cannot help: everything but faults of
// the network and of toolgate itself.
func (r Reason) isFinal() bool {
	passing := [...]Reason{InternalError, DNSFailed, ConnectFailed, LimitExceeded, BadRequest, NoIdentity}
	return !r.Allows() && !slices.Contains(passing[:], r)
}

// maxQuoted bounds what is shown of a request's text.
const maxQuoted = 256

// Quote writes text that others chose so that it can stand in a log, a
// terminal or an answer: bounded, on one line, control and invisible
// characters escaped (report O14).
func Quote(s string) string {
	cut := false
	if len(s) > maxQuoted {
		s, cut = s[:maxQuoted], true
	}
	q := strconv.QuoteToASCII(s)
	if cut {
		q += "…"
	}
	return q
}
