package api

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/toolgate/toolgate/internal/decision"
)

const (
	// maxBody bounds a request body, in bytes.
	maxBody = 1 << 20
	// maxPooled bounds the buffers that are kept between requests, in bytes.
	maxPooled = 64 << 10
)

// buffers keeps the bytes of a request and of its answer between requests.
//
//nolint:gochecknoglobals // a pool of scratch memory, without state
var buffers = sync.Pool{New: func() any { return new(scratch) }}

type scratch struct {
	in  bytes.Buffer
	out []byte
}

func newScratch() *scratch {
	s, ok := buffers.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	s.in.Reset()
	s.out = s.out[:0]
	return s
}

func (s *scratch) free() {
	if s.in.Cap() <= maxPooled && cap(s.out) <= maxPooled {
		buffers.Put(s)
	}
}

// body reads the body of r, and answers r when it cannot be one.
func (a *API) body(w http.ResponseWriter, r *http.Request, s *scratch) bool {
	if !isJSON(r.Header["Content-Type"]) {
		// AuthZEN's certification wants 400 here, not 415.
		a.problem(w, http.StatusBadRequest, decision.BadRequest, "Content-Type must be application/json")
		return false
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && !strings.EqualFold(enc, "identity") {
		a.problem(w, http.StatusUnsupportedMediaType, decision.BadRequest, "send the body without Content-Encoding")
		return false
	}
	if r.ContentLength > maxBody {
		a.tooLong(w)
		return false
	}
	n, err := s.in.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	switch {
	case n > maxBody:
		a.tooLong(w)
		return false
	case err != nil:
		a.problem(w, http.StatusBadRequest, decision.BadRequest, "the body could not be read to its end")
		return false
	}
	return true
}

func (a *API) tooLong(w http.ResponseWriter) {
	w.Header().Set("Connection", "close") // what is left of the body is not read
	a.problem(w, http.StatusRequestEntityTooLarge, decision.LimitExceeded, "the body is longer than "+strconv.Itoa(maxBody)+" bytes")
}

// isJSON reports whether the one Content-Type is application/json, in UTF-8
// where it says so.
func isJSON(types []string) bool {
	if len(types) != 1 {
		return false
	}
	if types[0] == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(types[0])
	if err != nil || kind != "application/json" {
		return false
	}
	charset, given := params["charset"]
	return !given || strings.EqualFold(charset, "utf-8")
}

// reply writes an answer in JSON.
func (a *API) reply(w http.ResponseWriter, body []byte) {
	w.Header()["Content-Type"] = a.headers.json
	_, _ = w.Write(body) //nolint:gosec // JSON with its type, never HTML; a client that has gone needs no error
}

// failed answers a request for err, a *RequestError of a malformed request.
func (a *API) failed(w http.ResponseWriter, err error) {
	var bad *RequestError
	switch {
	case !errors.As(err, &bad):
		a.problem(w, http.StatusInternalServerError, decision.InternalError, decision.InternalError.Sentence())
	case bad.Reason == decision.LimitExceeded:
		a.problem(w, http.StatusRequestEntityTooLarge, bad.Reason, bad.Message)
	default:
		a.problem(w, http.StatusBadRequest, bad.Reason, bad.Message)
	}
}

// problem answers with an RFC 9457 body. detail is for people and may quote
// text of the request.
func (a *API) problem(w http.ResponseWriter, status int, reason decision.Reason, detail string) {
	body := append([]byte(nil), `{`...)
	body = pair(body, "type", "about:blank")
	body = pair(body, "title", http.StatusText(status))
	body = append(body, `,"status":`...)
	body = strconv.AppendInt(body, int64(status), 10)
	body = pair(body, "detail", detail)
	body = pair(body, "reason", reason.String())
	body = append(body, '}', '\n')
	w.Header()["Content-Type"] = a.headers.problem
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have gone; there is nobody to tell
}
