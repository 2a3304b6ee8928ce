package policy_test

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/configs"
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/ipclass"
	"github.com/toolgate/toolgate/internal/policy"
)

// names is a resolver from a table.
type names map[string]policy.Answer

var errNoName = errors.New("no such name")

func (n names) Lookup(_ context.Context, host string) (policy.Answer, error) {
	if a, ok := n[host]; ok {
		return a, nil
	}
	return policy.Answer{}, errNoName
}

func addrs(list ...string) policy.Answer {
	var a policy.Answer
	for _, s := range list {
		a.Addrs = append(a.Addrs, netip.MustParseAddr(s))
	}
	return a
}

// world is what the tests resolve.
func world() names {
	alias := addrs("93.184.216.34")
	alias.Chain = []string{"metadata.google.internal"}
	return names{
		"www.example.com": addrs("93.184.216.34", "2606:2800:220::1"),
		"cdn.example.net": addrs("93.184.216.35"),
		"private.example": addrs("93.184.216.34", "10.0.0.1"),
		"meta.example":    addrs("10.0.0.1", "169.254.169.254"),
		"alias.example":   alias,
		"localhost":       addrs("127.0.0.1", "::1"),
		"db.internal":     addrs("10.0.0.9"),
	}
}

// compile compiles a document; change may alter the options.
func compile(t testing.TB, text string, change func(*policy.Options)) (*policy.Snapshot, []allowlist.Problem) {
	t.Helper()
	data, problems := config.LoadCatalogue("catalogue.yaml", configs.Catalogue())
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	catalogue, bad := allowlist.NewCatalogue(data.CatalogueData)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	doc, problems := config.Load("toolgate.yaml", []byte(text), catalogue)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	table, err := ipclass.New()
	if err != nil {
		t.Fatal(err)
	}
	o := policy.Options{Document: doc, Catalogue: catalogue, Revision: "r1", Addresses: table, Resolver: world()}
	if change != nil {
		change(&o)
	}
	s, found, err := policy.Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	return s, found
}

const document = `version: 1
tools:
  terminal:
    enabled: true
    sandbox: {mode: allowlist, allow: [ls, git status|log], block: [git push]}
agents:
  all: {tools: []}
  dev: {catalogue: backend-developer}
  pm: {tools: [move_board_task, fetch_url], conditions: [{tool: move_board_task, arg: board, one_of: [SHOP]}]}
  reviewer: {registry: rt, role: review, grant: [Bash]}
  git: {tools: [run_terminal], conditions: [{tool: run_terminal, arg: command, prefix: "git "}]}
  placed: {tools: [run_terminal], conditions: [{tool: run_terminal, arg: cwd, under: /workspace}]}
  watched: {tools: [fetch_url, browser_open, run_terminal], mode: report}
`

