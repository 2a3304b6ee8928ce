package e2e_test

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/test/rig"
	"github.com/toolgate/toolgate/test/world"
)

// pod is a sidecar in a pod of its own, and curl beside it.
type pod struct {
	*rig.Sidecar
	net *world.Net
}

// podConfig is an unrestricted agent behind the world's resolver.
func podConfig() object {
	return object{
		"version": 1, "listen": listen(),
		"agents": object{"a": object{"tools": []any{}}},
		"egress": object{
			"anonymous": object{"agent": "a", "tool": "fetch_url"},
			"resolver":  object{"servers": []string{world.DNSAddr + ":53"}, "timeout": "1s"},
		},
	}
}

func newPod(t *testing.T, doc object, env ...string) *pod {
	t.Helper()
	n := world.New(t, new(world.Counter))
	return &pod{net: n, Sidecar: rig.Start(t, rig.Options{
		Binary: binary, Config: rig.ConfigFile(t, doc), Env: env, Command: n.Pod, AtEnd: n.AtEnd,
	})}
}

// curled is what curl made of a URL.
type curled struct {
	status       int
	head, body   string
	reason, line string
}

// curl fetches a URL through the proxy.
func (p *pod) curl(t *testing.T, args ...string) curled {
	t.Helper()
	base := []string{"-sS", "-m", "8", "-i", "-x", "http://" + p.Addrs["proxy"]}
	out, err := p.net.Pod("curl", append(base, args...)...).CombinedOutput()
	text := string(out)
	head, body, found := strings.Cut(text, "\r\n\r\n")
	if !found {
		t.Fatalf("curl %v: %v: %s", args, err, text)
	}
	c := curled{head: head, body: body}
	c.line, _, _ = strings.Cut(head, "\r\n")
	fmt.Sscanf(c.line, "HTTP/1.1 %d", &c.status)
	for line := range strings.SplitSeq(head, "\r\n") {
		if v, ok := strings.CutPrefix(line, "X-Toolgate-Reason: "); ok {
			c.reason = v
		}
	}
	return c
}

// TestCurlThroughTheProxy is the main promise, with a real client, a real
// resolver and real addresses.
func TestCurlThroughTheProxy(t *testing.T) {
	p := newPod(t, podConfig())
	zone := world.Zone{Names: map[string]world.Name{
		"www.example.com":  {{A: []string{world.PublicV4}, AAAA: []string{world.PublicV6}, TTL: 60}},
		"mixed.example":    {{A: []string{world.PublicV4, "10.0.0.1"}}},
		"second.example":   {{A: []string{world.PublicV4}}, {A: []string{"10.0.0.1"}}},
		"loopback.example": {{A: []string{"127.0.0.1"}}},
		"alias.example":    {{CNAME: []string{"metadata.google.internal"}, A: []string{world.PublicV4}}},
	}}
	p.net.Set(t, zone, nil)
	if c := p.curl(t, "http://www.example.com/hello"); c.status != 200 || c.body != "origin www.example.com\n" {
		t.Fatalf("a public origin: %+v", c)
	}
	if seen := p.net.Seen(t); len(seen.Requests) != 1 || seen.Requests[0] != "GET www.example.com /hello" {
		t.Fatalf("the origin saw %v", seen.Requests)
	}
	refused := []struct{ url, reason string }{
		{"http://127.0.0.1/", "url_loopback"},
		{"http://2130706433/", "url_loopback"},
		{"http://0x7f.1/", "url_loopback"},
		{"http://[::ffff:127.0.0.1]/", "url_loopback"},
		{"http://localhost/", "url_loopback"},
		{"http://169.254.169.254/", "url_metadata"},
		{"http://metadata.google.internal/", "url_metadata"},
		{"http://10.0.0.1/", "url_private"},
		{"http://0.0.0.0/", "url_reserved"},
		{"http://[64:ff9b::7f00:1]/", "url_embedded_v4"},
		{"http://mixed.example/", "url_private"},
		{"http://loopback.example/", "url_loopback"},
		{"http://alias.example/", "url_metadata"},
		{"http://db.internal/", "url_internal"},
		{"http://www.example.com:22/", "url_port"},
	}
	for _, row := range refused {
		p.net.Set(t, zone, nil)
		c := p.curl(t, row.url)
		if c.status != 403 || c.reason != row.reason {
			t.Errorf("%s: %s, reason %q, want 403 with %s", row.url, c.line, c.reason, row.reason)
		}
		if seen := p.net.Seen(t); seen.Connections > 0 {
			t.Errorf("%s is refused, and the world saw %+v", row.url, seen)
		}
		p.checkRefusal(t, c)
	}
	// A redirect to each of them is not passed on.
	for _, row := range refused {
		p.net.Set(t, zone, map[string]world.Route{"/go": {Status: 302, Location: row.url}})
		c := p.curl(t, "http://www.example.com/go")
		if c.status != 403 || c.reason != "url_redirect" || strings.Contains(c.head, "Location:") {
			t.Errorf("redirect to %s: %s, reason %q", row.url, c.line, c.reason)
		}
		// And a client that followed it anyway meets the same refusal.
		if c := p.curl(t, "-L", "http://www.example.com/go"); c.status != 403 {
			t.Errorf("redirect to %s, followed: %s", row.url, c.line)
		}
		if seen := p.net.Seen(t); len(seen.Requests) != 2 {
			t.Errorf("redirect to %s: the world saw %v", row.url, seen.Requests)
		}
	}
	p.net.Set(t, zone, map[string]world.Route{"/go": {Status: 302, Location: "/there"}})
	if c := p.curl(t, "http://www.example.com/go"); c.status != 302 || !strings.Contains(c.head, "Location: /there") {
		t.Errorf("a redirect that may be followed: %s", c.head)
	}
	// A name whose second answer is private: the first request goes out, the
	// second is judged afresh.
	p.net.Set(t, zone, nil)
	if c := p.curl(t, "http://second.example/"); c.status != 200 {
		t.Errorf("first answer: %s", c.line)
	}
	if c := p.curl(t, "http://second.example/"); c.status != 403 || c.reason != "url_private" {
		t.Errorf("second answer: %s, reason %q", c.line, c.reason)
	}
	if seen := p.net.Seen(t); len(seen.Requests) != 1 {
		t.Errorf("the world saw %v", seen.Requests)
	}
}

