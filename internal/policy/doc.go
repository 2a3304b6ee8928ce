// Package policy is the policy decision point (PDP): it compiles a
// configuration document and a catalogue into a Snapshot, combines the judges
// (allowlist, terminal, urlguard), and swaps snapshots atomically on reload.
//
// Every question takes the same path: the decision API, the command line, the
// egress proxy and the tool lists all call PDP.Decide or PDP.Tools, and these
// share one function. The package opens no file and no socket; names are
// resolved through the Resolver it is given. Enforcement points never import
// it: they know decision.Decider. Only daemon and cmd/toolgate import it.
package policy
