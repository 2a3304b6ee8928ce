package cases_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/test/rig"
	"github.com/toolgate/toolgate/test/world"
)

// TestProxyCases sends every connect case, and the DNS cases that need a
// connection, through the proxy of a running toolgate: in a pod of its own,
// with a world that owns public addresses.
func TestProxyCases(t *testing.T) {
	listed := notYet(t)
	p := newPod(t)
	for _, c := range readCases[egressCase](t, "testdata/egress.jsonl") {
		if c.Kind != "connect" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) { settle(t, c.ID, listed, c.connect(t, p)) })
	}
}

// counter numbers the networks of this process.
var counter world.Counter

// pod is a pod with toolgates in it, one for each setting of the variable.
type pod struct {
	net     *world.Net
	running map[bool]*sidecar
	deny    string // a target that an egress rule denies
}

func newPod(t *testing.T) *pod {
	t.Helper()
	return &pod{net: world.New(t, &counter, "1.1.1.1", "93.184.216.35"), running: map[bool]*sidecar{}}
}

// sidecar is a toolgate that runs in the pod.
type sidecar struct {
	*rig.Sidecar
	net *world.Net
}

// sidecar starts toolgate in the pod, once for each setting. It outlives the
// subtest that needs it first.
func (p *pod) sidecar(t *testing.T, loopback bool, extra ...string) *sidecar {
	t.Helper()
	if s := p.running[loopback]; s != nil && len(extra) == 0 {
		return s
	}
	doc := stubConfig(world.DNSAddr+":53", nil)
	doc["listen"] = object{"api": "127.0.0.1:0", "proxy": "127.0.0.1:0", "metrics": "127.0.0.1:0"}
	doc["egress"].(object)["anonymous"] = object{"agent": "a", "tool": "fetch_url"}
	if host, _, ok := strings.Cut(p.deny, ":"); ok {
		doc["egress"].(object)["rules"] = []object{{"deny": []string{host}}}
	}
	if loopback {
		extra = append(extra, "ALLOW_LOOPBACK_TOOL_URLS=true")
	}
	s := &sidecar{net: p.net, Sidecar: rig.Start(t, rig.Options{
		Binary: binary, Config: configFile(t, doc), Env: extra, Command: p.net.Pod, AtEnd: p.net.AtEnd,
	})}
	if len(extra) == 0 || loopback && len(extra) == 1 {
		p.running[loopback] = s
	}
	return s
}

// permit asks the decision API for a permit.
func (s *sidecar) permit(t *testing.T, tool string) string {
	t.Helper()
	body := fmt.Sprintf(`{"subject":{"type":"agent","id":"a"},"action":{"name":"tools/call"},"resource":{"type":"tool","id":%q}}`, tool)
	out, err := s.net.Pod("curl", "-sS", "-m", "5", "-H", "Authorization: Bearer "+s.Token,
		"-H", "Content-Type: application/json", "-d", body, "http://"+s.Addrs["api"]+"/access/v1/evaluation").Output()
	if err != nil {
		t.Fatal(err)
	}
	var a struct{ Context struct{ Permit string } }
	if err := json.Unmarshal(out, &a); err != nil || a.Context.Permit == "" {
		t.Fatalf("no permit in %s", out)
	}
	return a.Context.Permit
}

// connectInput is what a connect case describes.
type connectInput struct {
	Connect     *string
	Resolves    []string
	SNI         *string
	HostHeader  string `json:"host_header"`
	Request     string
	Host        json.RawMessage
	Headers     map[string]string
	HeadersList [][2]string `json:"headers_list"`
	Identity    string
	Claims      map[string]string `json:"claims_header"`
	Env         json.RawMessage

	// What needs more than one exchange, or a protocol that is not offered yet.
	Pool        json.RawMessage
	Upstream    string  `json:"upstream_proxy"`
	Relayed     bool    `json:"relayed_connect"`
	FirstBytes  *string `json:"first_bytes"`
	ClientHello string  `json:"client_hello"`
	SOCKSDomain string  `json:"socks5_domain"`
	SOCKSIP     string  `json:"socks5_ip"`
	H2          string  `json:"h2_extended_connect"`
}

