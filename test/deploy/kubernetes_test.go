package deploy_test

import (
	"bytes"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// meta is the part of an object's metadata that the file uses.
type meta struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
}

type configMap struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Data       map[string]string
}

type networkPolicy struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Spec       struct {
		PodSelector selector `yaml:"podSelector"`
		PolicyTypes []string `yaml:"policyTypes"`
		Ingress     []struct{ Ports []policyPort }
		Egress      []struct {
			To    []peer
			Ports []policyPort
		}
	}
}

type selector struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type policyPort struct {
	Port     int
	Protocol string
}

type peer struct {
	NamespaceSelector *selector `yaml:"namespaceSelector"`
	PodSelector       *selector `yaml:"podSelector"`
	IPBlock           *struct {
		CIDR   string
		Except []string
	} `yaml:"ipBlock"`
}

type pod struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   meta
	Spec       podSpec
}

type podSpec struct {
	AutomountServiceAccountToken *bool       `yaml:"automountServiceAccountToken"`
	EnableServiceLinks           *bool       `yaml:"enableServiceLinks"`
	RestartPolicy                string      `yaml:"restartPolicy"`
	TerminationGracePeriod       int         `yaml:"terminationGracePeriodSeconds"`
	HostNetwork                  bool        `yaml:"hostNetwork"`
	HostPID                      bool        `yaml:"hostPID"`
	ShareProcessNamespace        bool        `yaml:"shareProcessNamespace"`
	SecurityContext              podSecurity `yaml:"securityContext"`
	InitContainers               []container `yaml:"initContainers"`
	Containers                   []container
	Volumes                      []volume
}

type seccomp struct{ Type string }

type podSecurity struct {
	RunAsNonRoot   bool    `yaml:"runAsNonRoot"`
	FSGroup        int     `yaml:"fsGroup"`
	SeccompProfile seccomp `yaml:"seccompProfile"`
}

type container struct {
	Name           string
	Image          string
	RestartPolicy  string `yaml:"restartPolicy"`
	Args           []string
	Env            []envVar
	Ports          []containerPort
	StartupProbe   *probe `yaml:"startupProbe"`
	LivenessProbe  *probe `yaml:"livenessProbe"`
	ReadinessProbe *probe `yaml:"readinessProbe"`
	Resources      struct {
		Requests, Limits map[string]string
	}
	SecurityContext struct {
		RunAsUser                int   `yaml:"runAsUser"`
		RunAsGroup               int   `yaml:"runAsGroup"`
		RunAsNonRoot             bool  `yaml:"runAsNonRoot"`
		AllowPrivilegeEscalation *bool `yaml:"allowPrivilegeEscalation"`
		ReadOnlyRootFilesystem   bool  `yaml:"readOnlyRootFilesystem"`
		Privileged               bool
		Capabilities             struct{ Add, Drop []string }
		SeccompProfile           seccomp `yaml:"seccompProfile"`
	} `yaml:"securityContext"`
	VolumeMounts []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
		SubPath   string `yaml:"subPath"`
		ReadOnly  bool   `yaml:"readOnly"`
	} `yaml:"volumeMounts"`
}

type containerPort struct {
	Name          string
	ContainerPort int `yaml:"containerPort"`
	Protocol      string
}

type envVar struct {
	Name, Value string
	ValueFrom   *struct {
		ResourceFieldRef struct{ Resource string } `yaml:"resourceFieldRef"`
	} `yaml:"valueFrom"`
}

type probe struct {
	HTTPGet struct {
		Path, Port string
	} `yaml:"httpGet"`
	PeriodSeconds    int `yaml:"periodSeconds"`
	TimeoutSeconds   int `yaml:"timeoutSeconds"`
	FailureThreshold int `yaml:"failureThreshold"`
}

type volume struct {
	Name      string
	ConfigMap *struct{ Name string } `yaml:"configMap"`
	Secret    *struct {
		SecretName  string `yaml:"secretName"`
		DefaultMode int    `yaml:"defaultMode"`
	}
	EmptyDir *struct {
		SizeLimit string `yaml:"sizeLimit"`
	} `yaml:"emptyDir"`
}

// manifest is the whole of kubernetes.yaml.
type manifest struct {
	config configMap
	policy networkPolicy
	pod    pod
}

