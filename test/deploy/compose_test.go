package deploy_test

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// composeFile is the part of the Compose specification that the file uses.
type composeFile struct {
	Name     string
	Services map[string]service
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]struct{}
	Secrets  map[string]struct{ File string }
}

type service struct {
	Build *struct {
		Context string
		Args    map[string]string
	}
	Image       string
	Profiles    []string
	Command     []string
	Environment map[string]string
	User        string
	ReadOnly    bool     `yaml:"read_only"`
	CapDrop     []string `yaml:"cap_drop"`
	CapAdd      []string `yaml:"cap_add"`
	Privileged  bool
	SecurityOpt []string `yaml:"security_opt"`
	NetworkMode string   `yaml:"network_mode"`
	MemLimit    string   `yaml:"mem_limit"`
	PidsLimit   int      `yaml:"pids_limit"`
	StopGrace   string   `yaml:"stop_grace_period"`
	Restart     string
	Networks    []string
	Secrets     []string
	Volumes     []string
	Ports       []string
	Tmpfs       []string
	Healthcheck *struct {
		Test        []string
		Interval    string
		Timeout     string
		Retries     int
		StartPeriod string `yaml:"start_period"`
	}
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
}

// checkCompose judges the file together with the policy that it mounts.
func checkCompose(data, policy []byte) faults {
	var c composeFile
	if err := strict(data, &c); err != nil {
		return faults{err.Error()}
	}
	var f faults
	gate, agent := c.Services["toolgate"], c.Services["agent"]
	f.want(c.Networks["inside"].Internal, "network inside is not internal")
	f.want(slices.Equal(agent.Networks, []string{"inside"}), "the agent is not on network inside alone")
	for name, s := range c.Services {
		checkService(&f, name, s)
		f.want(len(s.Networks) == 1 || name == "toolgate", name+" joins two networks")
	}
	f.want(slices.Equal(gate.Networks, []string{"inside", "outside"}), "toolgate does not join the two networks")
	f.want(gate.User == "65532:65532" && agent.User != gate.User, "toolgate and agent need a uid each")
	f.want(gate.Healthcheck != nil && slices.Equal(gate.Healthcheck.Test, []string{"CMD", "/toolgate", "healthcheck"}), "no health check by the binary")
	f.want(agent.DependsOn["toolgate"].Condition == "service_healthy", "the agent does not wait for toolgate")
	f.want(gate.Environment["ALLOW_LOOPBACK_TOOL_URLS"] == "false", "loopback is not off")
	f.want(slices.Contains(gate.Volumes, "state:/var/lib/toolgate"), "the state folder is not a volume")
	f.want(slices.Contains(gate.Volumes, "./policy:/etc/toolgate:ro"), "the policy's folder is not mounted")
	f.want(slices.Equal(gate.Command, []string{"serve", "-c", "/etc/toolgate/toolgate.yaml"}), "toolgate is not started on its policy")
	checkComposeAddresses(&f, string(policy), gate, agent)
	return f
}

func checkService(f *faults, name string, s service) {
	uid, gid, _ := strings.Cut(s.User, ":")
	f.want(pinned(s.Image), name+": image is not pinned")
	f.want(uid != "" && uid != "0" && uid != "root" && gid != "" && gid != "0", name+": may run as root")
	f.want(s.ReadOnly, name+": root is writable")
	f.want(slices.Equal(s.CapDrop, []string{"ALL"}) && len(s.CapAdd) == 0 && !s.Privileged, name+": keeps capabilities")
	f.want(slices.Contains(s.SecurityOpt, "no-new-privileges:true"), name+": may gain privileges")
	f.want(s.MemLimit != "" && s.PidsLimit > 0, name+": no limits")
	f.want(s.NetworkMode == "", name+": leaves the networks")
	for _, v := range s.Volumes {
		f.want(!strings.Contains(v, ".sock"), name+": is given a socket of the host")
	}
	for _, p := range s.Ports {
		f.want(strings.HasPrefix(p, "127.0.0.1:"), name+": publishes a port to everyone")
	}
}