// connect runs one case against the proxy.
func (c *egressCase) connect(t *testing.T, r *pod) string {
	t.Helper()
	var in connectInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		t.Fatal(err)
	}
	switch {
	case in.Upstream != "", in.SOCKSDomain != "", in.SOCKSIP != "", in.H2 != "":
		return "there is no public way to ask this yet"
	case in.Pool != nil:
		return c.pool(t, r, in.Pool)
	case in.Relayed:
		r = newPod(t) // with a rule of its own
		r.deny = *in.Connect
	case c.Expect == "deny" && (in.FirstBytes != nil || in.ClientHello != "" || in.Resolves != nil && in.Connect != nil && in.Identity == ""):
		return c.tunnelled(t, r, &in)
	}
	r.net.Set(t, world.Zone{Default: &world.Name{answerOf(in.Resolves)}}, nil)
	s := r.sidecar(t, c.Loopback, environment(in.Env)...)
	if in.Relayed {
		// Whoever relays the bytes, they are the same bytes.
		t.Logf("a relay sends what its client sends: %s", *in.Connect)
	}
	head := c.head(t, s, &in)
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(r.net.Raw(t, s.Addrs["proxy"], []byte(head)))), nil)
	if err != nil {
		return fmt.Sprintf("no HTTP response: %v", err)
	}
	return c.judge(t, r, res, &in)
}

// environment reads variables for the process; the truth value that some cases
// have there is the loopback variable, which egressCase already holds.
func environment(raw json.RawMessage) []string {
	var env map[string]string
	if json.Unmarshal(raw, &env) != nil {
		return nil
	}
	var out []string
	for k, v := range env {
		out = append(out, k+"="+v)
	}
	return out
}

// pool sends one request after the other for one host whose address changes.
// What was opened for the first must not serve the second.
func (c *egressCase) pool(t *testing.T, r *pod, raw json.RawMessage) string {
	t.Helper()
	var steps []struct {
		Tool, Host string
		Env        bool
		Resolves   []string
	}
	if err := json.Unmarshal(raw, &steps); err != nil {
		t.Fatal(err)
	}
	var answers world.Name
	loopback := false
	for _, step := range steps {
		answers = append(answers, answerOf(step.Resolves))
		loopback = loopback || step.Env
	}
	name, _, _ := strings.Cut(steps[0].Host, ":")
	r.net.Set(t, world.Zone{Names: map[string]world.Name{name: answers}}, nil)
	s := r.sidecar(t, loopback)
	var res *http.Response
	for _, step := range steps {
		one := egressCase{Browser: step.Tool == "browser"}
		host, err := json.Marshal(step.Host)
		if err != nil {
			return err.Error()
		}
		head := one.head(t, s, &connectInput{Request: "GET http://" + step.Host + "/ HTTP/1.1", Host: host})
		res, err = http.ReadResponse(bufio.NewReader(bytes.NewReader(r.net.Raw(t, s.Addrs["proxy"], []byte(head)))), nil)
		if err != nil {
			return err.Error()
		}
	}
	reason := res.Header.Get("X-Toolgate-Reason")
	if c.Expect == "allow" && (res.StatusCode != http.StatusOK || reason != "") || c.Expect == "deny" && (res.StatusCode < 400 || reason != c.Reason) {
		return fmt.Sprintf("the second request: status %d, reason %q, want %s %s", res.StatusCode, reason, c.Expect, c.Reason)
	}
	return ""
}

func answerOf(resolves []string) world.Answer {
	a := world.Answer{TTL: 0}
	for _, ip := range resolves {
		if strings.Contains(ip, ":") {
			a.AAAA = append(a.AAAA, ip)
		} else {
			a.A = append(a.A, ip)
		}
	}
	return a
}