// parseManifest decodes the file, each document into the type of its kind.
func parseManifest(data []byte) (manifest, error) {
	var m manifest
	kinds := map[string]any{
		"v1/ConfigMap": &m.config, "networking.k8s.io/v1/NetworkPolicy": &m.policy, "v1/Pod": &m.pod,
	}
	for part := range bytes.SplitSeq(data, []byte("\n---\n")) {
		var head struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string
		}
		if err := yaml.Load(part, &head); err != nil {
			return m, err
		}
		kind := head.APIVersion + "/" + head.Kind
		into, ok := kinds[kind]
		if !ok {
			return m, fmt.Errorf("unexpected or repeated kind %s", kind)
		}
		delete(kinds, kind)
		if err := strict(part, into); err != nil {
			return m, err
		}
	}
	for kind := range kinds {
		return m, fmt.Errorf("no %s", kind)
	}
	return m, nil
}

func checkManifest(data []byte) faults {
	m, err := parseManifest(data)
	if err != nil {
		return faults{err.Error()}
	}
	var f faults
	if len(m.pod.Spec.InitContainers) == 0 || len(m.pod.Spec.Containers) == 0 {
		return faults{"the pod lacks a sidecar or an agent"}
	}
	sidecar, agent := m.pod.Spec.InitContainers[0], m.pod.Spec.Containers[0]
	checkPodSpec(&f, m.pod.Spec)
	for _, c := range slices.Concat(m.pod.Spec.InitContainers, m.pod.Spec.Containers) {
		checkContainer(&f, c)
	}
	f.want(sidecar.SecurityContext.RunAsUser != agent.SecurityContext.RunAsUser, "agent and toolgate share a uid")
	checkSidecar(&f, sidecar)
	checkVolumes(&f, m, sidecar)
	checkAddresses(&f, m, sidecar, agent)
	checkPolicy(&f, m)
	return f
}

func checkPodSpec(f *faults, s podSpec) {
	f.want(s.AutomountServiceAccountToken != nil && !*s.AutomountServiceAccountToken, "a service account token is mounted")
	f.want(!s.HostNetwork && !s.HostPID && !s.ShareProcessNamespace, "the pod shares a namespace it must not share")
	f.want(s.SecurityContext.RunAsNonRoot, "the pod may run as root")
	f.want(s.SecurityContext.SeccompProfile.Type == "RuntimeDefault", "the pod has no seccomp profile")
}

func checkContainer(f *faults, c container) {
	sec := c.SecurityContext
	f.want(pinned(c.Image), c.Name+": image is not pinned")
	f.want(sec.RunAsNonRoot && sec.RunAsUser > 0 && sec.RunAsGroup > 0, c.Name+": may run as root")
	f.want(sec.AllowPrivilegeEscalation != nil && !*sec.AllowPrivilegeEscalation && !sec.Privileged, c.Name+": may gain privileges")
	f.want(sec.ReadOnlyRootFilesystem, c.Name+": root is writable")
	f.want(slices.Equal(sec.Capabilities.Drop, []string{"ALL"}) && len(sec.Capabilities.Add) == 0, c.Name+": keeps capabilities")
	f.want(sec.SeccompProfile.Type == "RuntimeDefault", c.Name+": no seccomp profile")
	f.want(c.Resources.Requests["cpu"] != "" && c.Resources.Requests["memory"] != "", c.Name+": no resource requests")
	f.want(c.Resources.Limits["memory"] != "", c.Name+": no memory limit")
	for _, v := range c.VolumeMounts {
		f.want(v.SubPath == "", c.Name+": a subPath mount is never updated")
	}
}

func checkSidecar(f *faults, c container) {
	f.want(c.Name == "toolgate" && c.RestartPolicy == "Always", "toolgate is not a native sidecar")
	f.want(c.SecurityContext.RunAsUser == 65532, "toolgate does not run as the image's uid")
	for name, row := range map[string]struct {
		p    *probe
		path string
	}{
		"startup":   {c.StartupProbe, "/readyz"},
		"liveness":  {c.LivenessProbe, "/healthz"},
		"readiness": {c.ReadinessProbe, "/readyz"},
	} {
		if row.p == nil {
			f.want(false, "no "+name+" probe")
			continue
		}
		f.want(row.p.HTTPGet.Path == row.path && row.p.HTTPGet.Port == "metrics", name+" probe asks the wrong place")
		f.want(row.p.PeriodSeconds > 0 && row.p.TimeoutSeconds > 0 && row.p.FailureThreshold > 0, name+" probe leaves a time to the default")
	}
	i := slices.IndexFunc(c.Env, func(e envVar) bool { return e.Name == "ALLOW_LOOPBACK_TOOL_URLS" })
	f.want(i >= 0 && c.Env[i].Value == "false", "loopback is not off")
}

