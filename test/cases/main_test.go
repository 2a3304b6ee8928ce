// Package cases_test runs labelled cases against the real binary, and only by
// the ways that users have: decide, explain, check and the proxy. It imports
// nothing of toolgate's own code.
//
// testdata/ holds the cases with the reason code that each must have, so that
// refusing everything cannot pass. testdata/not_yet.txt lists the cases whose
// layer is not built yet: the tests fail when a listed case would pass, when an
// unlisted one fails, and when the list grows. Where the folder of labelled
// cases that the project was handed lies beside the checkout, its labels are
// compared too.
package cases_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/test/rig"
	"github.com/toolgate/toolgate/test/world"
)

// binary is the toolgate that TestMain built.
var binary string

func TestMain(m *testing.M) {
	world.Main()
	os.Exit(rig.Main(m, func(built string) { binary = built }))
}

// object is a JSON object.
type object = rig.Object

// toolgate runs the binary and returns its output and exit code, which may not
// be that of a fault.
func toolgate(t testing.TB, env []string, stdin string, args ...string) (string, int) {
	t.Helper()
	out, errs, code := rig.Run(t, binary, env, stdin, args...)
	if code == 1 || code > 3 || code < 0 {
		t.Fatalf("toolgate %v: exit code %d: %s", args, code, errs)
	}
	return out, code
}

func configFile(t testing.TB, doc object) string {
	t.Helper()
	return rig.ConfigFile(t, doc)
}

// answer is what the binary says to one question.
type answer struct {
	Decision bool
	Context  struct {
		Reason string
		State  string
		Hop    int
	}
}

// decide asks all questions in one run of "decide -".
func decide(t testing.TB, file string, env []string, questions ...object) []answer {
	t.Helper()
	var in strings.Builder
	for _, q := range questions {
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(line)
		in.WriteByte('\n')
	}
	out, code := toolgate(t, env, in.String(), "decide", "-c", file, "-")
	if code == 2 {
		t.Fatalf("the configuration is refused")
	}
	var answers []answer
	lines := bufio.NewScanner(strings.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var a answer
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			t.Fatalf("%v: %s", err, lines.Text())
		}
		answers = append(answers, a)
	}
	if len(answers) != len(questions) {
		t.Fatalf("%d questions, %d answers", len(questions), len(answers))
	}
	return answers
}

// readCases reads a JSON-lines file.
func readCases[T any](t testing.TB, file string) []T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for n, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
		var c T
		if err := json.Unmarshal(line, &c); err != nil {
			t.Fatalf("%s:%d: %v", file, n+1, err)
		}
		out = append(out, c)
	}
	return out
}
