package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/toolgate/toolgate/test/rig"
)

// TestServeSaysWhereItIs: the embedded default on its own ports is what a
// person starts first. The test gives it free ports by a copy of the file.
func TestServeSaysWhereItIs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../configs/toolgate.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{"8180", "8181", "8183"} {
		text = []byte(strings.Replace(string(text), "127.0.0.1:"+p, "127.0.0.1:0", 1))
	}
	file := filepath.Join(t.TempDir(), "toolgate.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := rig.Start(t, rig.Options{Binary: binary, Config: file})
	if !rig.Eventually(func() bool { return strings.Contains(s.Stderr.String(), "try:") }) {
		t.Fatal(s.Stderr.String())
	}
	banner := s.Stderr.String()
	for _, want := range []string{
		s.Addrs["api"], s.Addrs["proxy"], s.Addrs["metrics"], "tools ", "terminal ", "urls ", "loopback closed",
		"toolgate decide", "curl -x", "api-token",
	} {
		if !strings.Contains(banner, want) {
			t.Errorf("the start-up text lacks %q:\n%s", want, banner)
		}
	}
	if n := strings.Count(banner[:strings.Index(banner, "try:")], "\n"); n > 10 {
		t.Errorf("the start-up text has %d lines", n)
	}
	if s.Stdout.String() != "" {
		t.Errorf("the decision log begins with %q", s.Stdout.String())
	}
}

func TestRefusesToStart(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("version: 1\nMode: enforce\nagents: {a: {rolle: x}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		args []string
		env  string
		code int
		want []string
	}{
		"a bad file, all problems at once": {[]string{"serve", "-c", bad}, "", 2, []string{bad + ":2:1", bad + ":3:"}},
		"no such file":                     {[]string{"serve", "-c", bad + "x"}, "", 2, []string{"no such file"}},
		"a folder":                         {[]string{"serve", "-c", filepath.Dir(bad)}, "", 2, []string{"directory"}},
		"a value that is neither":          {[]string{"serve"}, "ALLOW_LOOPBACK_TOOL_URLS=yes", 2, []string{"ALLOW_LOOPBACK_TOOL_URLS", "true or false"}},
		"decide with that value":           {[]string{"decide", "tool", "x"}, "ALLOW_LOOPBACK_TOOL_URLS=on", 2, []string{"ALLOW_LOOPBACK_TOOL_URLS"}},
		"an unknown flag":                  {[]string{"serve", "--confg", "x"}, "", 2, []string{"--confg", "hint"}},
		"an unknown command":               {[]string{"srve"}, "", 2, []string{"srve", "hint"}},
		"nothing to decide":                {[]string{"decide", "tool"}, "", 2, []string{"hint"}},
		"an unknown kind":                  {[]string{"decide", "tol", "x"}, "", 2, []string{"tol", "hint"}},
		"an unknown agent":                 {[]string{"explain", "nobody"}, "", 2, []string{"nobody"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var env []string
			if row.env != "" {
				env = []string{row.env}
			}
			_, stderr, code := rig.Run(t, binary, env, "", row.args...)
			if code != row.code {
				t.Errorf("exit code %d, want %d: %s", code, row.code, stderr)
			}
			for _, want := range row.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("standard error lacks %q:\n%s", want, stderr)
				}
			}
		})
	}
}

// reloadable is a configuration in which agent a may call one tool.
func reloadable(tool string) string {
	return fmt.Sprintf(`version: 1
listen: {api: "127.0.0.1:0", proxy: "127.0.0.1:0", metrics: "127.0.0.1:0"}
drain_timeout: 2s
agents: {a: {tools: [%s]}}
egress: {anonymous: {agent: a, tool: fetch_url}}
`, tool)
}

// may asks whether agent a may call a tool.
func may(t *testing.T, s *rig.Sidecar, tool string) bool {
	t.Helper()
	return evaluate(t, s, question("a", "tool", tool, nil)).Decision
}