// checkComposeAddresses holds the agent's variables to the listeners of the
// policy.
func checkComposeAddresses(f *faults, config string, gate, agent service) {
	set, err := settingsOf(config)
	if err != nil {
		*f = append(*f, err.Error())
		return
	}
	grace, err := time.ParseDuration(gate.StopGrace)
	f.want(err == nil && set.drainsIn(grace), "toolgate is killed before it has drained")
	l := set.Listen
	reach := func(name, addr string) string {
		host, port, err := net.SplitHostPort(addr)
		f.want(err == nil && host == "0.0.0.0", "listen."+name+" cannot be reached from another container")
		return "http://toolgate:" + port
	}
	reach("metrics", l.Metrics)
	checkProxyEnv(f, agent.Environment, reach("proxy", l.Proxy), reach("api", l.API))
	f.want(slices.Contains(strings.Split(agent.Environment["NO_PROXY"], ","), "toolgate"), "NO_PROXY lacks toolgate")
}

func TestCompose(t *testing.T) {
	t.Parallel()
	compose, policy := read(t, filepath.Join(dir, "compose.yaml")), read(t, filepath.Join(dir, "policy", "toolgate.yaml"))
	run(t, compose, func(data []byte) faults { return checkCompose(data, policy) }, []mutation{
		{"an unknown key", "read_only: true", "readonly: true", "readonly"},
		{"a network with a way out", "inside: {internal: true}", "inside: {}", "not internal"},
		{"the agent on both networks", "networks: [inside]", "networks: [inside, outside]", "not on network inside alone"},
		{"a third service on both networks", "networks: [outside]", "networks: [outside, inside]", "prometheus joins two networks"},
		{"the agent on the host's network", "networks: [inside]", "networks: [inside]\n    network_mode: host", "leaves the networks"},
		{"root", `user: "65532:65532"`, `user: "0:0"`, "may run as root"},
		{"one uid for both", `user: "1000:1000"`, `user: "65532:65532"`, "a uid each"},
		{"a writable root", "read_only: true", "read_only: false", "root is writable"},
		{"capabilities", "cap_drop: [ALL]", "cap_drop: []", "keeps capabilities"},
		{"a capability added", "cap_drop: [ALL]", "cap_drop: [ALL]\n    cap_add: [NET_ADMIN]", "keeps capabilities"},
		{"privileges", `security_opt: ["no-new-privileges:true"]`, "security_opt: []", "may gain privileges"},
		{"a floating tag", "image: toolgate:0.1.0", "image: toolgate:latest", "toolgate: image is not pinned"},
		{"no memory limit", "    mem_limit: 256m\n", "", "no limits"},
		{"no health check", "/toolgate, healthcheck]", "/bin/true]", "health check"},
		{"an agent that does not wait", "service_healthy", "service_started", "does not wait"},
		{"the engine's socket", "      - state:/var/lib/toolgate", "      - state:/var/lib/toolgate\n      - /var/run/docker.sock:/s.sock", "socket of the host"},
		{"a published port", `"127.0.0.1:9090:9090"`, `"9090:9090"`, "to everyone"},
		{"no time to drain", "stop_grace_period: 60s", "stop_grace_period: 10s", "killed before"},
		{"one file in place of the folder", "./policy:/etc/toolgate:ro", "./policy/toolgate.yaml:/etc/toolgate/toolgate.yaml:ro", "folder is not mounted"},
		{"loopback on", `ALLOW_LOOPBACK_TOOL_URLS: "false"`, `ALLOW_LOOPBACK_TOOL_URLS: "true"`, "loopback is not off"},
	})
	run(t, policy, func(data []byte) faults { return checkCompose(compose, data) }, []mutation{
		{"a proxy on loopback", "proxy: 0.0.0.0:8181", "proxy: 127.0.0.1:8181", "cannot be reached"},
		{"another proxy port", "proxy: 0.0.0.0:8181", "proxy: 0.0.0.0:3128", "HTTP_PROXY is not"},
		{"another API port", "api: 0.0.0.0:8180", "api: 0.0.0.0:9180", "TOOLGATE_URL is not"},
		{"metrics on loopback", "metrics: 0.0.0.0:8183", "metrics: 127.0.0.1:8183", "listen.metrics cannot be reached"},
		{"a longer drain", "drain_timeout: 30s", "drain_timeout: 90s", "killed before"},
	})
}
