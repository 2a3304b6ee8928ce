package api_test

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/toolgate/toolgate/internal/api"
	"github.com/toolgate/toolgate/internal/decision"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "a-token-of-thirty-two-characters"

// policy is a decision point with one rule: pm may use what begins with "ok".
type policy struct {
	mu    sync.Mutex
	asked []decision.Request
	told  []decision.Reason
}

func (p *policy) Decide(_ context.Context, req *decision.Request) decision.Decision {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, *req)
	d := decision.Decision{ID: "id-1", AgentVersion: "pm@sha256:1", Revision: "r1", Reason: decision.NotListed, Layer: decision.LayerBase}
	switch {
	case req.Agent == "":
		d.Reason = decision.NoIdentity
	case req.Resource.ID == "panic":
		panic("a fault")
	case strings.HasPrefix(req.Resource.ID, "ok"):
		d.Effect, d.Reason, d.State = decision.Allow, decision.Listed, decision.StateGranted
	case req.Resource.Kind == decision.KindURL:
		d.Reason, d.Guard, d.Layer, d.Detail, d.Hop = decision.URLRedirect, decision.GuardURL, decision.LayerURL, "10.1.2.3", 2
		d.Rule, d.Position = "a \"rule\"", decision.Position{File: "t.yaml", Line: 3, Col: 7}
	}
	return d
}

func (p *policy) Record(_ context.Context, e *decision.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, e.Decision.Reason)
	e.Decision.ID = "recorded"
}

func (p *policy) Resources(_ context.Context, req *decision.Request) []string {
	if req.Agent != "pm" {
		return nil
	}
	if req.Resource.Kind == decision.KindMCPServer {
		return []string{"tracker"}
	}
	if req.Facts.Stage == "in_qa" {
		return []string{"ok_read"}
	}
	return []string{"ok_read", `odd"name`}
}

func newAPI(t *testing.T, change func(*api.Options)) (*api.API, *policy) {
	t.Helper()
	p := &policy{}
	o := api.Options{Decider: p, Recorder: p, Lister: p, Token: token, Hosts: []string{"toolgate.example"}}
	if change != nil {
		change(&o)
	}
	a, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a, p
}