// checkRefusal: a refusal says why wherever a client looks, and never says the
// internal address.
func (p *pod) checkRefusal(t *testing.T, c curled) {
	t.Helper()
	for _, want := range []string{
		"Forbidden (toolgate: " + c.reason + ")", "Proxy-Status: toolgate;", `details="` + c.reason + `"`,
		"Content-Type: application/problem+json", "Content-Length: ",
	} {
		if !strings.Contains(c.head, want) {
			t.Errorf("the head lacks %q:\n%s", want, c.head)
		}
	}
	if !strings.Contains(c.body, c.reason) || !strings.Contains(c.body, "do not retry") {
		t.Errorf("the body does not tell a model that it is final: %s", c.body)
	}
	// The same code in the log and the metric.
	lines := logLines(t, p.Sidecar)
	last := lines[len(lines)-1]
	if last["reason"] != c.reason || last["decision"] != "deny" || last["guard"] != "url" || last["agent"] != "a" || last["tool"] != "fetch_url" {
		t.Errorf("the log line is %v, want reason %s", last, c.reason)
	}
	out, err := p.net.Pod("curl", "-sS", "http://"+p.Addrs["metrics"]+"/metrics").Output()
	if err != nil {
		t.Fatal(err)
	}
	if series := `toolgate_decisions_total{decision="deny",guard="url",reason="` + c.reason + `"}`; !strings.Contains(string(out), series) {
		t.Errorf("no series %s", series)
	}
}

// TestNetworkFaults: trouble of the network is told from policy, and a time-out
// from other trouble.
func TestNetworkFaults(t *testing.T) {
	p := newPod(t, podConfig())
	p.net.Set(t, world.Zone{Names: map[string]world.Name{
		"silent.example": {{Silent: true}},
		"broken.example": {{RCode: 2}},
	}}, nil)
	for _, row := range []struct {
		url, reason string
		status      int
	}{
		{"http://nowhere.example/", "dns_failed", 502},
		{"http://broken.example/", "dns_failed", 502},
		{"http://silent.example/", "dns_failed", 504},
	} {
		if c := p.curl(t, row.url); c.status != row.status || c.reason != row.reason || strings.Contains(c.body, "do not retry") {
			t.Errorf("%s: %s, reason %q, want %d %s, and not final: %s", row.url, c.line, c.reason, row.status, row.reason, c.body)
		}
	}
}

