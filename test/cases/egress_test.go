package cases_test

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"github.com/miekg/dns"
)

// egressCase is a target and what must become of it. Browser says that the tool
// is a browser tool, Loopback that ALLOW_LOOPBACK_TOOL_URLS is true.
type egressCase struct {
	ID       string          `json:"id"`
	Kind     string          `json:"kind"` // url, addr, redirect, dns, connect
	Input    json.RawMessage `json:"input"`
	Browser  bool            `json:"browser,omitempty"`
	Loopback bool            `json:"loopback,omitempty"`
	Expect   string          `json:"expect"`
	Reason   string          `json:"reason"`
}

// TestEgressCases asks the decision function about every URL, address, redirect
// and DNS case. Connections are in proxy_test.go.
func TestEgressCases(t *testing.T) {
	t.Parallel()
	listed := notYet(t)
	for _, c := range readCases[egressCase](t, "testdata/egress.jsonl") {
		if c.Kind == "connect" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			settle(t, c.ID, listed, c.decide(t))
		})
	}
}

// tool is the tool that dials in the case.
func (c *egressCase) tool() string {
	if c.Browser {
		return "browser_open"
	}
	return "fetch_url"
}

func (c *egressCase) env() []string {
	if c.Loopback {
		return []string{"ALLOW_LOOPBACK_TOOL_URLS=true"}
	}
	return nil
}

// decide asks the case and returns what is wrong with the answer.
func (c *egressCase) decide(t *testing.T) string {
	t.Helper()
	var answers []answer
	switch c.Kind {
	case "url", "addr":
		answers = c.ask(t, newStub(t, publicAnswer()), c.url(t))
	case "redirect":
		answers = c.askRedirect(t)
	case "dns":
		return c.decideDNS(t)
	}
	return compareVerdict(answers[len(answers)-1], c.Expect, c.Reason)
}

// url is the URL of a url or addr case.
func (c *egressCase) url(t *testing.T) string {
	t.Helper()
	var text string
	if err := json.Unmarshal(c.Input, &text); err != nil {
		t.Fatal(err)
	}
	if c.Kind == "addr" {
		return "http://" + bracket(text) + "/"
	}
	return text
}

// ask asks about URLs, one after the other in one process.
func (c *egressCase) ask(t *testing.T, s *stub, urls ...string) []answer {
	t.Helper()
	var questions []object
	for _, u := range urls {
		questions = append(questions, c.question(u, nil))
	}
	return decide(t, configFile(t, stubConfig(s.addr, nil)), c.env(), questions...)
}

func (c *egressCase) question(url string, hops []string) object {
	resource := object{"type": "url", "id": url}
	if hops != nil {
		resource["properties"] = object{"hops": hops}
	}
	return object{
		"subject": object{"type": "agent", "id": "a"}, "action": object{"name": "fetch"},
		"resource": resource, "context": object{"tool": c.tool()},
	}
}

// stubConfig is an unrestricted agent and the resolver of the test.
func stubConfig(resolver string, hosts object) object {
	r := object{"servers": []string{resolver}, "timeout": "700ms"}
	if hosts != nil {
		r["hosts"] = hosts
	}
	return object{
		"version": 1,
		"agents":  object{"a": object{"tools": []any{}}},
		"egress":  object{"resolver": r},
	}
}

func (c *egressCase) askRedirect(t *testing.T) []answer {
	t.Helper()
	var in struct {
		Chain []struct {
			URL      string
			Resolves []string
		}
	}
	if err := json.Unmarshal(c.Input, &in); err != nil {
		t.Fatal(err)
	}
	zone := map[string][]reply{}
	var hops []string
	for _, hop := range in.Chain {
		hops = append(hops, hop.URL)
		host := hop.URL[strings.Index(hop.URL, "//")+2:]
		host, _, _ = strings.Cut(host, "/")
		host, _, _ = strings.Cut(host, ":")
		zone[host] = []reply{addresses(hop.Resolves)}
	}
	s := newStub(t, zone)
	return decide(t, configFile(t, stubConfig(s.addr, nil)), c.env(), c.question(hops[0], hops[1:]))
}

// dnsInput is what a DNS case describes.
type dnsInput struct {
	Host    string
	Port    int
	Answers struct{ A, AAAA []string }
	CNAME   []string
	Final   []string
	RCode   string
	Timeout bool
	TTL     *uint32
	Repeat  [][]string
	AtDial  *struct{ A, AAAA []string } `json:"answers_at_dial"`
	HTTPSRR *struct {
		IPv4Hint []string
		Port     int
	} `json:"https_rr"`
	MustSee    []string `json:"resolver_must_see"`
	MustNotAsk bool     `json:"resolver_must_not_be_asked"`

	// Unreachable and DecisionThenFetch need a connection: proxy_test.go.
	Unreachable       []string
	DecisionThenFetch *struct{ Decision, Fetch []string } `json:"decision_then_fetch"`
}

// needsProxy reports whether the case is about a connection.
func (in *dnsInput) needsProxy() bool { return in.Unreachable != nil || in.DecisionThenFetch != nil }