func snapshot(t testing.TB) *policy.Snapshot {
	t.Helper()
	s, problems := compile(t, document, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return s
}

func tool(agent, name string, args decision.Arguments) *decision.Request {
	return &decision.Request{Agent: agent, Resource: decision.Resource{Kind: decision.KindTool, ID: name}, Arguments: args, Proven: true}
}

func fetch(agent, url string, hops ...string) *decision.Request {
	return &decision.Request{Agent: agent, Tool: "fetch_url", Proven: true, Hops: hops, Resource: decision.Resource{Kind: decision.KindURL, ID: url}}
}

func command(agent, script string) *decision.Request {
	return &decision.Request{Agent: agent, Resource: decision.Resource{Kind: decision.KindCommand, ID: script}, Proven: true}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	s := snapshot(t)
	type args = decision.Arguments
	for name, row := range map[string]struct {
		req   *decision.Request
		want  decision.Reason
		guard decision.Guard
	}{
		"no agent":                   {tool("", "read_file", nil), decision.NoIdentity, decision.GuardTool},
		"an unknown agent":           {tool("nobody", "read_file", nil), decision.UnknownAgent, decision.GuardTool},
		"a run, which none is open":  {&decision.Request{Agent: "all", Facts: decision.Facts{Run: "r"}, Resource: decision.Resource{Kind: decision.KindTool, ID: "read_file"}}, decision.UnknownRun, decision.GuardTool},
		"a version that is not kept": {&decision.Request{Agent: "all", Version: "v", Resource: decision.Resource{Kind: decision.KindTool, ID: "read_file"}}, decision.UnknownVersion, decision.GuardTool},
		"an unknown kind":            {&decision.Request{Agent: "all"}, decision.BadRequest, decision.GuardTool},
		"a held tool":                {tool("dev", "read_file", nil), decision.Listed, decision.GuardTool},
		"a tool never held":          {tool("dev", "merge_task_pull_request", nil), decision.NotListed, decision.GuardTool},

		"the shell, asked without a command": {tool("dev", "run_terminal", nil), decision.Listed, decision.GuardTool},
		"an allowed command in a call":       {tool("dev", "run_terminal", args{"command": "git status"}), decision.Listed, decision.GuardTool},
		"a refused command in a call":        {tool("dev", "run_terminal", args{"command": "curl x"}), decision.CommandNotAllowed, decision.GuardTerminal},
		"a blocked command in a call":        {tool("dev", "run_terminal", args{"command": "git push"}), decision.CommandBlocked, decision.GuardTerminal},
		"a call without its command":         {tool("dev", "run_terminal", args{}), decision.CommandUnresolvable, decision.GuardTerminal},
		"a command that is not text":         {tool("dev", "run_terminal", args{"command": []any{"ls"}}), decision.CommandUnresolvable, decision.GuardTerminal},
		"a second key that looks like it":    {tool("dev", "run_terminal", args{"command": "ls", "Command": "curl x"}), decision.ArgumentNotAllowed, decision.GuardTool},
		"an allowed URL in a call":           {tool("dev", "fetch_url", args{"url": "https://www.example.com/"}), decision.Listed, decision.GuardTool},
		"a refused URL in a call":            {tool("dev", "fetch_url", args{"url": "http://169.254.169.254/"}), decision.URLMetadata, decision.GuardURL},
		"a URL that is not text":             {tool("dev", "fetch_url", args{"url": 5.0}), decision.URLInvalid, decision.GuardURL},
		"a key that looks like the URL":      {tool("dev", "fetch_url", args{"URL": "http://169.254.169.254/"}), decision.ArgumentNotAllowed, decision.GuardTool},
		"a met condition":                    {tool("pm", "move_board_task", args{"board": "SHOP"}), decision.Listed, decision.GuardTool},
		"a condition not met":                {tool("pm", "move_board_task", args{"board": "X"}), decision.ArgumentNotAllowed, decision.GuardTool},

		"a command":                    {command("dev", "ls && git log"), decision.CommandOK, decision.GuardTerminal},
		"a command not allowed":        {command("dev", "ls; curl x"), decision.CommandNotAllowed, decision.GuardTerminal},
		"a command in its condition":   {command("git", "git status"), decision.CommandOK, decision.GuardTerminal},
		"a command outside it":         {command("git", "ls"), decision.ArgumentNotAllowed, decision.GuardTerminal},
		"a condition on more than it":  {command("placed", "ls"), decision.ArgumentNotAllowed, decision.GuardTerminal},
		"an agent without a shell":     {command("pm", "ls"), decision.NotListed, decision.GuardTerminal},
		"a shell outside the remit":    {command("reviewer", "ls"), decision.OutsideRemit, decision.GuardTerminal},
		"a tool that runs no commands": {&decision.Request{Agent: "dev", Tool: "read_file", Resource: decision.Resource{Kind: decision.KindCommand, ID: "ls"}}, decision.BadRequest, decision.GuardTerminal},

		"a URL":                         {fetch("dev", "https://www.example.com/"), decision.URLOK, decision.GuardURL},
		"a name with a private address": {fetch("dev", "https://private.example/"), decision.URLPrivate, decision.GuardURL},
		"metadata speaks first":         {fetch("dev", "https://meta.example/"), decision.URLMetadata, decision.GuardURL},
		"an alias to metadata":          {fetch("dev", "https://alias.example/"), decision.URLMetadata, decision.GuardURL},
		"a name that does not resolve":  {fetch("dev", "https://nowhere.example/"), decision.DNSFailed, decision.GuardURL},
		"a tool that the agent lacks":   {&decision.Request{Agent: "pm", Tool: "browser_open", Resource: decision.Resource{Kind: decision.KindURL, ID: "https://www.example.com/"}}, decision.NotListed, decision.GuardURL},
		"a disguised loopback":          {fetch("dev", "http://0x7f.1/"), decision.URLLoopback, decision.GuardURL},
		"a redirect outside":            {fetch("dev", "https://www.example.com/", "https://cdn.example.net/"), decision.URLOK, decision.GuardURL},
		"a redirect inside":             {fetch("dev", "https://www.example.com/", "https://cdn.example.net/", "http://10.0.0.1/"), decision.URLRedirect, decision.GuardURL},
		"a redirect in a circle":        {fetch("dev", "https://www.example.com/", "https://cdn.example.net/", "https://www.example.com/"), decision.URLRedirect, decision.GuardURL},
		"a CONNECT":                     {&decision.Request{Agent: "dev", Tool: "fetch_url", Resource: decision.Resource{Kind: decision.KindURL, Form: decision.FormAuthority, ID: "www.example.com:443"}}, decision.URLOK, decision.GuardURL},
		"a CONNECT without a port":      {&decision.Request{Agent: "dev", Tool: "fetch_url", Resource: decision.Resource{Kind: decision.KindURL, Form: decision.FormAuthority, ID: "www.example.com"}}, decision.URLPort, decision.GuardURL},
	} {
		d := s.Decide(t.Context(), row.req)
		if d.Reason != row.want || d.Guard != row.guard || d.Allowed() != row.want.Allows() {
			t.Errorf("%s: %v by %v (allowed %t), want %v by %v; detail %q", name, d.Reason, d.Guard, d.Allowed(), row.want, row.guard, d.Detail)
		}
		if d.Allowed() && row.req.Resource.Kind == decision.KindURL && len(d.Vetted.Addrs) == 0 {
			t.Errorf("%s: allowed, and nothing to dial", name)
		}
		if !d.Allowed() && len(d.Vetted.Addrs) > 0 && row.req.Resource.Kind == decision.KindURL && d.Reason != decision.URLRedirect {
			t.Errorf("%s: refused with %v, and something to dial", name, d.Reason)
		}
		if d.Revision != "r1" {
			t.Errorf("%s: revision %q", name, d.Revision)
		}
	}
}

func TestHopOfTheRefusal(t *testing.T) {
	t.Parallel()
	d := snapshot(t).Decide(t.Context(), fetch("dev", "https://www.example.com/", "https://cdn.example.net/", "http://127.0.0.1/"))
	if d.Hop != 2 || !strings.Contains(d.Detail, "url_loopback") {
		t.Errorf("hop %d, detail %q", d.Hop, d.Detail)
	}
	hops := []string{}
	for i := range 11 {
		hops = append(hops, "https://www.example.com/"+strings.Repeat("x", i+1))
	}
	if d := snapshot(t).Decide(t.Context(), fetch("dev", "https://www.example.com/", hops...)); d.Reason != decision.URLRedirect {
		t.Errorf("11 redirects: %v", d.Reason)
	}
	if d := snapshot(t).Decide(t.Context(), fetch("dev", "https://www.example.com/", hops[:10]...)); !d.Allowed() {
		t.Errorf("10 redirects: %v", d.Reason)
	}
}

func TestReportMode(t *testing.T) {
	t.Parallel()
	s := snapshot(t)
	for name, row := range map[string]struct {
		req   *decision.Request
		want  decision.Reason
		allow bool
	}{
		"a tool not listed is let through":   {tool("watched", "write_file", nil), decision.NotListed, true},
		"a command too":                      {command("watched", "curl x"), decision.CommandNotAllowed, true},
		"a private address too":              {fetch("watched", "https://private.example/"), decision.URLPrivate, true},
		"an internal name too":               {fetch("watched", "http://db.internal/"), decision.URLInternal, true},
		"an unknown tool is a fault":         {tool("watched", "nothing", nil), decision.UnknownTool, false},
		"metadata stays shut":                {fetch("watched", "http://169.254.169.254/"), decision.URLMetadata, false},
		"metadata behind a private address":  {fetch("watched", "https://meta.example/"), decision.URLMetadata, false},
		"an alias to metadata":               {fetch("watched", "https://alias.example/"), decision.URLMetadata, false},
		"a name that does not resolve":       {fetch("watched", "https://nowhere.example/"), decision.DNSFailed, false},
		"what cannot be read":                {fetch("watched", "http://a@b/"), decision.URLUserinfo, false},
		"a disguise has no canonical target": {fetch("watched", "http://0x7f.1/"), decision.URLLoopback, false},
		"what is fine is fine":               {fetch("watched", "https://www.example.com/"), decision.URLOK, true},
	} {
		d := s.Decide(t.Context(), row.req)
		if d.Reason != row.want || d.Allowed() != row.allow || d.Would != (row.allow && !row.want.Allows()) {
			t.Errorf("%s: %v, allowed %t, would deny %t", name, d.Reason, d.Allowed(), d.Would)
		}
		if d.Allowed() && row.req.Resource.Kind == decision.KindURL && len(d.Vetted.Addrs) == 0 {
			t.Errorf("%s: let through, and nothing to dial", name)
		}
	}
}

func TestLoopbackRedirect(t *testing.T) {
	t.Parallel()
	s, problems := compile(t, document, func(o *policy.Options) { o.Loopback = true })
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	browse := func(url string, hops ...string) decision.Reason {
		r := fetch("dev", url, hops...)
		r.Tool = "browser_open"
		return s.Decide(t.Context(), r).Reason
	}
	watched := fetch("watched", "https://www.example.com/", "http://localhost:3000/")
	watched.Tool = "browser_open"
	if d := s.Decide(t.Context(), watched); d.Allowed() || d.Reason != decision.URLRedirect {
		t.Errorf("report mode lets a page outside lead into loopback: %v, would deny %t", d.Reason, d.Would)
	}
	for name, row := range map[string]struct {
		got, want decision.Reason
	}{
		"localhost":                       {browse("http://localhost:3000/"), decision.URLOK},
		"within the local application":    {browse("http://localhost:3000/", "http://127.0.0.1:3000/login"), decision.URLOK},
		"the local application sends out": {browse("http://localhost:3000/", "https://www.example.com/"), decision.URLOK},
		"a page outside leads in":         {browse("https://www.example.com/", "http://localhost:3000/"), decision.URLRedirect},
		"the local application leads on":  {browse("http://localhost:3000/", "http://10.0.0.1/"), decision.URLRedirect},
		"a fetch tool is not let in":      {s.Decide(t.Context(), fetch("dev", "http://localhost:3000/")).Reason, decision.URLLoopback},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v, want %v", name, row.got, row.want)
		}
	}
}

