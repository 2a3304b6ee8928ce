package cases_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// notYetMax is how long the list may be. It only ever shrinks.
const notYetMax = 47

// notYet reads the list of cases whose layer is not built yet.
func notYet(t testing.TB) []string {
	t.Helper()
	data, err := os.ReadFile("testdata/not_yet.txt")
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(string(data)) {
		id, _, _ := strings.Cut(line, "#")
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestNotYetListShrinks(t *testing.T) {
	ids := notYet(t)
	if len(ids) > notYetMax {
		t.Errorf("%d cases are listed as not built yet, at most %d may be", len(ids), notYetMax)
	}
	slices.Sort(ids)
	if len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Error("an id is listed twice")
	}
	known := allIDs(t)
	for _, id := range ids {
		if !slices.Contains(known, id) {
			t.Errorf("%s is listed and is no case", id)
		}
	}
}

// allIDs lists the ids of all cases.
func allIDs(t testing.TB) []string {
	t.Helper()
	var ids []string
	for _, c := range readCases[policyCase](t, "testdata/policy.jsonl") {
		ids = append(ids, c.ID)
	}
	for _, c := range readCases[egressCase](t, "testdata/egress.jsonl") {
		ids = append(ids, c.ID)
	}
	for _, c := range readCases[terminalCase](t, "testdata/terminal.jsonl") {
		ids = append(ids, c.ID)
	}
	return ids
}

// settle compares the outcome of a case with its place on the list: wrong is
// what went wrong, empty for a case that passed.
func settle(t *testing.T, id string, listed []string, wrong string) {
	t.Helper()
	switch isListed := slices.Contains(listed, id); {
	case isListed && wrong == "":
		t.Errorf("%s passes: take it off testdata/not_yet.txt", id)
	case !isListed && wrong != "":
		t.Errorf("%s: %s", id, wrong)
	}
}
