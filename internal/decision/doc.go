// Package decision is the vocabulary of toolgate: what is asked (Request),
// what is answered (Decision), why (Reason), and the two interfaces that every
// decision travels through (Decider, Recorder).
//
// It decides nothing, does no I/O and imports nothing of ours, so every other
// package may import it. The words are those of NIST SP 800-162 and OpenID
// AuthZEN 1.0: a policy enforcement point (PEP) turns what it sees into a
// Request, the policy decision point (PDP) answers with a Decision, and the
// PEP acts on the vetted value inside that Decision, never on the original.
//
// The zero value denies everywhere: Effect's zero is Deny, Reason's zero is
// InternalError, and a Vetted without addresses cannot be dialled.
package decision
