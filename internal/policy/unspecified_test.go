package policy_test

import (
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
)

// TestTheUnspecifiedAddressStaysShut: it is loopback to the kernel, so report
// mode must not open it, and whoever asks must hear what the proxy would say.
func TestTheUnspecifiedAddressStaysShut(t *testing.T) {
	t.Parallel()
	s := snapshot(t)
	for name, row := range map[string]struct {
		url   string
		allow bool
	}{
		"IPv4":                      {"http://0.0.0.0/", false},
		"IPv6":                      {"http://[::]/", false},
		"mapped":                    {"http://[::ffff:0.0.0.0]/", false},
		"the next one is not local": {"http://0.0.0.1/", true},
	} {
		d := s.Decide(t.Context(), fetch("watched", row.url))
		if d.Reason.Allows() || d.Reason == decision.InternalError || d.Allowed() != row.allow || d.Would != row.allow {
			t.Errorf("%s: %v, allowed %t, would deny %t", name, d.Reason, d.Allowed(), d.Would)
		}
	}
}
