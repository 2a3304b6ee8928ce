//go:build race

package rig

// buildFlags builds the binary as the test itself is built: under the race
// detector, so that a race in the real daemon fails the test that runs it.
func buildFlags() []string { return []string{"-race"} }
