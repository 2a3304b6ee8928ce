package deploy_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
)

// prometheusConfig is the part of Prometheus' configuration that the file uses.
type prometheusConfig struct {
	Global struct {
		ScrapeInterval     string `yaml:"scrape_interval"`
		EvaluationInterval string `yaml:"evaluation_interval"`
	}
	RuleFiles     []string `yaml:"rule_files"`
	ScrapeConfigs []struct {
		JobName       string                       `yaml:"job_name"`
		StaticConfigs []struct{ Targets []string } `yaml:"static_configs"`
	} `yaml:"scrape_configs"`
}

type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []rule
	}
}

type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

// metricNames are the metrics of the contract (section 8) without the prefix
// toolgate_.
var metricNames = []string{
	"decisions_total", "decision_duration_seconds", "tool_calls_total", "commands_total",
	"egress_connections_total", "egress_active_connections", "egress_bytes_total", "egress_blocked_total",
	"dns_queries_total", "dns_pins",
	"mcp_requests_total", "mcp_request_duration_seconds", "mcp_sessions",
	"config_last_reload_successful", "config_last_reload_success_timestamp_seconds",
	"policy_info", "enforcement_mode", "audit_events_total", "audit_events_dropped_total", "build_info",
}

// wantAlerts are the alerts that the file must hold.
var wantAlerts = []string{
	"ToolgateDown", "ToolgateReloadFailed", "ToolgateAuditDropping", "ToolgateMetadataProbe",
	"ToolgateDenySpike", "ToolgateFault", "ToolgateReportMode",
}

func checkAlerts(data []byte) faults {
	var file ruleFile
	if err := strict(data, &file); err != nil {
		return faults{err.Error()}
	}
	metric := regexp.MustCompile(`\b(toolgate_\w+)(\{[^}]*\})?`)
	reason := regexp.MustCompile(`reason="([^"]*)"`)
	var f faults
	var names []string
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			names = append(names, r.Alert)
			f.want(slices.Contains([]string{"warning", "critical"}, r.Labels["severity"]), r.Alert+": no severity")
			f.want(strings.HasSuffix(r.Annotations["summary"], ".") && r.Annotations["description"] != "", r.Alert+": does not say what to do")
			for _, m := range metric.FindAllStringSubmatch(r.Expr, -1) {
				f.want(knownMetric(m[1]), fmt.Sprintf("%s: no metric %s", r.Alert, m[1]))
			}
			for _, m := range reason.FindAllStringSubmatch(r.Expr, -1) {
				_, known := decision.ParseReason(m[1])
				f.want(known, fmt.Sprintf("%s: no reason %s", r.Alert, m[1]))
			}
		}
	}
	for _, name := range wantAlerts {
		f.want(slices.Contains(names, name), "no alert "+name)
	}
	f.want(len(names) == len(wantAlerts), "an alert that the test does not know")
	return f
}

// TestAlertsUseWhatIsBuilt finds an alert on a metric of the contract that
// package metrics does not have.
func TestAlertsUseWhatIsBuilt(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../internal/metrics/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	var source strings.Builder
	for _, file := range files {
		source.Write(read(t, file))
	}
	names := regexp.MustCompile(`\btoolgate_(\w+)`).FindAllStringSubmatch(string(read(t, filepath.Join(dir, "alerts.yml"))), -1)
	if len(names) == 0 {
		t.Fatal("no metric in the alerts")
	}
	for _, m := range names {
		if !strings.Contains(source.String(), `"`+m[1]+`"`) {
			t.Errorf("package metrics has no %s", m[1])
		}
	}
}

// knownMetric reports whether a series belongs to a metric of the contract.
func knownMetric(series string) bool {
	name := strings.TrimPrefix(series, "toolgate_")
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, ok := strings.CutSuffix(name, suffix); ok && strings.HasSuffix(base, "_seconds") {
			name = base
		}
	}
	return slices.Contains(metricNames, name)
}

func checkScrape(data []byte) faults {
	var c prometheusConfig
	if err := strict(data, &c); err != nil {
		return faults{err.Error()}
	}
	var f faults
	f.want(slices.Equal(c.RuleFiles, []string{"alerts.yml"}), "the alert rules are not loaded")
	if len(c.ScrapeConfigs) != 1 || len(c.ScrapeConfigs[0].StaticConfigs) != 1 {
		return append(f, "want one job")
	}
	job := c.ScrapeConfigs[0]
	f.want(strings.HasPrefix(job.JobName, "toolgate"), "ToolgateDown does not watch the job")
	f.want(slices.Equal(job.StaticConfigs[0].Targets, []string{"toolgate:8183"}), "the target is not the Compose service's metrics listener")
	return f
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	run(t, read(t, filepath.Join(dir, "alerts.yml")), checkAlerts, []mutation{
		{"an unknown key", "annotations:", "anotations:", "anotations"},
		{"a misspelt metric", "toolgate_audit_events_dropped_total", "toolgate_audit_dropped_total", "no metric toolgate_audit_dropped_total"},
		{"a suffix that no counter has", "toolgate_decisions_total", "toolgate_decisions_total_count", "no metric"},
		{"a reason that is not one", `reason="url_metadata"`, `reason="metadata"`, "no reason metadata"},
		{"an alert taken out", "alert: ToolgateReportMode", "alert: Other", "no alert ToolgateReportMode"},
		{"no severity", "severity: warning", "team: x", "no severity"},
	})
}

func TestScrape(t *testing.T) {
	t.Parallel()
	run(t, read(t, filepath.Join(dir, "prometheus.yml")), checkScrape, []mutation{
		{"an unknown key", "scrape_configs:", "scrape_config:", "scrape_config"},
		{"rules not loaded", "rule_files: [alerts.yml]", "rule_files: []", "not loaded"},
		{"another job name", "job_name: toolgate", "job_name: gate", "does not watch"},
		{"another port", "toolgate:8183", "toolgate:8180", "metrics listener"},
	})
}

// TestPromtool has Prometheus' own tool read the files, and runs the alerts
// over made-up series: testdata/alerts_test.yml says when each must fire.
func TestPromtool(t *testing.T) {
	t.Parallel()
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("this test needs promtool (package prometheus)")
		}
		t.Skip("this test needs promtool (package prometheus)")
	}
	for _, args := range [][]string{
		{"check", "config", filepath.Join(dir, "prometheus.yml")},
		{"check", "rules", filepath.Join(dir, "alerts.yml")},
		{"test", "rules", filepath.Join("testdata", "alerts_test.yml")},
	} {
		if out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}
