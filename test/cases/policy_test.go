package cases_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// policyCase is a case of tool policy.
type policyCase struct {
	ID     string `json:"id"`
	Given  object `json:"given"`
	Ask    object `json:"ask"`
	Expect object `json:"expect"`
}

func TestPolicyCases(t *testing.T) {
	t.Parallel()
	listed := notYet(t)
	for _, c := range readCases[policyCase](t, "testdata/policy.jsonl") {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			settle(t, c.ID, listed, c.run(t))
		})
	}
}

// run asks the case and returns what is wrong with the answer.
func (c *policyCase) run(t *testing.T) string {
	t.Helper()
	doc, ok := c.config()
	if !ok {
		return "there is no public way to ask this yet"
	}
	file := configFile(t, doc)
	if c.Expect["load_error"] == true {
		if _, code := toolgate(t, nil, "", "check", file); code != 2 {
			return fmt.Sprintf("check ends with %d, want 2", code)
		}
		return ""
	}
	switch c.Ask["op"] {
	case "decide", "url", "scope":
		return c.compare(decide(t, file, c.env(), c.question())[0])
	case "resolve", "list_tools", "mcp_servers":
		return c.compareList(explain(t, file, c.facts()))
	}
	return "there is no public way to ask this yet"
}

// env is the process environment of the case.
func (c *policyCase) env() []string {
	var env []string
	given, _ := c.Given["env"].(object)
	for _, k := range slices.Sorted(maps.Keys(given)) {
		env = append(env, fmt.Sprintf("%s=%v", k, given[k]))
	}
	return env
}

// config is the configuration that the case describes; false if it needs what
// is not built.
func (c *policyCase) config() (object, bool) {
	given := c.Given
	if given["versions"] != nil || given["edits"] != nil || given["calls"] != nil || given["catalog"] != nil {
		return nil, false
	}
	doc := object{
		"version": 1,
		"tools":   object{"terminal": object{"enabled": true, "sandbox": object{"mode": "off"}}},
		"agents":  object{"a": c.agent()},
	}
	if term, ok := given["terminal"].(object); ok {
		doc["tools"] = object{"terminal": terminalConfig(term)}
	}
	servers := object{}
	for id, scope := range mapOf(given["servers"]) {
		servers[id] = object{"url": "https://" + id + ".example/mcp", "agents": scope}
	}
	for _, id := range listOf(given["mcp_declared"]) {
		servers[id.(string)] = object{"url": "https://" + id.(string) + ".example/mcp", "agents": "listed"}
	}
	if len(servers) > 0 {
		doc["mcp"] = object{"servers": servers}
	}
	if sources := mapOf(given["sources"]); sources != nil {
		inv := object{"sources": sources}
		if job := mapOf(given["job"]); job != nil {
			inv["repositories"] = object{job["repository"].(string): object{"components": job["components"]}}
		}
		doc["inventory"] = inv
	}
	return doc, true
}

func terminalConfig(term object) object {
	sandbox := object{}
	if mode, ok := term["mode"]; ok {
		sandbox["mode"] = mode
	}
	if commands, ok := term["commands"]; ok {
		key := "allow"
		if term["mode"] == "blocklist" {
			key = "block"
		}
		sandbox[key] = commands
	}
	out := object{"sandbox": sandbox}
	if len(sandbox) == 0 {
		delete(out, "sandbox")
	}
	if enabled, ok := term["enabled"]; ok {
		out["enabled"] = enabled
	}
	if len(out) == 0 {
		out["enabled"] = false
	}
	return out
}

// agent is the agent that the case describes.
func (c *policyCase) agent() object {
	if llm := mapOf(c.Given["llm"]); llm != nil {
		return c.cliAgent(llm)
	}
	p := mapOf(c.Given["policy"])
	a := object{"registry": "std"}
	if r, ok := c.Given["registry"]; ok {
		a["registry"] = r
	}
	set := func(key string, value any) {
		if list, isList := value.([]any); value != nil && (!isList || len(list) > 0) {
			a[key] = value
		}
	}
	switch tools := p["tools"].(type) {
	case string:
		delete(a, "registry")
		a["catalogue"] = tools
	case []any:
		a["tools"] = tools
	default:
		if p["kind"] != "role" {
			a["tools"] = []any{}
		}
	}
	set("role", p["role"])
	set("grant", p["grants"])
	set("deny", p["denies"])
	set("mcp", p["mcp_servers"])
	if strict, ok := p["strict_mcp"]; ok {
		a["strict_mcp"], a["mcp"] = true, strict
	}
	if settings := mapOf(c.Given["settings"]); settings != nil {
		set("narrow_unrestricted", settings["narrow_unrestricted"])
	}
	return a
}

// cliAgent is an agent whose runtime brings its own tools.
func (c *policyCase) cliAgent(llm object) object {
	a := object{"registry": "claude", "provider": llm["provider"]}
	for from, to := range map[string]string{"readOnly": "read_only", "allowedTools": "allowed_tools", "disallowedTools": "disallowed_tools"} {
		if v, ok := llm[from]; ok {
			a[to] = v
		}
	}
	if tools, ok := c.Given["http_tools"]; ok {
		a["http_tools"] = tools
	}
	if servers, ok := c.Given["mcp_declared"]; ok {
		a["mcp"] = servers
	}
	return a
}

