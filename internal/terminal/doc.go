// Package terminal judges the shell scripts of run_terminal before they run.
//
// A script is checked for hygiene, parsed, and walked: every simple command in
// every position is resolved to the argv that would run (quotes and escapes
// decoded, wrappers unwrapped) and held against the operator's rules. What
// cannot be known before it runs is refused. The strictest verdict over all
// commands wins.
//
// The judge is pure: it touches no file, starts nothing and knows no clock. It
// is a judge of text, so it cannot see inside the programs that it permits; a
// kernel gate has to bound those.
//
// The rule grammar, the free builtins and the reasons are those of the
// contracts, sections 3 and 7.
package terminal
