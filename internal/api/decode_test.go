package api_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolgate/toolgate/internal/api"
	"github.com/toolgate/toolgate/internal/decision"
)

// body builds a request that is right, with parts of it replaced.
func body(replace ...string) string {
	parts := map[string]string{
		"subject":  `{"type":"agent","id":"pm"}`,
		"action":   `{"name":"tools/call"}`,
		"resource": `{"type":"tool","id":"read_file"}`,
	}
	for i := 0; i < len(replace); i += 2 {
		parts[replace[i]] = replace[i+1]
	}
	var b strings.Builder
	for _, name := range []string{"subject", "action", "resource", "context"} {
		if parts[name] != "" {
			b.WriteString(`,"` + name + `":` + parts[name])
		}
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

func TestDecodeEvaluation(t *testing.T) {
	t.Parallel()
	tool := decision.Request{
		Agent: "pm", Action: "tools/call", Resource: decision.Resource{Kind: decision.KindTool, ID: "read_file"},
	}
	with := func(change func(*decision.Request)) decision.Request {
		r := tool
		change(&r)
		return r
	}
	for name, row := range map[string]struct {
		body string
		want decision.Request
	}{
		"the smallest question":               {body(), tool},
		"blanks around and inside":            {" \r\n\t" + strings.ReplaceAll(body(), ":", " : ") + "\n", tool},
		"a name written with escapes":         {strings.Replace(body(), `"subject"`, `"\u0073ubject"`, 1), tool},
		"unknown members everywhere":          {`{"x":{"a":[1,{"b":null}]},"größe":1,` + body("subject", `{"type":"agent","id":"pm","properties":{"id":5}}`, "action", `{"name":"tools/call","n":1,"properties":{"soft":true}}`)[1:], tool},
		"an empty context":                    {body("context", `{}`), tool},
		"subject first or last is the same":   {`{"resource":{"id":"read_file","type":"tool"},"action":{"name":"tools/call"},"subject":{"id":"pm","type":"agent"}}`, tool},
		"evaluations are nothing here":        {`{"evaluations":5,"Options":1,` + body()[1:], tool},
		"the agent said twice in agreement":   {body("context", `{"agent":"pm"}`), tool},
		"a person speaks for an agent":        {body("subject", `{"type":"user","id":"alice"}`, "context", `{"agent":"pm"}`), tool},
		"a workload speaks for an agent":      {body("subject", `{"type":"identity","id":"spiffe://x"}`, "context", `{"agent":"pm"}`), tool},
		"a person without an agent":           {body("subject", `{"type":"user","id":"alice"}`), with(func(r *decision.Request) { r.Agent = "" })},
		"a run speaks":                        {body("subject", `{"type":"run","id":"r1"}`, "context", `{"agent":"pm","run":"r1"}`), with(func(r *decision.Request) { r.Facts.Run = "r1" })},
		"a run as a fact":                     {body("context", `{"run":"r1"}`), with(func(r *decision.Request) { r.Facts.Run = "r1" })},
		"a plan that is empty is a plan":      {body("context", `{"planned":[]}`), with(func(r *decision.Request) { r.Facts.Planned, r.Facts.HasPlan = []string{}, true })},
		"a tool of a tool question is no one": {body("context", `{"tool":"browser_open"}`), tool},
		"all facts": {
			body("context", `{"version":"v","stage":"in_qa","task_type":"analiz","repository":"shop","job":"map_signals","planned":["create_board_task"]}`),
			with(func(r *decision.Request) {
				r.Version = "v"
				r.Facts = decision.Facts{
					Stage: "in_qa", TaskType: "analiz", Repository: "shop", Job: "map_signals",
					Planned: []string{"create_board_task"}, HasPlan: true,
				}
			}),
		},
		"arguments of the resource": {
			body("resource", `{"type":"tool","id":"read_file","properties":{"arguments":{"Path":"a","path":"b","n":1.5,"deep":{"a":[true,null,{}]},"big":9007199254740993}}}`),
			with(func(r *decision.Request) {
				r.Arguments = decision.Arguments{
					"Path": "a", "path": "b", "n": 1.5, "deep": map[string]any{"a": []any{true, nil, map[string]any{}}},
					"big": json.Number("9007199254740993"),
				}
			}),
		},
		"arguments of the action":    {body("action", `{"name":"tools/call","properties":{"arguments":{"a":1e999}}}`), with(func(r *decision.Request) { r.Arguments = decision.Arguments{"a": json.Number("1e999")} })},
		"arguments that are none":    {body("resource", `{"type":"tool","id":"read_file","properties":{"arguments":{}}}`), with(func(r *decision.Request) { r.Arguments = decision.Arguments{} })},
		"properties without members": {body("resource", `{"type":"tool","id":"read_file","properties":{}}`), tool},
		"a URL with its tool and hops": {
			body("action", `{"name":"fetch"}`, "resource", `{"type":"url","id":"http://a/","properties":{"hops":["http://b/","http://c/"]}}`, "context", `{"tool":"fetch_url"}`),
			decision.Request{
				Agent: "pm", Action: "fetch", Resource: decision.Resource{Kind: decision.KindURL, ID: "http://a/"},
				Tool: "fetch_url", Proven: true, Hops: []string{"http://b/", "http://c/"},
			},
		},
		"a URL of no tool is not proven": {
			body("action", `{"name":"fetch"}`, "resource", `{"type":"url","id":"http://a/"}`),
			decision.Request{Agent: "pm", Action: "fetch", Resource: decision.Resource{Kind: decision.KindURL, ID: "http://a/"}},
		},
		"a command": {
			body("action", `{"name":"execute"}`, "resource", `{"type":"command","id":"git status\n"}`),
			decision.Request{Agent: "pm", Action: "execute", Resource: decision.Resource{Kind: decision.KindCommand, ID: "git status\n"}},
		},
		"an MCP server": {
			body("resource", `{"type":"mcp_server","id":"tracker"}`),
			decision.Request{Agent: "pm", Action: "tools/call", Resource: decision.Resource{Kind: decision.KindMCPServer, ID: "tracker"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := api.DecodeEvaluation([]byte(row.body))
			if err != nil {
				t.Fatalf("%s: %v", row.body, err)
			}
			if diff := cmp.Diff(&row.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", row.body, diff)
			}
		})
	}
}

// malformed are bodies that are no question at all: HTTP 400.
func malformed() map[string]string {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	return map[string]string{
		"nothing":                    ``,
		"blanks":                     "  \n",
		"a list":                     `[` + body() + `]`,
		"a string":                   `"subject"`,
		"null":                       `null`,
		"a number":                   `5`,
		"an empty object":            `{}`,
		"cut off":                    body()[:30],
		"a second object":            body() + body(),
		"text behind it":             body() + " x",
		"a comma behind it":          body() + ",",
		"a comma before the end":     strings.TrimSuffix(body(), "}") + ",}",
		"a comment":                  "/* */" + body(),
		"a byte order mark":          "\ufeff" + body(),
		"single quotes":              strings.ReplaceAll(body(), `"`, `'`),
		"no subject":                 body("subject", ""),
		"no action":                  body("action", ""),
		"no resource":                body("resource", ""),
		"subject null":               body("subject", `null`),
		"subject a string":           body("subject", `"pm"`),
		"subject a list":             body("subject", `[{"type":"agent","id":"pm"}]`),
		"subject without type":       body("subject", `{"id":"pm"}`),
		"subject without id":         body("subject", `{"type":"agent"}`),
		"subject id a number":        body("subject", `{"type":"agent","id":1}`),
		"subject id null":            body("subject", `{"type":"agent","id":null}`),
		"subject id empty":           body("subject", `{"type":"agent","id":""}`),
		"action a string":            body("action", `"tools/call"`),
		"action without name":        body("action", `{}`),
		"action name a number":       body("action", `{"name":1}`),
		"action properties a list":   body("action", `{"name":"tools/call","properties":[]}`),
		"resource without type":      body("resource", `{"id":"read_file"}`),
		"resource without id":        body("resource", `{"type":"tool"}`),
		"resource type a list":       body("resource", `{"type":["tool"],"id":"read_file"}`),
		"properties null":            body("resource", `{"type":"tool","id":"x","properties":null}`),
		"arguments a string":         body("resource", `{"type":"tool","id":"x","properties":{"arguments":"{}"}}`),
		"arguments null":             body("resource", `{"type":"tool","id":"x","properties":{"arguments":null}}`),
		"hops a string":              body("resource", `{"type":"url","id":"x","properties":{"hops":"http://b"}}`),
		"a hop that is a number":     body("resource", `{"type":"url","id":"x","properties":{"hops":[1]}}`),
		"context a list":             body("context", `[]`),
		"context null":               body("context", `null`),
		"stage a number":             body("context", `{"stage":1}`),
		"planned a string":           body("context", `{"planned":"x"}`),
		"planned null":               body("context", `{"planned":null}`),
		"subject twice":              `{"subject":{"type":"agent","id":"pm"},` + body()[1:],
		"subject twice by an escape": `{"\u0073ubject":{"type":"agent","id":"pm"},` + body()[1:],
		"id twice":                   body("subject", `{"type":"agent","id":"pm","id":"root"}`),
		"an unknown name twice":      `{"x":1,"x":2,` + body()[1:],
		"twice deep inside":          body("context", `{"other":[{"a":{"k":1,"k":2}}]}`),
		"an argument twice":          body("resource", `{"type":"tool","id":"x","properties":{"arguments":{"a":1,"a":2}}}`),
		"a lone surrogate":           body("subject", `{"type":"agent","id":"\ud800"}`),
		"bytes that are not UTF-8":   body("subject", "{\"type\":\"agent\",\"id\":\"\xff\"}"),
		"a raw control character":    body("subject", "{\"type\":\"agent\",\"id\":\"a\x00\"}"),
		"too deep, ignored":          `{"x":` + deep + `,` + body()[1:],
		"too deep, in arguments":     body("resource", `{"type":"tool","id":"x","properties":{"arguments":`+deep+`}}`),
		"a bomb of brackets":         `{"x":` + strings.Repeat("[", 500_000),
		"a leading zero":             body("context", `{"x":01}`),
		"a hexadecimal number":       body("context", `{"x":0x1}`),
		"not a number":               body("context", `{"x":NaN}`),
	}
}

// lookAlikes are member names that a loose decoder or a reader takes for known
// ones.
func lookAlikes() map[string]string {
	return map[string]string{
		"Subject":         `{"Subject":{"type":"agent","id":"root"},` + body()[1:],
		"SUBJECT only":    strings.Replace(body(), `"subject"`, `"SUBJECT"`, 1),
		"long s":          `{"` + "\u017fubject" + `":{"type":"agent","id":"root"},` + body()[1:],
		"Cyrillic es":     `{"re` + "\u0455" + `ource":{"type":"tool","id":"x"},` + body()[1:],
		"Cyrillic o":      `{"acti` + "\u043e" + `n":{"name":"x"},` + body()[1:],
		"full width":      `{"` + "\uff53ubject" + `":{"type":"agent","id":"root"},` + body()[1:],
		"soft hyphen":     `{"sub` + "\u00ad" + `ject":{"type":"agent","id":"root"},` + body()[1:],
		"zero width":      `{"subject` + "\u200b" + `":{"type":"agent","id":"root"},` + body()[1:],
		"combining mark":  `{"subject` + "\u0301" + `":{"type":"agent","id":"root"},` + body()[1:],
		"a blank behind":  `{"subject ":{"type":"agent","id":"root"},` + body()[1:],
		"by an escape":    `{"\u0053ubject":{"type":"agent","id":"root"},` + body()[1:],
		"Id":              body("subject", `{"type":"agent","id":"pm","Id":"root"}`),
		"ID of resource":  body("resource", `{"type":"tool","id":"x","ID":"y"}`),
		"Name":            body("action", `{"name":"tools/call","Name":"fetch"}`),
		"taskType":        body("context", `{"taskType":"analiz"}`),
		"task-type":       body("context", `{"task-type":"analiz"}`),
		"Stage":           body("context", `{"Stage":"in_qa"}`),
		"Arguments":       body("resource", `{"type":"tool","id":"x","properties":{"Arguments":{}}}`),
		"Hops":            body("resource", `{"type":"url","id":"x","properties":{"HOPS":[]}}`),
		"action argument": body("action", `{"name":"tools/call","properties":{"ARGUMENTS":{}}}`),
	}
}

func TestMalformedBodies(t *testing.T) {
	t.Parallel()
	for name, text := range malformed() {
		_, err := api.DecodeEvaluation([]byte(text))
		var bad *api.RequestError
		if !errors.As(err, &bad) || bad.Denied || bad.Reason != decision.BadRequest || bad.Message == "" {
			t.Errorf("%s: %#v, want a malformed request", name, err)
		}
		if bad != nil && len(bad.Message) > 500 {
			t.Errorf("%s: the message has %d bytes", name, len(bad.Message))
		}
	}
	for name, text := range lookAlikes() {
		_, err := api.DecodeEvaluation([]byte(text))
		if err == nil || !strings.Contains(err.Error(), "only looks like") {
			t.Errorf("%s: %v, want a look-alike", name, err)
		}
	}
}

// unanswerable are questions that are well-formed and to which no policy says
// yes: HTTP 200, "decision": false.
func unanswerable() map[string]string {
	return map[string]string{
		"an unknown type of resource":     body("resource", `{"type":"record","id":"1"}`),
		"a type in capitals":              body("resource", `{"type":"Tool","id":"read_file"}`),
		"the unknown type by its name":    body("resource", `{"type":"unknown","id":"1"}`),
		"an unknown action":               body("action", `{"name":"read"}`),
		"an action in capitals":           body("action", `{"name":"Tools/Call"}`),
		"fetch of a tool":                 body("action", `{"name":"fetch"}`),
		"a call of a URL":                 body("resource", `{"type":"url","id":"http://a/"}`),
		"fetch of a command":              body("action", `{"name":"fetch"}`, "resource", `{"type":"command","id":"ls"}`),
		"an unknown type of subject":      body("subject", `{"type":"robot","id":"pm"}`),
		"two agents":                      body("context", `{"agent":"root"}`),
		"two runs":                        body("subject", `{"type":"run","id":"r1"}`, "context", `{"agent":"pm","run":"r2"}`),
		"arguments in two places":         body("action", `{"name":"tools/call","properties":{"arguments":{}}}`, "resource", `{"type":"tool","id":"x","properties":{"arguments":{}}}`),
		"the certification's own subject": body("subject", `{"type":"employee","id":"alice"}`),
	}
}

func TestQuestionsWithoutAYes(t *testing.T) {
	t.Parallel()
	for name, text := range unanswerable() {
		req, err := api.DecodeEvaluation([]byte(text))
		var bad *api.RequestError
		if !errors.As(err, &bad) || !bad.Denied || req == nil {
			t.Errorf("%s: %v with request %v, want a refusal and the request for the log", name, err, req)
			continue
		}
		if d := api.Refusal(req, err); d.Allowed() || d.Reason != decision.BadRequest || d.Detail == "" {
			t.Errorf("%s: refusal %+v", name, d)
		}
	}
	if d := api.Refusal(nil, errors.New("x")); d.Allowed() || d.Reason != decision.InternalError {
		t.Errorf("an error of another kind: %+v", d)
	}
}

func TestDecodeKeepsNothingOfTheBody(t *testing.T) {
	t.Parallel()
	text := []byte(body("resource", `{"type":"tool","id":"read_file","properties":{"arguments":{"path":"a","list":["b"]}}}`))
	req, err := api.DecodeEvaluation(text)
	if err != nil {
		t.Fatal(err)
	}
	before := *req
	before.Arguments = decision.Arguments{"path": "a", "list": []any{"b"}}
	for i := range text {
		text[i] = '#'
	}
	if !reflect.DeepEqual(*req, before) {
		t.Errorf("the request changed with the body: %+v", req)
	}
}

// loose is how encoding/json reads a question: without regard to case, and the
// last of two names wins (report M04).
type loose struct {
	Subject  struct{ Type, ID string }
	Action   struct{ Name string }
	Resource struct{ Type, ID string }
	Context  struct{ Agent, Run, Tool, Stage string }
}

func FuzzDecodeEvaluation(f *testing.F) {
	for _, table := range []map[string]string{malformed(), lookAlikes(), unanswerable()} {
		for _, text := range table {
			f.Add([]byte(text))
		}
	}
	f.Add([]byte(body("context", `{"planned":["a"],"stage":"x"}`)))
	f.Add([]byte(body("action", `{"name":"fetch"}`, "resource", `{"type":"url","id":"http://a/","properties":{"hops":["b"]}}`, "context", `{"tool":"t"}`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		req, err := api.DecodeEvaluation(data)
		if err != nil {
			if _, ok := errors.AsType[*api.RequestError](err); !ok {
				t.Fatalf("error of type %T: %v", err, err)
			}
			return
		}
		var l loose
		if err := json.Unmarshal(data, &l); err != nil {
			t.Fatalf("accepted, but encoding/json says %v", err)
		}
		if l.Resource.ID != req.Resource.ID || l.Resource.Type != req.Resource.Kind.String() || l.Action.Name != req.Action {
			t.Fatalf("encoding/json reads %+v, we read %+v", l, req)
		}
		if l.Subject.Type == "agent" && l.Subject.ID != req.Agent || l.Context.Stage != req.Facts.Stage {
			t.Fatalf("encoding/json reads %+v, we read %+v", l, req)
		}
		again, err := api.DecodeEvaluation(encode(t, req, l.Subject.Type, l.Subject.ID))
		if err != nil {
			t.Fatalf("%+v cannot be asked again: %v", req, err)
		}
		if diff := cmp.Diff(req, again); diff != "" {
			t.Fatalf("asked again it is another question (-first +second):\n%s", diff)
		}
	})
}

// encode writes a request as a body.
func encode(t *testing.T, req *decision.Request, subjectType, subjectID string) []byte {
	t.Helper()
	context := map[string]any{}
	for name, value := range map[string]string{
		"agent": req.Agent, "run": req.Facts.Run, "version": req.Version, "stage": req.Facts.Stage, "tool": req.Tool,
		"task_type": req.Facts.TaskType, "job": req.Facts.Job, "repository": req.Facts.Repository,
	} {
		if value != "" {
			context[name] = value
		}
	}
	if req.Facts.HasPlan {
		context["planned"] = req.Facts.Planned
	}
	properties := map[string]any{}
	if req.Arguments != nil {
		properties["arguments"] = req.Arguments
	}
	if req.Hops != nil {
		properties["hops"] = req.Hops
	}
	out, err := json.Marshal(map[string]any{
		"subject":  map[string]any{"type": subjectType, "id": subjectID},
		"action":   map[string]any{"name": req.Action},
		"resource": map[string]any{"type": req.Resource.Kind.String(), "id": req.Resource.ID, "properties": properties},
		"context":  context,
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