func TestZeroPDPRefuses(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		req  *decision.Request
		want decision.Guard
	}{
		"a tool":    {tool("all", "read_file", nil), decision.GuardTool},
		"a URL":     {fetch("all", "https://www.example.com/"), decision.GuardURL},
		"a command": {command("all", "ls"), decision.GuardTerminal},
		"nothing":   {nil, decision.GuardTool},
	} {
		if d := new(policy.PDP).Decide(t.Context(), row.req); d.Allowed() || d.Reason != decision.InternalError || d.Guard != row.want {
			t.Errorf("%s, no policy: %v by %v", name, d.Reason, d.Guard)
		}
	}
}

// panicky is a resolver with a fault.
type panicky struct{}

func (panicky) Lookup(context.Context, string) (policy.Answer, error) { panic("lost") }

func TestAFaultInsideDenies(t *testing.T) {
	t.Parallel()
	s, _ := compile(t, document, func(o *policy.Options) { o.Resolver = panicky{} })
	if d := s.Decide(t.Context(), fetch("dev", "https://www.example.com/")); d.Allowed() || d.Reason != decision.InternalError {
		t.Errorf("a fault inside: %v", d.Reason)
	}
}

// TestChainsThatReportModeRefuses: the end of such a chain is never vetted.
func TestChainsThatReportModeRefuses(t *testing.T) {
	t.Parallel()
	s := snapshot(t)
	long := make([]string, 11)
	for i := range long {
		long[i] = "https://www.example.com/" + strings.Repeat("x", i+1)
	}
	for name, hops := range map[string][]string{
		"a circle":   {"https://cdn.example.net/", "https://www.example.com/"},
		"too long":   long,
		"metadata":   {"http://169.254.169.254/"},
		"a loopback": {"http://127.0.0.1/"},
	} {
		if d := s.Decide(t.Context(), fetch("watched", "https://www.example.com/", hops...)); d.Allowed() || d.Reason != decision.URLRedirect {
			t.Errorf("%s: %v, allowed %t", name, d.Reason, d.Allowed())
		}
	}
	d := s.Decide(t.Context(), fetch("watched", "https://www.example.com/", "http://10.0.0.1/"))
	if !d.Allowed() || !d.Would || d.Hop != 1 || d.Vetted.Endpoint.Host != "www.example.com" {
		t.Errorf("a redirect to a private address: %v, allowed %t, hop %d, to dial %q", d.Reason, d.Allowed(), d.Hop, d.Vetted.Endpoint.Host)
	}
}

