package cases_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// handed is where the labelled cases that the project was given lie beside a
// checkout. They are not part of the repository.
const handed = "../../../shared/cases"

// TestEveryHandedCaseIsHere: where the handed cases are at hand, each of them is
// in testdata with the same question and the same label.
func TestEveryHandedCaseIsHere(t *testing.T) {
	if _, err := os.Stat(handed); err != nil {
		t.Skipf("no handed cases beside this checkout: %v", err)
	}
	ours := map[string]map[string]any{}
	for _, file := range []string{"policy.jsonl", "egress.jsonl", "terminal.jsonl"} {
		for _, c := range readCases[map[string]any](t, filepath.Join("testdata", file)) {
			ours[c["id"].(string)] = c
		}
	}
	for _, file := range []string{"policy.jsonl", "egress.jsonl", "terminal.jsonl"} {
		for _, c := range readCases[map[string]any](t, filepath.Join(handed, file)) {
			id := c["id"].(string)
			if id == "_header" {
				continue
			}
			for _, key := range []string{"given", "ask", "expect", "input", "command", "rules", "mode"} {
				if diff := cmp.Diff(c[key], ours[id][key]); diff != "" {
					t.Errorf("%s: %s (-handed +ours):\n%s", id, key, diff)
				}
			}
		}
	}
}