// ask sends a request that is right except for what change does to it.
func ask(h http.Handler, path, text string, change func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8180"+path, strings.NewReader(text))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	if change != nil {
		change(r)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// answer is an AuthZEN answer as a client reads it.
type answer struct {
	Decision bool
	Context  map[string]any
}

func parse[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, type %q: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return v
}

const (
	evaluation  = "/access/v1/evaluation"
	evaluations = "/access/v1/evaluations"
	search      = "/access/v1/search/resource"
	metadata    = "/.well-known/authzen-configuration"
)

func TestEvaluation(t *testing.T) {
	t.Parallel()
	a, p := newAPI(t, func(o *api.Options) {
		o.Issue = func(req *decision.Request, d *decision.Decision) string {
			return "permit-" + d.ID + "-" + req.Resource.ID
		}
	})
	got := parse[answer](t, ask(a, evaluation, body("resource", `{"type":"tool","id":"ok_read"}`), nil))
	want := map[string]any{
		"id": "id-1", "reason": "listed", "state": "granted", "agent_version": "pm@sha256:1", "policy_revision": "r1",
		"layer": "base", "mode": "enforce", "permit": "permit-id-1-ok_read",
	}
	if !got.Decision {
		t.Errorf("refused: %+v", got)
	}
	for k, v := range want {
		if got.Context[k] != v {
			t.Errorf("context.%s = %v, want %v", k, got.Context[k], v)
		}
	}
	got = parse[answer](t, ask(a, evaluation, body("action", `{"name":"fetch"}`, "resource", `{"type":"url","id":"http://10.1.2.3/"}`), nil))
	if got.Decision || got.Context["reason"] != "url_redirect" || got.Context["hop"] != 2.0 ||
		got.Context["rule"] != `a "rule"` || got.Context["position"] != "t.yaml:3:7" || got.Context["permit"] != nil {
		t.Errorf("refusal: %+v", got)
	}
	if user, _ := got.Context["reason_user"].(string); strings.Contains(user, "10.1.2.3") || !strings.Contains(user, "url_redirect") {
		t.Errorf("reason_user = %q", user)
	}
	if admin, _ := got.Context["reason_admin"].(string); !strings.Contains(admin, "10.1.2.3") {
		t.Errorf("reason_admin = %q", admin)
	}
	if _, found := got.Context["obligations"]; found {
		t.Error("an answer holds obligations")
	}
	if len(p.asked) != 2 || len(p.told) != 0 {
		t.Errorf("asked %d, recorded %d: the decider records its own", len(p.asked), len(p.told))
	}
}

func TestEncodeAnswerInReportMode(t *testing.T) {
	t.Parallel()
	d := decision.Decision{Effect: decision.Allow, Would: true, Reason: decision.NotListed, Mode: decision.Report}
	var got answer
	if err := json.Unmarshal(api.EncodeAnswer([]byte("before"), &d)[len("before"):], &got); err != nil {
		t.Fatal(err)
	}
	if !got.Decision || got.Context["would_deny"] != true || got.Context["reason"] != "not_listed" || got.Context["mode"] != "report" {
		t.Errorf("%+v", got)
	}
	zero := api.EncodeAnswer(nil, &decision.Decision{Permit: "secret"})
	if !strings.HasPrefix(string(zero), `{"decision":false,"context":{"reason":"internal_error"`) || strings.Contains(string(zero), "secret") {
		t.Errorf("the zero decision answers %s", zero)
	}
}

func TestBadBodiesOverHTTP(t *testing.T) {
	t.Parallel()
	a, p := newAPI(t, nil)
	bad := malformed()
	maps.Copy(bad, lookAlikes())
	for name, text := range bad {
		w := ask(a, evaluation, text, nil)
		if w.Code != http.StatusBadRequest || w.Header().Get("Content-Type") != "application/problem+json" || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: status %d, %s", name, w.Code, w.Body)
		}
	}
	if len(p.asked) != 0 {
		t.Errorf("%d malformed requests were put to the decider", len(p.asked))
	}
	for name, text := range unanswerable() {
		got := parse[answer](t, ask(a, evaluation, text, nil))
		if got.Decision || got.Context["reason"] != "bad_request" || got.Context["id"] != "recorded" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if len(p.told) != len(unanswerable()) {
		t.Errorf("%d of %d refusals were recorded", len(p.told), len(unanswerable()))
	}
	got := parse[answer](t, ask(a, evaluation, body("subject", `{"type":"user","id":"alice"}`), nil))
	if got.Decision || got.Context["reason"] != "no_identity" {
		t.Errorf("a person without an agent: %+v", got)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	a, _ := newAPI(t, nil)
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	host := func(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }
	for name, row := range map[string]struct {
		path   string
		change func(*http.Request)
		status int
	}{
		"as it should be":             {evaluation, nil, 200},
		"type with charset":           {evaluation, header("Content-Type", "Application/JSON; charset=UTF-8"), 200},
		"type missing":                {evaluation, func(r *http.Request) { r.Header.Del("Content-Type") }, 400},
		"type text":                   {evaluation, header("Content-Type", "text/plain"), 400},
		"type of a form":              {evaluation, header("Content-Type", "application/x-www-form-urlencoded"), 400},
		"type twice":                  {evaluation, func(r *http.Request) { r.Header.Add("Content-Type", "application/json") }, 400},
		"another charset":             {evaluation, header("Content-Type", "application/json; charset=utf-16"), 400},
		"compressed":                  {evaluation, header("Content-Encoding", "gzip"), 415},
		"no token":                    {evaluation, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"a wrong token":               {evaluation, header("Authorization", "Bearer "+token+"x"), 401},
		"an empty token":              {evaluation, header("Authorization", "Bearer "), 401},
		"the token as Basic":          {evaluation, header("Authorization", "Basic "+token), 401},
		"two tokens":                  {evaluation, func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+token) }, 401},
		"scheme in lower case":        {evaluation, header("Authorization", "bearer "+token), 200},
		"no token for the metadata":   {metadata, func(r *http.Request) { r.Method = "GET"; r.Header.Del("Authorization") }, 401},
		"a page asks":                 {evaluation, header("Origin", "http://127.0.0.1:8180"), 403},
		"a page of no origin asks":    {evaluation, header("Origin", "null"), 403},
		"a rebound name":              {evaluation, host("attacker.example"), 421},
		"a rebound name with port":    {evaluation, host("attacker.example:8180"), 421},
		"no host":                     {evaluation, host(""), 421},
		"localhost":                   {evaluation, host("LOCALHOST:8180"), 200},
		"below localhost":             {evaluation, host("x.localhost:8180"), 421},
		"IPv6":                        {evaluation, host("[::1]:8180"), 200},
		"IPv6 without brackets":       {evaluation, host("::1"), 421},
		"IPv4 in brackets":            {evaluation, host("[127.0.0.1]"), 421},
		"an address with rubbish":     {evaluation, host("127.0.0.1:80@x"), 421},
		"an address in octal":         {evaluation, host("0177.0.0.1"), 421},
		"the configured name":         {evaluation, host("toolgate.EXAMPLE:1"), 200},
		"GET where POST is":           {evaluation, func(r *http.Request) { r.Method = "GET" }, 405},
		"POST where GET is":           {metadata, nil, 405},
		"a search not built yet":      {"/access/v1/search/subject", nil, 404},
		"another search not built":    {"/access/v1/search/action", nil, 404},
		"a slash behind the path":     {evaluation + "/", nil, 404},
		"the root":                    {"/", nil, 404},
		"a path that climbs":          {"/x/.." + evaluation, nil, 404},
		"an unknown path, no token":   {"/x", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"a panic in the policy":       {evaluation, func(r *http.Request) { setBody(r, body("resource", `{"type":"tool","id":"panic"}`)) }, 500},
		"a body that breaks off":      {evaluation, func(r *http.Request) { r.Body = io.NopCloser(broken{}) }, 400},
		"a body as long as it may be": {evaluation, func(r *http.Request) { setBody(r, padded(1<<20)) }, 200},
		"a body that is too long":     {evaluation, func(r *http.Request) { setBody(r, padded(1<<20+1)) }, 413},
		"too long, length not said":   {evaluation, func(r *http.Request) { setBody(r, padded(1<<20+1)); r.ContentLength = -1 }, 413},
	} {
		w := ask(a, row.path, body(), row.change)
		if w.Code != row.status {
			t.Errorf("%s: status %d, want %d: %s", name, w.Code, row.status, w.Body)
		}
		if w.Code != 200 && (w.Header().Get("Content-Type") != "application/problem+json" || !json.Valid(w.Body.Bytes())) {
			t.Errorf("%s: %q is no problem body: %s", name, w.Header().Get("Content-Type"), w.Body)
		}
		if (w.Code == 401) != (w.Header().Get("WWW-Authenticate") != "") {
			t.Errorf("%s: status %d with challenge %q", name, w.Code, w.Header().Get("WWW-Authenticate"))
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func setBody(r *http.Request, text string) {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
}

// padded is a question of n bytes.
func padded(n int) string { return body() + strings.Repeat(" ", n-len(body())) }

func TestRequestIDIsEchoed(t *testing.T) {
	t.Parallel()
	a, _ := newAPI(t, nil)
	for name, row := range map[string]struct{ sent, want string }{
		"as it was sent":      {"bfe9eb29-ab87-4ca3-be83-a1d5d8305716", "bfe9eb29-ab87-4ca3-be83-a1d5d8305716"},
		"odd and printable":   {`a "b" {c} ~`, `a "b" {c} ~`},
		"none":                {"", ""},
		"too long":            {strings.Repeat("a", 129), ""},
		"a control character": {"a\x01b", ""},
		"beyond ASCII":        {"é", ""},
	} {
		for _, text := range []string{body(), "{"} {
			w := ask(a, evaluation, text, func(r *http.Request) {
				if row.sent != "" {
					r.Header.Set("X-Request-ID", row.sent)
				}
			})
			if got := w.Header().Get("X-Request-ID"); got != row.want {
				t.Errorf("%s: status %d echoes %q", name, w.Code, got)
			}
		}
	}
}

func TestSocketAsksForNoToken(t *testing.T) {
	t.Parallel()
	a, _ := newAPI(t, func(o *api.Options) { o.Token, o.Socket = "", true })
	w := ask(a, evaluation, body(), func(r *http.Request) { r.Header.Del("Authorization"); r.Host = "socket" })
	if w.Code != http.StatusOK {
		t.Errorf("status %d: %s", w.Code, w.Body)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Options){
		"no decider":         func(o *api.Options) { o.Decider = nil },
		"no lister":          func(o *api.Options) { o.Lister = nil },
		"no token":           func(o *api.Options) { o.Token = "" },
		"a negative timeout": func(o *api.Options) { o.Timeout = -1 },
		"a base that is not": func(o *api.Options) { o.BaseURL = "pdp.example" },
		"a base with a user": func(o *api.Options) { o.BaseURL = "https://a:b@pdp.example" },
	} {
		p := &policy{}
		o := api.Options{Decider: p, Lister: p, Token: token}
		change(&o)
		if _, err := api.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
