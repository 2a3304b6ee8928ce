// Package allowlist judges tool calls: which tools an agent holds in a run, at
// a stage, and why. It is the unified model of the three seed documents:
//
//	toolset = ((base ∪ (grants ∩ bound)) − denies) − task type − stage − planned,
//	          then ∩ (job list ∪ always-on readers), and built-ins ∩ read-only
//
// Unrestricted is a state that is decided once, when an agent is compiled; no
// list that is empty later turns into everything. Listing a toolset and
// deciding one call are one function.
//
// The package is pure: no I/O, no clock, no logger. It knows mechanisms, not
// tool names: those are in the catalogue. Only config and policy import it.
package allowlist