// replies is what the resolver answers, in turn.
func (in *dnsInput) replies() []reply {
	one := addresses(append(append([]string{}, in.Answers.A...), in.Answers.AAAA...))
	one.cname, one.silent = in.CNAME, in.Timeout
	if in.CNAME != nil {
		final := addresses(in.Final)
		one.a, one.aaaa = final.a, final.aaaa
	}
	if in.RCode != "" {
		one.rcode = dns.StringToRcode[in.RCode]
	}
	if in.TTL != nil {
		one.ttl = *in.TTL
	} else {
		one.ttl = 60
	}
	if in.Repeat == nil {
		return []reply{one}
	}
	var out []reply
	for _, addrs := range in.Repeat {
		next := addresses(addrs)
		next.ttl = one.ttl
		out = append(out, next)
	}
	return out
}

func (c *egressCase) decideDNS(t *testing.T) string {
	t.Helper()
	var in dnsInput
	if err := json.Unmarshal(c.Input, &in); err != nil {
		t.Fatal(err)
	}
	if in.needsProxy() {
		return c.fetchDNS(t, &in)
	}
	name := strings.TrimSuffix(strings.ToLower(in.Host), ".")
	if name == "localhost" && in.Answers.A != nil {
		return c.staticLocalhost(t, &in)
	}
	s := newStub(t, map[string][]reply{name: in.replies()})
	scheme := "https"
	if in.Port != 443 {
		scheme = "http"
	}
	urls := []string{fmt.Sprintf("%s://%s:%d/", scheme, in.Host, in.Port)}
	for range len(in.Repeat) - 1 {
		urls = append(urls, urls[0])
	}
	answers := c.ask(t, s, urls...)
	asked := s.questions()
	if in.MustNotAsk && len(asked) > 0 {
		return fmt.Sprintf("the resolver was asked %v", asked)
	}
	for _, q := range asked {
		if want := name + "."; q != want && !contains(in.CNAME, strings.TrimSuffix(q, ".")) {
			return fmt.Sprintf("the resolver was asked %q, want only %q", q, want)
		}
	}
	if in.Repeat != nil && !answers[0].Decision {
		return "the first request is refused"
	}
	return compareVerdict(answers[len(answers)-1], c.Expect, c.Reason)
}

// staticLocalhost gives localhost an answer by the only way that could: static
// hosts. The configuration is refused.
func (c *egressCase) staticLocalhost(t *testing.T, in *dnsInput) string {
	t.Helper()
	file := configFile(t, stubConfig("127.0.0.1:9", object{in.Host: in.Answers.A}))
	if out, code := toolgate(t, c.env(), "", "check", file); code != 2 {
		return fmt.Sprintf("check ends with %d: %s", code, out)
	}
	return ""
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if strings.EqualFold(x, s) {
			return true
		}
	}
	return false
}

// reply is one answer of the stub resolver.
type reply struct {
	a, aaaa, cname []string
	ttl            uint32
	rcode          int
	silent         bool
}

// addresses is a reply with these addresses.
func addresses(list []string) reply {
	r := reply{ttl: 60}
	for _, a := range list {
		if strings.Contains(a, ":") {
			r.aaaa = append(r.aaaa, a)
		} else {
			r.a = append(r.a, a)
		}
	}
	return r
}

// publicAnswer answers every name with a public address.
func publicAnswer() map[string][]reply {
	return map[string][]reply{"*": {addresses([]string{"93.184.216.34"})}}
}

// stub is a resolver on loopback.
type stub struct {
	addr  string
	zone  map[string][]reply
	mu    sync.Mutex
	asked []string
	used  map[string]int
}

func newStub(t testing.TB, zone map[string][]reply) *stub {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &stub{addr: pc.LocalAddr().String(), zone: zone, used: map[string]int{}}
	srv := &dns.Server{PacketConn: pc, Handler: dns.HandlerFunc(s.answer)}
	done := make(chan struct{})
	go func() { defer close(done); srv.ActivateAndServe() }()
	t.Cleanup(func() { pc.Close(); <-done })
	return s
}

func (s *stub) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string{}, s.asked...)
}

func (s *stub) answer(w dns.ResponseWriter, q *dns.Msg) {
	if len(q.Question) != 1 {
		return
	}
	question := q.Question[0]
	r, ok := s.next(question)
	if r.silent {
		return
	}
	m := new(dns.Msg)
	m.SetReply(q)
	m.RecursionAvailable = true
	if m.Rcode = r.rcode; !ok {
		m.Rcode = dns.RcodeNameError
	}
	owner := question.Name
	add := func(kind, data string) {
		if rr, err := dns.NewRR(fmt.Sprintf("%s %d IN %s %s", owner, r.ttl, kind, data)); err == nil {
			m.Answer = append(m.Answer, rr)
		}
	}
	for _, alias := range r.cname {
		add("CNAME", dns.Fqdn(alias))
		owner = dns.Fqdn(alias)
	}
	list, kind := r.a, "A"
	if question.Qtype == dns.TypeAAAA {
		list, kind = r.aaaa, "AAAA"
	}
	for _, ip := range list {
		add(kind, ip)
	}
	_ = w.WriteMsg(m)
}

// next is the reply that is due for a question.
func (s *stub) next(q dns.Question) (reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, q.Name)
	name := strings.TrimSuffix(strings.ToLower(q.Name), ".")
	list, ok := s.zone[name]
	if !ok {
		list, ok = s.zone["*"]
	}
	if len(list) == 0 {
		return reply{}, false
	}
	key := fmt.Sprint(name, q.Qtype)
	i := min(s.used[key], len(list)-1)
	s.used[key]++
	return list[i], ok
}
