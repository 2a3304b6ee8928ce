//go:build !race

package rig

// buildFlags builds the binary as it is released, but for its debug
// information.
func buildFlags() []string { return []string{"-trimpath"} }
