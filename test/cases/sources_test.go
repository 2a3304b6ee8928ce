package cases_test

import (
	"testing"

	"github.com/toolgate/toolgate/test/rig"
)

// TestRunsAgainWhenTheBinaryChanges keeps the go command from answering for an
// older toolgate.
func TestRunsAgainWhenTheBinaryChanges(t *testing.T) { rig.Sources(t, "../..") }
