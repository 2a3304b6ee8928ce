package deploy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/config"
)

// TestPolicies loads the policies of the deployment files as toolgate does.
func TestPolicies(t *testing.T) {
	t.Parallel()
	catalogue, problems := config.LoadCatalogue(configs.CatalogueName, configs.Catalogue())
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m, err := parseManifest(read(t, filepath.Join(dir, "kubernetes.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string]string{
		"kubernetes.yaml":      m.config.Data["toolgate.yaml"],
		"policy/toolgate.yaml": string(read(t, filepath.Join(dir, "policy", "toolgate.yaml"))),
	} {
		doc, problems := config.Load(name, []byte(data), catalogue.Ready)
		if len(problems) > 0 {
			t.Errorf("%s:\n%v", name, problems)
			continue
		}
		if _, ok := doc.Agent("coder"); !ok {
			t.Errorf("%s: no agent coder", name)
		}
		if len(doc.Egress.Rules) == 0 {
			t.Errorf("%s: no egress rule", name)
		}
		spoilt := strings.Replace(data, "mode: enforce", "mode: enforced", 1)
		if _, problems := config.Load(name, []byte(spoilt), catalogue.Ready); len(problems) != 1 {
			t.Errorf("%s: %d problems in a spoilt copy, want 1", name, len(problems))
		}
	}
}