// facts are the run's facts, in the words of AuthZEN.
func (c *policyCase) facts() object {
	facts := object{}
	maps.Copy(facts, mapOf(c.Given["run"]))
	if job := mapOf(c.Given["job"]); job != nil {
		facts["job"], facts["repository"] = "define_errors", job["repository"]
	}
	if bound, ok := c.Given["bound"]; ok {
		facts["repository"] = bound
	}
	return facts
}

// question is the case as an AuthZEN request.
func (c *policyCase) question() object {
	resource := object{"type": "tool", "id": c.Ask["tool"]}
	action, context := "tools/call", c.facts()
	switch c.Ask["op"] {
	case "url":
		hops := listOf(c.Ask["hops"])
		var urls []any
		for _, h := range hops {
			urls = append(urls, "http://"+bracket(h.(string))+"/")
		}
		resource, action = object{"type": "url", "id": urls[0], "properties": object{"hops": urls[1:]}}, "fetch"
		context["tool"] = c.Ask["tool"]
	case "scope":
		key := map[any]string{"repository": "repository", "component": "component", "source": "source"}[c.Ask["kind"]]
		resource = object{"type": "tool", "id": "query_error_groups", "properties": object{"arguments": object{key: c.Ask["id"]}}}
	default:
		if command, ok := c.Ask["command"]; ok {
			resource["properties"] = object{"arguments": object{"command": command}}
		}
	}
	return object{
		"subject": object{"type": "agent", "id": "a"}, "action": object{"name": action},
		"resource": resource, "context": context,
	}
}

// compare returns what differs from the expectation.
func (c *policyCase) compare(a answer) string {
	want, _ := c.Expect["reason"].(string)
	if want == "in_scope" {
		want = "unrestricted" // the tool layer's reason is the one given
	}
	if a.Decision != c.Expect["decision"] || a.Context.Reason != want {
		return fmt.Sprintf("%t %s, want %v %s", a.Decision, a.Context.Reason, c.Expect["decision"], want)
	}
	if hop, ok := c.Expect["hop"].(float64); ok && int(hop) != a.Context.Hop {
		return fmt.Sprintf("hop %d, want %v", a.Context.Hop, hop)
	}
	if c.Ask["dial_ip"] != nil {
		return "decide cannot be told what is dialled"
	}
	return ""
}

// explanation is what explain --json prints.
type explanation struct {
	Tools, Servers []explained
}

type explained struct {
	Tool     string
	Decision bool
	State    string
	Reason   string
}

func explain(t testing.TB, file string, facts object) explanation {
	t.Helper()
	args := []string{"explain", "-c", file, "--json", "a"}
	for flag, key := range map[string]string{"--stage": "stage", "--task-type": "task_type", "--job": "job", "--repository": "repository"} {
		if v, ok := facts[key].(string); ok {
			args = append(args, flag, v)
		}
	}
	out, code := toolgate(t, nil, "", args...)
	if code != 0 {
		t.Fatalf("explain ends with %d: %s", code, out)
	}
	var x struct {
		Tools   []explained `json:"tools"`
		Servers []explained `json:"mcp_servers"`
	}
	if err := json.Unmarshal([]byte(out), &x); err != nil {
		t.Fatal(err)
	}
	return explanation{x.Tools, x.Servers}
}

// compareList compares a whole toolset.
func (c *policyCase) compareList(x explanation) string {
	var allowed, servers []string
	unrestricted := false
	states := map[string][]string{}
	for _, t := range x.Tools {
		if t.Decision {
			allowed = append(allowed, t.Tool)
			unrestricted = unrestricted || t.Reason == "unrestricted"
		}
		states[t.State] = append(states[t.State], t.Tool)
	}
	for _, s := range x.Servers {
		if s.Decision {
			servers = append(servers, s.Tool)
		}
	}
	for key, got := range map[string][]string{"tools": allowed, "servers": servers, "denied": states["denied"], "unavailable": states["unavailable"]} {
		want, stated := c.Expect[key]
		if !stated {
			continue
		}
		var names []string
		for _, w := range listOf(want) {
			if m, ok := w.(object); ok {
				w = m["tool"]
			}
			names = append(names, w.(string))
		}
		if key == "servers" { // a JSON object has no order to keep
			slices.Sort(got)
			slices.Sort(names)
		}
		if !slices.Equal(got, names) {
			return fmt.Sprintf("%s are %v, want %v", key, got, names)
		}
	}
	if want, stated := c.Expect["unrestricted"]; stated && want != unrestricted {
		return fmt.Sprintf("unrestricted is %t, want %v", unrestricted, want)
	}
	return ""
}

// bracket writes an address as it stands in a URL.
func bracket(host string) string {
	for _, r := range host {
		if r == ':' {
			return "[" + host + "]"
		}
	}
	return host
}

func mapOf(v any) object {
	m, _ := v.(object)
	return m
}

func listOf(v any) []any {
	l, _ := v.([]any)
	return l
}