// TestRuleOfADeclaredTool: a name that no registry has binds the tool that an
// agent declares, and no other.
func TestRuleOfADeclaredTool(t *testing.T) {
	t.Parallel()
	text := document + `  caller: {provider: openai-api, http_tools: [lookup, other]}
egress: {rules: [{tools: [lookup], allow: [cdn.example.net]}]}
`
	s, problems := compile(t, text, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for tool, want := range map[string]decision.Reason{"lookup": decision.HostNotAllowed, "other": decision.URLOK} {
		r := fetch("caller", "https://www.example.com/")
		r.Tool = tool
		if d := s.Decide(t.Context(), r); d.Reason != want {
			t.Errorf("%s: %v, want %v", tool, d.Reason, want)
		}
	}
}

func TestAnonymousProblems(t *testing.T) {
	t.Parallel()
	text := document + "egress: {anonymous: {agent: dev, tool: browser_open}}\n"
	if _, problems := compile(t, text, nil); len(problems) > 0 {
		t.Errorf("without the variable: %v", problems)
	}
	if _, problems := compile(t, text, func(o *policy.Options) { o.Loopback = true }); len(problems) != 1 || problems[0].Pos.IsZero() {
		t.Errorf("an anonymous browser with loopback open: %v", problems)
	}
}

func TestVersionIsTheContent(t *testing.T) {
	t.Parallel()
	version := func(text string) string {
		s, problems := compile(t, text, nil)
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return s.Decide(t.Context(), tool("reviewer", "Read", nil)).AgentVersion
	}
	base := version(document)
	if !strings.HasPrefix(base, "reviewer@sha256:") || len(base) != len("reviewer@sha256:")+64 {
		t.Errorf("version %q", base)
	}
	if moved := version(strings.Replace(document, "agents:\n", "agents:\n\n\n", 1)); moved != base {
		t.Error("moving an agent in the file makes a new version")
	}
	for _, edit := range []string{"grant: [Glob]", "grant: [Bash], deny: [Read]", "grant: [Bash], model: m", "grant: [Bash], prompt: p"} {
		if v := version(strings.Replace(document, "grant: [Bash]", edit, 1)); v == base {
			t.Errorf("edit %q makes no new version", edit)
		}
	}
}

func BenchmarkDecideTool(b *testing.B) {
	s := snapshot(b)
	r := tool("reviewer", "Read", nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(b.Context(), r)
	}
}

func BenchmarkDecideCommand(b *testing.B) {
	s, _ := compile(b, strings.Replace(document, "[ls, git status|log]", "[git log, grep, sort, head, wc]", 1), nil)
	r := command("dev", "git log --oneline | grep -v wip | sort -u | head -5")
	if d := s.Decide(b.Context(), r); !d.Allowed() {
		b.Fatal(d.AdminText())
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(b.Context(), r)
	}
}

func BenchmarkDecideURLWarm(b *testing.B) {
	s := snapshot(b)
	r := fetch("dev", "https://www.example.com/some/path?with=query")
	b.ReportAllocs()
	for b.Loop() {
		s.Decide(b.Context(), r)
	}
}
