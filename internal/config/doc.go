// Package config reads the policy document (toolgate.yaml) and the built-in
// catalogue: strictly, with the place of everything it finds wrong, and all of
// it at once.
//
// The package decides what a document says, never what that means: it opens no
// file and no socket, and builds no judge. A value that a judge understands (a
// terminal rule, a host pattern, an address range) is parsed here, once, by the
// judge's own parser, so that nobody reads its text a second time. Whatever a
// document may not say yet is refused with a clear word, never ignored.
//
// Only policy, daemon and cmd/toolgate import it.
package config

//go:generate go test -run UpToDate -update .