// head writes the request as the case says.
func (c *egressCase) head(t *testing.T, s *sidecar, in *connectInput) string {
	t.Helper()
	var b strings.Builder
	credentials := func(user, password string) {
		b.WriteString("Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + "\r\n")
	}
	if in.Connect != nil {
		target := strings.ReplaceAll(strings.ReplaceAll(*in.Connect, "ADMIN_PORT", port(s.Addrs["api"])), `\x00`, "\x00")
		host := target
		if in.HostHeader != "" {
			host = in.HostHeader
		}
		fmt.Fprintf(&b, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n", target, host)
	} else {
		b.WriteString(in.Request + "\r\n" + hostLines(in.Host))
	}
	for k, v := range in.Headers {
		b.WriteString(k + ": " + v + "\r\n")
	}
	for _, h := range in.HeadersList {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	for k, v := range in.Claims {
		b.WriteString(k + ": " + v + "\r\n")
	}
	switch {
	case in.Identity == "unknown-tool":
		credentials("no_such_tool", s.permit(t, "fetch_url"))
	case in.Identity != "":
		credentials("fetch_url", s.permit(t, "fetch_url"))
	case c.Browser:
		credentials("browser_open", s.permit(t, "browser_open"))
	}
	b.WriteString("\r\n")
	if strings.HasPrefix(in.Request, "POST") {
		b.WriteString("4\r\nabcd\r\n0\r\n\r\n")
	}
	return b.String()
}

// hostLines writes the Host field: one, several, or none.
func hostLines(raw json.RawMessage) string {
	var one string
	var many []string
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return ""
	case json.Unmarshal(raw, &one) == nil:
		return "Host: " + one + "\r\n"
	case json.Unmarshal(raw, &many) == nil:
		return "Host: " + strings.Join(many, "\r\nHost: ") + "\r\n"
	}
	return ""
}

func port(addr string) string { return addr[strings.LastIndexByte(addr, ':')+1:] }

// judge compares the proxy's response with the label. A refusal carries its
// code, and the world has seen nothing of it; an allow reached the world, with
// the host that was vetted.
func (c *egressCase) judge(t *testing.T, r *pod, res *http.Response, in *connectInput) string {
	t.Helper()
	reason := res.Header.Get("X-Toolgate-Reason")
	seen := r.net.Seen(t)
	if c.Expect == "deny" {
		if res.StatusCode < 400 || reason != c.Reason {
			return fmt.Sprintf("status %d, reason %q, want a refusal with %s", res.StatusCode, reason, c.Reason)
		}
		if seen.Connections > 0 {
			return fmt.Sprintf("refused, and yet the world saw %+v", seen)
		}
		return ""
	}
	// Behind a loopback target nothing listens: whoever may dial it is told so.
	if c.Loopback && c.Browser {
		if reason != "connect_failed" {
			return fmt.Sprintf("status %d, reason %q, want an attempt to connect", res.StatusCode, reason)
		}
		return ""
	}
	if res.StatusCode != http.StatusOK || reason != "" {
		return fmt.Sprintf("status %d, reason %q, want 200", res.StatusCode, reason)
	}
	if in.Request != "" && (len(seen.Requests) != 1 || !strings.HasPrefix(seen.Requests[0], "GET www.example.com /")) {
		return fmt.Sprintf("the origin saw %v", seen.Requests)
	}
	return ""
}

// fetchDNS runs a DNS case that is about a connection.
func (c *egressCase) fetchDNS(t *testing.T, in *dnsInput) string {
	t.Helper()
	r := newPod(t)
	answers := world.Name{{A: []string{"93.184.216.99"}}} // nobody owns it
	if in.DecisionThenFetch != nil {
		answers = world.Name{{A: in.DecisionThenFetch.Decision}, {A: in.DecisionThenFetch.Fetch}}
	}
	r.net.Set(t, world.Zone{Names: map[string]world.Name{in.Host: answers}}, nil)
	s := r.sidecar(t, false)
	target := fmt.Sprintf("%s:%d", in.Host, in.Port)
	if in.DecisionThenFetch != nil {
		body := fmt.Sprintf(`{"subject":{"type":"agent","id":"a"},"action":{"name":"fetch"},"resource":{"type":"url","id":"https://%s/"},"context":{"tool":"fetch_url"}}`, target)
		out, err := r.net.Pod("curl", "-sS", "-m", "5", "-H", "Authorization: Bearer "+s.Token, "-H", "Content-Type: application/json",
			"-d", body, "http://"+s.Addrs["api"]+"/access/v1/evaluation").Output()
		if err != nil || !bytes.HasPrefix(out, []byte(`{"decision":true`)) {
			return fmt.Sprintf("the decision is %s (%v)", out, err)
		}
	}
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(
		r.net.Raw(t, s.Addrs["proxy"], []byte("CONNECT "+target+" HTTP/1.1\r\nHost: "+target+"\r\n\r\n")))), nil)
	if err != nil {
		return err.Error()
	}
	if reason := res.Header.Get("X-Toolgate-Reason"); res.StatusCode < 400 || reason != c.Reason {
		return fmt.Sprintf("status %d, reason %q, want %s", res.StatusCode, reason, c.Reason)
	}
	if in.Unreachable != nil {
		if n := len(r.net.Seen(t).Queries); n > 2 { // one of each family
			return fmt.Sprintf("the name was looked up again: %v", r.net.Seen(t).Queries)
		}
	}
	return ""
}