// TestCONNECT: a tunnel, and its refusals, where most clients show nothing but
// the reason phrase.
func TestCONNECT(t *testing.T) {
	p := newPod(t, podConfig())
	p.net.Set(t, world.Zone{Default: &world.Name{{A: []string{world.PublicV4}}}}, nil)
	if c := p.curl(t, "-p", "http://www.example.com:8080/x"); !strings.Contains(c.body, "origin www.example.com:8080") {
		t.Errorf("a tunnel: %+v", c)
	}
	p.net.Set(t, world.Zone{Default: &world.Name{{A: []string{world.PublicV4}}}}, nil)
	for target, reason := range map[string]string{
		"https://169.254.169.254/": "url_metadata", "https://127.0.0.1:8443/": "url_loopback", "https://10.0.0.1/": "url_private",
		"https://metadata.google.internal/": "url_metadata", "https://www.example.com:25/": "url_port",
	} {
		out, err := p.net.Pod("curl", "-sS", "-v", "-m", "8", "-x", "http://"+p.Addrs["proxy"], target).CombinedOutput()
		if _, exited := errors.AsType[*exec.ExitError](err); !exited || !strings.Contains(string(out), "403 Forbidden (toolgate: "+reason+")") {
			t.Errorf("%s: curl shows %s", target, out)
		}
	}
	if seen := p.net.Seen(t); seen.Connections > 0 {
		t.Errorf("the world saw %+v", seen)
	}
}

// TestBrowserException: with the variable, a browser tool that shows a permit
// reaches loopback; nobody else does, and nobody reaches toolgate.
func TestBrowserException(t *testing.T) {
	for _, open := range []bool{true, false} {
		t.Run(fmt.Sprintf("variable %t", open), func(t *testing.T) {
			var env []string
			if open {
				env = []string{"ALLOW_LOOPBACK_TOOL_URLS=true"}
			}
			p := newPod(t, podConfig(), env...)
			server := p.net.Pod("python3", "-m", "http.server", "--bind", "127.0.0.1", "3000")
			server.Dir = t.TempDir()
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			p.net.AtEnd(func() { _ = server.Process.Kill(); _ = server.Wait() })
			if !rig.Eventually(func() bool { return p.net.Pod("curl", "-s", "http://127.0.0.1:3000/").Run() == nil }) {
				t.Fatal("the server in the pod does not stand")
			}
			for _, row := range []struct {
				edge, url, tool, reason string
				opens                   bool
			}{
				{"a browser on loopback", "http://127.0.0.1:3000/", "browser_open", "url_loopback", true},
				{"a browser on localhost", "http://localhost:3000/", "browser_open", "url_loopback", true},
				{"a fetch tool", "http://127.0.0.1:3000/", "fetch_url", "url_loopback", false},
				{"no credentials", "http://127.0.0.1:3000/", "", "url_loopback", false},
				{"the decision API", "http://" + p.Addrs["api"] + "/", "browser_open", "url_self", false},
				{"the proxy itself", "http://" + p.Addrs["proxy"] + "/", "browser_open", "url_self", false},
				{"the metrics by name", "http://localhost:" + port(p.Addrs["metrics"]) + "/", "browser_open", "url_self", false},
				{"unspecified", "http://0.0.0.0:3000/", "browser_open", "url_reserved", false},
				{"a private address", "http://10.0.0.1:3000/", "browser_open", "url_private", false},
			} {
				args := []string{row.url}
				if row.tool != "" {
					args = append(args, "-U", row.tool+":"+p.permit(t, row.tool))
				}
				c := p.curl(t, args...)
				want, reason := 403, row.reason
				if open && row.opens {
					want, reason = 200, ""
				} else if !open && row.reason == "url_self" && strings.Contains(row.url, "localhost") {
					reason = "url_loopback" // the name is refused before its address is known
				}
				if c.status != want || c.reason != reason {
					t.Errorf("%s: %s, reason %q, want %d %q", row.edge, c.line, c.reason, want, reason)
				}
			}
			if c := p.curl(t, "http://127.0.0.1:3000/", "-U", "browser_open:"+p.permit(t, "fetch_url")); c.status != 407 {
				t.Errorf("a permit for another tool: %s", c.line)
			}
			if c := p.curl(t, "http://127.0.0.1:3000/", "-U", "browser_open:guess"); c.status != 407 {
				t.Errorf("a guessed permit: %s", c.line)
			}
		})
	}
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// permit asks the decision API, in the pod, for a tool's permit.
func (p *pod) permit(t *testing.T, tool string) string {
	t.Helper()
	body := `{"subject":{"type":"agent","id":"a"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":"` + tool + `"}}`
	out, err := p.net.Pod("curl", "-sS", "-H", "Authorization: Bearer "+p.Token, "-H", "Content-Type: application/json",
		"-d", body, "http://"+p.Addrs["api"]+"/access/v1/evaluation").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), `"permit":"`)
	permit, _, _ := strings.Cut(rest, `"`)
	if permit == "" {
		t.Fatalf("no permit in %s", out)
	}
	return permit
}
