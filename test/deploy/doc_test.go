// Package deploy_test holds the deployment files to what their comments say:
// it decodes each strictly, asserts the security properties one by one, and
// proves with a table of spoilt copies that each assertion can fail.
package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// dir is the folder of the deployment files, seen from this package.
const dir = "../../configs/deploy"

// read returns a file below the repository's root or fails the test.
func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// strict decodes one YAML document: an unknown or a repeated key is an error.
func strict(data []byte, out any) error {
	return yaml.Load(data, out, yaml.WithKnownFields(), yaml.WithUniqueKeys(), yaml.WithSingleDocument())
}

// faults collects what is wrong with a file, in words.
type faults []string

// want notes a fault unless ok.
func (f *faults) want(ok bool, fault string) {
	if !ok {
		*f = append(*f, fault)
	}
}

// mutation is a spoilt copy of a file and the fault that must be found in it.
type mutation struct {
	name     string
	old, new string // each occurrence of old becomes new
	fault    string // part of one of the faults
}

// run checks the file as it is and each spoilt copy of it.
func run(t *testing.T, data []byte, check func([]byte) faults, mutations []mutation) {
	t.Helper()
	for _, fault := range check(data) {
		t.Errorf("the file itself: %s", fault)
	}
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			spoilt := strings.ReplaceAll(string(data), m.old, m.new)
			if spoilt == string(data) {
				t.Fatalf("%q is not in the file, so nothing was spoilt", m.old)
			}
			found := check([]byte(spoilt))
			for _, fault := range found {
				if strings.Contains(fault, m.fault) {
					return
				}
			}
			t.Errorf("want a fault with %q, got %q", m.fault, []string(found))
		})
	}
}

// pinned reports whether an image has a tag that names a version, or a digest.
func pinned(image string) bool {
	if _, digest, ok := strings.Cut(image, "@sha256:"); ok {
		return len(digest) == 64
	}
	return regexp.MustCompile(`:v?\d+(\.\d+)+[\w.-]*$`).MatchString(image)
}

// listen is what the deployment files must agree with in a toolgate.yaml.
type listen struct {
	API, Proxy, Metrics string
}

// settings is the part of a toolgate.yaml that its deployment depends on.
type settings struct {
	Listen       listen
	DrainTimeout string `yaml:"drain_timeout"`
}

// settingsOf reads that part of a configuration.
func settingsOf(config string) (settings, error) {
	var s settings
	err := yaml.Load([]byte(config), &s)
	return s, err
}

// drainsIn reports whether toolgate has drained before it is killed.
func (s settings) drainsIn(grace time.Duration) bool {
	drain, err := time.ParseDuration(s.DrainTimeout)
	return err == nil && drain > 0 && drain < grace
}

func TestPinned(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		image string
		want  bool
	}{
		{"registry.example/toolgate:0.1.0", true},
		{"prom/prometheus:v3.5.0", true},
		{"golang:1.26.8-bookworm", true},
		{"toolgate@sha256:" + strings.Repeat("a", 64), true},
		{"toolgate", false},
		{"toolgate:latest", false},
		{"registry.example:5000/toolgate", false},
		{"toolgate:1", false}, // moves with each minor release
		{"toolgate@sha256:abc", false},
	} {
		if got := pinned(row.image); got != row.want {
			t.Errorf("pinned(%q) = %t", row.image, got)
		}
	}
}
