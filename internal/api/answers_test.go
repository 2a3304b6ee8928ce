package api_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/api"
)

func TestEvaluations(t *testing.T) {
	t.Parallel()
	const defaults = `"subject":{"type":"agent","id":"pm"},"action":{"name":"tools/call"}`
	tool := func(id string) string { return `{"resource":{"type":"tool","id":"` + id + `"}}` }
	list := func(options string, items ...string) string {
		return `{"evaluations":[` + strings.Join(items, ",") + `],` + defaults + options + `}`
	}
	for name, row := range map[string]struct {
		body string
		want string // y and n, and b for a bad request
	}{
		"order is kept":              {list("", tool("ok1"), tool("x"), tool("ok2")), "yny"},
		"execute all, said":          {list(`,"options":{"evaluations_semantic":"execute_all"}`, tool("x"), tool("ok1")), "ny"},
		"stops at the first deny":    {list(`,"options":{"evaluations_semantic":"deny_on_first_deny"}`, tool("ok1"), tool("x"), tool("ok2")), "yn"},
		"stops at the first permit":  {list(`,"options":{"evaluations_semantic":"permit_on_first_permit"}`, tool("x"), tool("ok1"), tool("ok2")), "ny"},
		"a bad item is only itself":  {list("", tool("ok1"), `{"resource":5}`, `7`, `{"Resource":{}}`, tool("ok2")), "ybbby"},
		"a bad item is a deny":       {list(`,"options":{"evaluations_semantic":"deny_on_first_deny"}`, `{}`, tool("ok1")), "b"},
		"an item without a resource": {list("", `{}`), "b"},
		"entities replace whole":     {list("", `{"subject":{"type":"agent"},"resource":{"type":"tool","id":"ok"}}`), "b"},
		"null is not absent":         {list("", `{"subject":null,"resource":{"type":"tool","id":"ok"}}`), "b"},
		"items inherit everything":   {`{` + defaults + `,"resource":{"type":"tool","id":"ok"},"evaluations":[{},{}]}`, "yy"},
		"unknown options are fine":   {list(`,"options":{"x":[1]}`, tool("ok")), "y"},
		"no defaults":                {`{"evaluations":[` + body("resource", `{"type":"tool","id":"ok"}`) + `]}`, "y"},
	} {
		a, _ := newAPI(t, nil)
		got := parse[struct{ Evaluations []answer }](t, ask(a, evaluations, row.body, nil))
		var said strings.Builder
		for _, e := range got.Evaluations {
			switch {
			case e.Context["reason"] == "bad_request" && !e.Decision:
				said.WriteByte('b')
			case e.Decision:
				said.WriteByte('y')
			default:
				said.WriteByte('n')
			}
		}
		if said.String() != row.want {
			t.Errorf("%s: %s, want %s: %+v", name, said.String(), row.want, got)
		}
	}
}