func checkVolumes(f *faults, m manifest, sidecar container) {
	volumes := map[string]volume{}
	for _, v := range m.pod.Spec.Volumes {
		volumes[v.Name] = v
		f.want(v.EmptyDir == nil || v.EmptyDir.SizeLimit != "", "volume "+v.Name+" has no size limit")
		f.want(v.Secret == nil || v.Secret.DefaultMode&0o007 == 0, "volume "+v.Name+" can be read by anyone")
	}
	mounted := map[string]string{}
	for _, v := range sidecar.VolumeMounts {
		mounted[v.MountPath] = v.Name
	}
	config := volumes[mounted["/etc/toolgate"]]
	f.want(config.ConfigMap != nil && config.ConfigMap.Name == m.config.Metadata.Name, "the ConfigMap is not mounted at /etc/toolgate")
	f.want(slices.Equal(sidecar.Args, []string{"serve", "-c", "/etc/toolgate/toolgate.yaml"}), "toolgate is not started on the ConfigMap's file")
	f.want(volumes[mounted["/var/lib/toolgate"]].EmptyDir != nil, "the state folder is not a volume")
	for _, v := range m.pod.Spec.Containers[0].VolumeMounts {
		f.want(v.Name != mounted["/var/lib/toolgate"] && v.Name != mounted["/etc/toolgate"], "the agent can reach toolgate's "+v.Name)
	}
}

// checkAddresses holds probes, annotations and proxy variables to the listeners
// of the ConfigMap.
func checkAddresses(f *faults, m manifest, sidecar, agent container) {
	set, err := settingsOf(m.config.Data["toolgate.yaml"])
	f.want(err == nil, fmt.Sprintf("ConfigMap: %v", err))
	f.want(set.drainsIn(time.Duration(m.pod.Spec.TerminationGracePeriod)*time.Second), "toolgate is killed before it has drained")
	l := set.Listen
	for name, addr := range map[string]string{"api": l.API, "proxy": l.Proxy} {
		host, _, err := net.SplitHostPort(addr)
		f.want(err == nil && host == "127.0.0.1", "listen."+name+" is not on loopback")
	}
	host, port, _ := net.SplitHostPort(l.Metrics)
	f.want(host == "0.0.0.0" || host == "::", "listen.metrics cannot be reached by the kubelet")
	ok := slices.ContainsFunc(sidecar.Ports, func(p containerPort) bool {
		return p.Name == "metrics" && fmt.Sprint(p.ContainerPort) == port && p.Protocol == "TCP"
	})
	f.want(ok, "the metrics port is not listen.metrics")
	a := m.pod.Metadata.Annotations
	f.want(a["prometheus.io/scrape"] == "true" && a["prometheus.io/path"] == "/metrics", "the pod is not scraped")
	f.want(a["prometheus.io/port"] == port, "the scraped port is not listen.metrics")

	env := map[string]string{}
	for _, e := range agent.Env {
		env[e.Name] = e.Value
	}
	checkProxyEnv(f, env, "http://"+l.Proxy, "http://"+l.API)
}

// checkProxyEnv holds the agent's variables to the addresses that it must use.
func checkProxyEnv(f *faults, env map[string]string, proxy, api string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		f.want(env[name] == proxy, name+" is not "+proxy)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		hosts := strings.Split(env[name], ",")
		f.want(slices.Contains(hosts, "localhost") && slices.Contains(hosts, "127.0.0.1") && slices.Contains(hosts, "::1"), name+" lacks a loopback name")
		f.want(!slices.Contains(hosts, "*"), name+" turns the proxy off")
	}
	f.want(env["TOOLGATE_URL"] == api, "TOOLGATE_URL is not "+api)
}

// checkPolicy asserts that a program that ignores the proxy reaches nothing
// internal.
func checkPolicy(f *faults, m manifest) {
	p := m.policy.Spec
	f.want(m.pod.Metadata.Labels["app.kubernetes.io/name"] == p.PodSelector.MatchLabels["app.kubernetes.io/name"], "the NetworkPolicy does not select the pod")
	f.want(slices.Equal(p.PolicyTypes, []string{"Ingress", "Egress"}), "the NetworkPolicy leaves a direction open")
	for _, rule := range p.Egress {
		f.want(len(rule.To) > 0 && len(rule.Ports) > 0, "an egress rule is open to every address or port")
		for _, to := range rule.To {
			if to.IPBlock == nil || to.IPBlock.CIDR != "0.0.0.0/0" {
				f.want(to.IPBlock == nil || to.IPBlock.CIDR == "2000::/3", "an egress rule opens another range")
				continue
			}
			for _, internal := range []string{"10.0.0.0/8", "100.64.0.0/10", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "168.63.129.16/32"} {
				f.want(slices.Contains(to.IPBlock.Except, internal), internal+" can be reached around the proxy")
			}
		}
	}
}