func TestReload(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "toolgate.yaml")
	// As the kubelet lays a ConfigMap: toolgate.yaml -> ..data/toolgate.yaml,
	// ..data -> a folder that is swapped.
	lay := func(folder, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, folder, "toolgate.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		tmp := filepath.Join(dir, "..data_tmp")
		if err := os.Symlink(folder, tmp); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(tmp, filepath.Join(dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	lay("..1", reloadable("read_file, fetch_url"))
	if err := os.Symlink(filepath.Join("..data", "toolgate.yaml"), file); err != nil {
		t.Fatal(err)
	}
	s := rig.Start(t, rig.Options{Binary: binary, Config: file})
	if !may(t, s, "read_file") || may(t, s, "grep_code") {
		t.Fatal("the first policy is not in force")
	}
	lay("..2", reloadable("grep_code, fetch_url"))
	if !rig.Eventually(func() bool { return may(t, s, "grep_code") && !may(t, s, "read_file") }) {
		t.Fatalf("a swapped symlink was not seen: %s", s.Stderr.String())
	}
	// A bad file keeps the last good policy, and says so in log and metric.
	lay("..3", "version: 1\nagents: {a: {tolls: []}}\n")
	if !rig.Eventually(func() bool { return metric(t, s, "toolgate_config_last_reload_successful") == "0" }) {
		t.Fatalf("the metric does not tell of the bad file: %s", s.Stderr.String())
	}
	if !may(t, s, "grep_code") {
		t.Error("a bad file changed the policy")
	}
	if log := s.Stderr.String(); !strings.Contains(log, "last good policy") || !strings.Contains(log, ":2:") {
		t.Errorf("the log does not tell of the bad file: %s", log)
	}
	// An emptied or removed file is a bad one.
	lay("..4", "")
	time.Sleep(300 * time.Millisecond)
	if !may(t, s, "grep_code") {
		t.Error("an empty file changed the policy")
	}
	// SIGHUP reads again, also where nothing changed on disk since.
	lay("..5", reloadable("load_skill, fetch_url"))
	s.Signal(syscall.SIGHUP)
	if !rig.Eventually(func() bool { return may(t, s, "load_skill") }) {
		t.Fatalf("not reloaded: %s", s.Stderr.String())
	}
	if got := metric(t, s, "toolgate_config_last_reload_successful"); got != "1" {
		t.Errorf("config_last_reload_successful is %q after a good reload", got)
	}
}

// TestDrain: SIGTERM refuses what is new, leaves open tunnels their time, and
// ends with 0.
func TestDrain(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "toolgate.yaml")
	if err := os.WriteFile(file, []byte(reloadable("fetch_url, browser_open")), 0o600); err != nil {
		t.Fatal(err)
	}
	// A browser tool may tunnel to a server on loopback, which stands for any.
	origin, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer origin.Close()
	go func() {
		for {
			conn, err := origin.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					fmt.Fprint(conn, "echo "+line)
				}
			}()
		}
	}()
	s := rig.Start(t, rig.Options{Binary: binary, Config: file, Env: []string{"ALLOW_LOOPBACK_TOOL_URLS=true"}})
	permit := evaluate(t, s, question("a", "tool", "browser_open", nil)).Context.Permit
	if permit == "" {
		t.Fatal("no permit")
	}
	tunnel, err := net.Dial("tcp", s.Addrs["proxy"])
	if err != nil {
		t.Fatal(err)
	}
	defer tunnel.Close()
	req, _ := http.NewRequest(http.MethodConnect, "http://"+origin.Addr().String(), nil)
	req.SetBasicAuth("browser_open", permit)
	fmt.Fprintf(tunnel, "CONNECT %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: %s\r\n\r\n", origin.Addr(), req.Header.Get("Authorization"))
	in := bufio.NewReader(tunnel)
	res, err := http.ReadResponse(in, req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("CONNECT: %v %v", res, err)
	}
	say := func(text string) string {
		fmt.Fprintln(tunnel, text)
		_ = tunnel.SetReadDeadline(time.Now().Add(5 * time.Second))
		line, _ := in.ReadString('\n')
		return line
	}
	if got := say("one"); got != "echo one\n" {
		t.Fatalf("the tunnel answers %q", got)
	}
	begin := time.Now()
	s.Signal(syscall.SIGTERM)
	refused := rig.Eventually(func() bool {
		conn, err := net.DialTimeout("tcp", s.Addrs["proxy"], time.Second)
		if err != nil {
			return true
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		// A target that is refused anyway: 403 before the drain, 503 during it.
		fmt.Fprint(conn, "GET http://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		return err != nil || res.StatusCode == http.StatusServiceUnavailable
	})
	if !refused {
		t.Error("a new request is served while draining")
	}
	if got := say("two"); got != "echo two\n" {
		t.Errorf("the open tunnel answers %q while draining", got)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("exit: %v: %s", err, s.Stderr.String())
	}
	if took := time.Since(begin); took < time.Second || took > 20*time.Second {
		t.Errorf("the drain took %v, with drain_timeout 2s", took)
	}
}

// TestOwnPortsInUse: a listener that cannot be bound is a fault with a reason,
// and nothing is announced.
func TestOwnPortsInUse(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	l := listen()
	l["proxy"] = taken.Addr().String()
	file := rig.ConfigFile(t, object{"version": 1, "listen": l, "agents": object{"a": object{"tools": []string{"read_file"}}}})
	addrFile := filepath.Join(t.TempDir(), "addr")
	_, stderr, code := rig.Run(t, binary, nil, "", "serve", "-c", file, "--addr-file", addrFile)
	if code != 1 || !strings.Contains(stderr, "listen.proxy") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat(addrFile); err == nil {
		t.Error("the address file was written")
	}
}

// TestHealth: the health check of the binary and the endpoints it asks.
func TestHealth(t *testing.T) {
	t.Parallel()
	file := rig.ConfigFile(t, object{"version": 1, "listen": listen(), "agents": object{"a": object{"tools": []string{"read_file"}}}})
	s := rig.Start(t, rig.Options{Binary: binary, Config: file})
	url := "http://" + s.Addrs["metrics"] + "/readyz"
	if !rig.Eventually(func() bool { code, _ := get(t, url); return code == http.StatusOK }) {
		t.Error("never ready")
	}
	if out, stderr, code := rig.Run(t, binary, []string{"HTTP_PROXY=http://127.0.0.1:1"}, "", "healthcheck", "--url", url); code != 0 || out != "ready\n" {
		t.Errorf("healthcheck: %d %q %s", code, out, stderr)
	}
	s.Signal(syscall.SIGTERM)
	_ = s.Wait()
	if _, stderr, code := rig.Run(t, binary, nil, "", "healthcheck", "--url", url); code != 1 || !strings.Contains(stderr, "hint") {
		t.Errorf("healthcheck of a stopped toolgate: %d %s", code, stderr)
	}
}

// TestUnixSocket: the API on a socket needs no token and has mode 0600.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tg") //nolint:usetesting // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l := listen()
	socket := filepath.Join(dir, "api.sock")
	l["api"] = "unix:" + socket
	file := rig.ConfigFile(t, object{"version": 1, "listen": l, "agents": object{"a": object{"tools": []string{"read_file"}}}})
	s := rig.Start(t, rig.Options{Binary: binary, Config: file})
	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("socket: %v %v", info, err)
	}
	over := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	res, err := over.Post("http://toolgate/access/v1/evaluation", "application/json",
		strings.NewReader(`{"subject":{"type":"agent","id":"a"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":"read_file"}}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK || s.Token != "" {
		t.Errorf("status %d, token %q", res.StatusCode, s.Token)
	}
}