func TestEvaluationsWithoutItemsAreOne(t *testing.T) {
	t.Parallel()
	a, _ := newAPI(t, nil)
	question := body("resource", `{"type":"tool","id":"ok"}`)
	for name, text := range map[string]string{
		"no list":       question,
		"an empty list": `{"evaluations":[],` + question[1:],
	} {
		if got := parse[answer](t, ask(a, evaluations, text, nil)); !got.Decision {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, row := range map[string]struct {
		body   string
		status int
	}{
		"nothing asked":           {`{}`, 400},
		"a list that is null":     {`{"evaluations":null,` + question[1:], 400},
		"a list that is a map":    {`{"evaluations":{},` + question[1:], 400},
		"an unknown semantic":     {`{"options":{"evaluations_semantic":"all"},"evaluations":[{}],` + question[1:], 400},
		"a semantic that is null": {`{"options":{"evaluations_semantic":null},"evaluations":[{}],` + question[1:], 400},
		"a default of wrong type": {`{"subject":5,"evaluations":[` + question + `]}`, 400},
		"a twin inside an item":   {`{"evaluations":[{"subject":{},"subject":{}}]}`, 400},
		"Evaluations":             {`{"Evaluations":[{}],` + question[1:], 400},
		"as many as may be":       {`{"evaluations":[{}` + strings.Repeat(`,{}`, 999) + `],` + question[1:], 200},
		"one too many":            {`{"evaluations":[{}` + strings.Repeat(`,{}`, 1000) + `],` + question[1:], 413},
	} {
		if w := ask(a, evaluations, row.body, nil); w.Code != row.status {
			t.Errorf("%s: status %d, want %d: %.300s", name, w.Code, row.status, w.Body)
		}
	}
}

func TestBatchThatTakesTooLong(t *testing.T) {
	t.Parallel()
	a, p := newAPI(t, func(o *api.Options) { o.Timeout = time.Nanosecond })
	got := parse[struct{ Evaluations []answer }](t, ask(a, evaluations, `{"evaluations":[{},{}],`+body("resource", `{"type":"tool","id":"ok"}`)[1:], nil))
	if len(got.Evaluations) != 2 || got.Evaluations[1].Decision || got.Evaluations[1].Context["reason"] != "limit_exceeded" {
		t.Errorf("%+v", got)
	}
	if len(p.asked) != 0 {
		t.Errorf("%d items were decided after the end", len(p.asked))
	}
}

func TestSearchResource(t *testing.T) {
	t.Parallel()
	type result struct{ Type, ID string }
	for name, row := range map[string]struct {
		body string
		want []result
	}{
		"tools":                  {body("resource", `{"type":"tool"}`), []result{{"tool", "ok_read"}, {"tool", `odd"name`}}},
		"an id is ignored":       {body("resource", `{"type":"tool","id":"x"}`), []result{{"tool", "ok_read"}, {"tool", `odd"name`}}},
		"under facts":            {body("resource", `{"type":"tool"}`, "context", `{"stage":"in_qa"}`), []result{{"tool", "ok_read"}}},
		"servers":                {body("resource", `{"type":"mcp_server"}`), []result{{"mcp_server", "tracker"}}},
		"an unknown agent":       {body("subject", `{"type":"agent","id":"x"}`, "resource", `{"type":"tool"}`), nil},
		"a person without agent": {body("subject", `{"type":"user","id":"x"}`, "resource", `{"type":"tool"}`), nil},
		"an unknown subject":     {body("subject", `{"type":"robot","id":"pm"}`, "resource", `{"type":"tool"}`), nil},
		"an unknown type":        {body("resource", `{"type":"record"}`), nil},
		"an action of another":   {body("action", `{"name":"fetch"}`, "resource", `{"type":"tool"}`), nil},
		"URLs have no list":      {body("action", `{"name":"fetch"}`, "resource", `{"type":"url"}`), nil},
		"with a page wish":       {`{"page":{"limit":1,"token":""},` + body("resource", `{"type":"mcp_server"}`)[1:], []result{{"mcp_server", "tracker"}}},
	} {
		a, p := newAPI(t, nil)
		w := ask(a, search, row.body, nil)
		got := parse[struct {
			Results []result
			Page    map[string]any
		}](t, w)
		if !slices.Equal(got.Results, row.want) || got.Results == nil || got.Page["next_token"] != "" {
			t.Errorf("%s: %+v, want %+v", name, got, row.want)
		}
		if len(p.asked) != 0 || len(p.told) != 0 {
			t.Errorf("%s: a search was recorded as a decision", name)
		}
	}
	a, _ := newAPI(t, nil)
	for name, text := range map[string]string{
		"no subject id":         body("subject", `{"type":"agent"}`, "resource", `{"type":"tool"}`),
		"no action":             body("action", "", "resource", `{"type":"tool"}`),
		"no type":               body("resource", `{}`),
		"a page of wrong type":  `{"page":1,` + body("resource", `{"type":"tool"}`)[1:],
		"a limit of wrong type": `{"page":{"limit":"1"},` + body("resource", `{"type":"tool"}`)[1:],
		"a token of another":    `{"page":{"token":"abc"},` + body("resource", `{"type":"tool"}`)[1:],
	} {
		if w := ask(a, search, text, nil); w.Code != http.StatusBadRequest {
			t.Errorf("%s: status %d: %s", name, w.Code, w.Body)
		}
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{"": "http://127.0.0.1:8180", "https://pdp.example/": "https://pdp.example"} {
		a, _ := newAPI(t, func(o *api.Options) { o.BaseURL = base })
		got := parse[map[string]string](t, ask(a, metadata, "", func(r *http.Request) { r.Method = http.MethodGet }))
		if got["policy_decision_point"] != want {
			t.Errorf("policy_decision_point = %q, want %q", got["policy_decision_point"], want)
		}
		for name, url := range got {
			path, under := strings.CutPrefix(url, want)
			if !under {
				t.Errorf("%s = %q is not under %q", name, url, want)
			}
			if path != "" {
				if w := ask(a, path, "{", nil); w.Code != http.StatusBadRequest {
					t.Errorf("%s is advertised and answers %d", path, w.Code)
				}
			}
		}
		if len(got) != 4 {
			t.Errorf("metadata %v", got)
		}
	}
}
