package api

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
)

// Lister lists what a subject may use. It must answer from the function that
// decides, so that a search and a decision never differ.
type Lister interface {
	// Resources returns the names of the resources of req.Resource.Kind (tools
	// or MCP servers) that the agent of req may use under the facts of req, in
	// registry order. It is empty for an agent that is not known.
	Resources(ctx context.Context, req *decision.Request) []string
}

// Options configure an API.
type Options struct {
	// Decider answers, and records what it answers. Required.
	Decider decision.Decider
	// Recorder is told of the refusals that the API gives itself, for questions
	// that cannot be put to Decider. Nil: they are not recorded.
	Recorder decision.Recorder
	// Lister answers resource searches. Required.
	Lister Lister
	// Issue returns the permit for an allowed request of a tool, or "" where it
	// needs none. Nil: no permits.
	Issue func(*decision.Request, *decision.Decision) string

	// Token is the bearer token that every request must show. It may be empty
	// only with Socket.
	Token string
	// Socket says that the listener is a Unix socket, whose file mode is the
	// permission: no token is asked for and the Host header means nothing.
	Socket bool
	// Hosts are the names, without port, under which the listener may be
	// addressed. Address literals and localhost always may (DNS rebinding needs
	// a name of the attacker's).
	Hosts []string
	// BaseURL is what clients put before the paths, for the metadata: scheme
	// and host. Empty: http and the Host header.
	BaseURL string

	// Timeout bounds one batch. Zero: 30 s. What is left of it then is
	// refused.
	Timeout time.Duration
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
	// Logger is told of faults of toolgate's own. Nil: nobody is.
	Logger *slog.Logger
}

const defaultTimeout = 30 * time.Second

// API is the decision API. It is safe for concurrent use.
type API struct {
	decider  decision.Decider
	recorder decision.Recorder
	lister   Lister
	issue    func(*decision.Request, *decision.Decision) string
	token    [sha256.Size]byte
	socket   bool
	hosts    []string
	baseURL  string
	timeout  time.Duration
	now      func() time.Time
	log      *slog.Logger
	routes   map[string]route
	headers  headers
}

// headers are the values of response headers that every answer shares.
type headers struct{ json, problem, noStore, noSniff []string }

// route is what answers a path.
type route struct {
	methods []string
	serve   func(*API, http.ResponseWriter, *http.Request)
}

// New returns an API. It fails when a required option is missing, and when
// nothing would keep strangers out.
func New(o Options) (*API, error) {
	switch {
	case o.Decider == nil:
		return nil, errors.New("api: no decider")
	case o.Lister == nil:
		return nil, errors.New("api: no lister")
	case o.Token == "" && !o.Socket:
		return nil, errors.New("api: no token, and not a Unix socket: anybody could ask")
	case o.Timeout < 0:
		return nil, errors.New("api: the timeout is negative")
	}
	if err := checkBase(o.BaseURL); err != nil {
		return nil, err
	}
	a := &API{
		decider: o.Decider, recorder: o.Recorder, lister: o.Lister, issue: o.Issue,
		token: sha256.Sum256([]byte(o.Token)), socket: o.Socket, hosts: slices.Clone(o.Hosts),
		baseURL: strings.TrimSuffix(o.BaseURL, "/"), timeout: o.Timeout, now: o.Now, log: o.Logger,
		routes: routes(),
		headers: headers{
			json: []string{"application/json"}, problem: []string{"application/problem+json"},
			noStore: []string{"no-store"}, noSniff: []string{"nosniff"},
		},
	}
	if a.timeout == 0 {
		a.timeout = defaultTimeout
	}
	if a.now == nil {
		a.now = time.Now //nolint:forbidigo // the default of an injected clock
	}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a, nil
}

func checkBase(base string) error {
	if base == "" {
		return nil
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return fmt.Errorf("api: base URL %q: want http or https, a host, and nothing behind the path", base)
	}
	return nil
}

// The paths that are served (AuthZEN 1.0, sections 9 and 10).
const (
	pathEvaluation     = "/access/v1/evaluation"
	pathEvaluations    = "/access/v1/evaluations"
	pathSearchResource = "/access/v1/search/resource"
	pathSearchSubject  = "/access/v1/search/subject"
	pathSearchAction   = "/access/v1/search/action"
	pathMetadata       = "/.well-known/authzen-configuration"
)

func routes() map[string]route {
	post, get := []string{http.MethodPost}, []string{http.MethodGet, http.MethodHead}
	return map[string]route{
		pathEvaluation:     {post, (*API).evaluation},
		pathEvaluations:    {post, (*API).evaluations},
		pathSearchResource: {post, (*API).searchResource},
		pathMetadata:       {get, (*API).metadata},
	}
}

// ServeHTTP implements http.Handler. A panic is answered with internal_error.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer a.recovered(w, r)
	h := w.Header()
	h["Cache-Control"], h["X-Content-Type-Options"] = a.headers.noStore, a.headers.noSniff
	if ids := r.Header["X-Request-Id"]; len(ids) == 1 && printable(ids[0]) {
		h["X-Request-Id"] = ids
	}
	if !a.admit(w, r) {
		return
	}
	to, known := a.routes[r.URL.Path]
	switch {
	case !known:
		a.notFound(w, r)
	case !slices.Contains(to.methods, r.Method):
		h.Set("Allow", strings.Join(to.methods, ", "))
		a.problem(w, http.StatusMethodNotAllowed, decision.BadRequest, "use "+strings.Join(to.methods, " or "))
	default:
		to.serve(a, w, r)
	}
}

func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	detail := "there is nothing at this path"
	if r.URL.Path == pathSearchSubject || r.URL.Path == pathSearchAction {
		detail = "this search is not built yet; GET " + pathMetadata + " lists what is"
	}
	a.problem(w, http.StatusNotFound, decision.BadRequest, detail)
}

func (a *API) recovered(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // the very value, as net/http compares it
		panic(p)
	}
	a.log.ErrorContext(r.Context(), "api: panic while answering", "path", r.URL.Path, "panic", fmt.Sprint(p))
	a.problem(w, http.StatusInternalServerError, decision.InternalError, decision.InternalError.Sentence())
}

// maxRequestID bounds an X-Request-ID that is echoed, in bytes.
const maxRequestID = 128

// printable reports whether a request id can be echoed as it is.
func printable(id string) bool {
	if id == "" || len(id) > maxRequestID {
		return false
	}
	for i := range len(id) {
		if id[i] < 0x20 || id[i] > 0x7e {
			return false
		}
	}
	return true
}
