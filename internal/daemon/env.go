package daemon

import "fmt"

// LoopbackVariable is the one way in for browser tools to loopback. It is read
// once, at start, from the process environment and from nowhere else
// (contracts, section 1).
const LoopbackVariable = "ALLOW_LOOPBACK_TOOL_URLS"

// ParseLoopback reads the value of LoopbackVariable: "true" and "1" open
// loopback for browser tools; an unset or empty variable, "false" and "0" do
// not. Any other value is an error, and toolgate must not start on it.
func ParseLoopback(value string) (bool, error) {
	switch value {
	case "true", "1":
		return true, nil
	case "", "false", "0":
		return false, nil
	}
	return false, fmt.Errorf("daemon: %s is %q: write true or false, or leave it unset", LoopbackVariable, value)
}