func TestKubernetes(t *testing.T) {
	t.Parallel()
	run(t, read(t, filepath.Join(dir, "kubernetes.yaml")), checkManifest, []mutation{
		{"an unknown key", "readOnlyRootFilesystem: true", "readonlyRootFilesystem: true", "readonlyRootFilesystem"},
		{"a repeated key", "enableServiceLinks: false", "enableServiceLinks: false\n  enableServiceLinks: true", "enableServiceLinks"},
		{"a writable root", "readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false", "root is writable"},
		{"root", "runAsUser: 65532", "runAsUser: 0", "may run as root"},
		{"one uid for both", "runAsUser: 1000", "runAsUser: 65532", "share a uid"},
		{"runAsNonRoot left out", "        runAsNonRoot: true\n", "", "may run as root"},
		{"a capability kept", "drop: [ALL]", "drop: [NET_RAW]", "keeps capabilities"},
		{"a capability added", "drop: [ALL]", "drop: [ALL], add: [NET_ADMIN]", "keeps capabilities"},
		{"privilege escalation", "allowPrivilegeEscalation: false", "allowPrivilegeEscalation: true", "may gain privileges"},
		{"no seccomp profile", "        seccompProfile: {type: RuntimeDefault}\n", "", "no seccomp profile"},
		{"a service account token", "automountServiceAccountToken: false", "automountServiceAccountToken: true", "service account token"},
		{"the default service account token", "  automountServiceAccountToken: false\n", "", "service account token"},
		{"the host's network", "enableServiceLinks: false", "hostNetwork: true", "namespace"},
		{"a floating tag", "toolgate:0.1.0", "toolgate:latest", "not pinned"},
		{"no tag", "agent:1.0.0", "agent", "not pinned"},
		{"no startup probe", "startupProbe:\n        httpGet: {path: /readyz", "livenessProbe:\n        httpGet: {path: /readyz", "livenessProbe"},
		{"liveness by readiness", "/healthz", "/readyz", "liveness probe"},
		{"an ordinary init container", "      restartPolicy: Always\n      args", "      args", "native sidecar"},
		{"no memory limit", "limits: {memory: 256Mi}", "limits: {}", "no memory limit"},
		{"no requests", "requests: {cpu: 50m, memory: 48Mi}", "requests: {}", "no resource requests"},
		{"a subPath mount", "mountPath: /etc/toolgate,", "mountPath: /etc/toolgate, subPath: toolgate.yaml,", "never updated"},
		{"state without a bound", "emptyDir: {sizeLimit: 256Mi}", "emptyDir: {}", "no size limit"},
		{"a token that all can read", "defaultMode: 0440", "defaultMode: 0444", "read by anyone"},
		{"the agent in the state folder", "{name: workspace, mountPath: /workspace}", "{name: state, mountPath: /workspace}", "agent can reach"},
		{"the proxy on all addresses", "proxy: 127.0.0.1:8181", "proxy: 0.0.0.0:8181", "not on loopback"},
		{"the API on all addresses", "api: 127.0.0.1:8180", "api: 0.0.0.0:8180", "not on loopback"},
		{"metrics on loopback", "metrics: 0.0.0.0:8183", "metrics: 127.0.0.1:8183", "kubelet"},
		{"another metrics port", "metrics: 0.0.0.0:8183", "metrics: 0.0.0.0:9183", "scraped port"},
		{"another proxy port", "proxy: 127.0.0.1:8181", "proxy: 127.0.0.1:3128", "HTTP_PROXY is not"},
		{"no lower-case variable", "name: https_proxy", "name: Https_proxy", "https_proxy is not"},
		{"everything past the proxy", `"localhost,127.0.0.1,::1"`, `"localhost,127.0.0.1,::1,*"`, "turns the proxy off"},
		{"no time to drain", "terminationGracePeriodSeconds: 60", "terminationGracePeriodSeconds: 30", "killed before"},
		{"loopback on", `ALLOW_LOOPBACK_TOOL_URLS, value: "false"`, `ALLOW_LOOPBACK_TOOL_URLS, value: "true"`, "loopback is not off"},
		{"metadata around the proxy", "169.254.0.0/16, ", "", "169.254.0.0/16 can be reached"},
		{"a policy for another pod", "podSelector: {matchLabels: {app.kubernetes.io/name: agent}}", "podSelector: {matchLabels: {app.kubernetes.io/name: x}}", "does not select"},
		{"an unfinished policy", "policyTypes: [Ingress, Egress]", "policyTypes: [Ingress]", "direction open"},
		{"another kind of object", "kind: ConfigMap", "kind: Deployment", "unexpected or repeated kind"},
	})
}
