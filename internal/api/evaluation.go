package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/toolgate/toolgate/internal/decision"
)

// evaluation serves POST /access/v1/evaluation.
func (a *API) evaluation(w http.ResponseWriter, r *http.Request) {
	s := newScratch()
	defer s.free()
	if !a.body(w, r, s) {
		return
	}
	req, err := DecodeEvaluation(s.in.Bytes())
	a.single(w, r, s, req, err)
}

// single answers one question.
func (a *API) single(w http.ResponseWriter, r *http.Request, s *scratch, req *decision.Request, err error) {
	if err != nil && !isDenied(err) {
		a.failed(w, err)
		return
	}
	d := a.decide(r.Context(), req, err)
	s.out = EncodeAnswer(s.out, &d)
	a.reply(w, s.out)
}

func isDenied(err error) bool {
	var bad *RequestError
	return errors.As(err, &bad) && bad.Denied
}

// decide answers a question, or refuses it for err.
func (a *API) decide(ctx context.Context, req *decision.Request, err error) decision.Decision {
	if err != nil {
		return a.refuse(ctx, req, Refusal(req, err))
	}
	d := a.decider.Decide(ctx, req)
	if a.issue != nil && d.Allowed() && d.Permit == "" && mayDial(req) {
		d.Permit = a.issue(req, &d)
	}
	return d
}

// mayDial reports whether a permit could be of use: for a tool call, and for a
// URL that a named tool dials.
func mayDial(req *decision.Request) bool {
	return req.Resource.Kind == decision.KindTool || req.Resource.Kind == decision.KindURL && req.Tool != ""
}

// refuse records a refusal of the API's own.
func (a *API) refuse(ctx context.Context, req *decision.Request, d decision.Decision) decision.Decision {
	if a.recorder != nil {
		if req == nil {
			req = &decision.Request{}
		}
		a.recorder.Record(ctx, &decision.Event{Time: a.now(), Request: req, Decision: &d})
	}
	d.Effect = decision.Deny
	return d
}

// evaluations serves POST /access/v1/evaluations. Without items it behaves like
// evaluation (AuthZEN 1.0, section 7.1).
func (a *API) evaluations(w http.ResponseWriter, r *http.Request) {
	s := newScratch()
	defer s.free()
	if !a.body(w, r, s) {
		return
	}
	b, err := decodeBatch(s.in.Bytes())
	if err != nil {
		a.failed(w, err)
		return
	}
	if len(b.items) == 0 {
		req, err := b.defaults.request()
		a.single(w, r, s, req, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), a.timeout)
	defer cancel()
	s.out = append(s.out, `{"evaluations":[`...)
	for i := range b.items {
		if i > 0 {
			s.out = append(s.out, ',')
		}
		d := a.item(ctx, &b.items[i])
		s.out = EncodeAnswer(s.out, &d)
		if b.stops(d.Allowed()) {
			break
		}
	}
	s.out = append(s.out, `]}`...)
	a.reply(w, s.out)
}

// item answers one item of a batch. One that is malformed is refused by itself,
// and so is one whose turn comes too late.
func (a *API) item(ctx context.Context, p *parts) decision.Decision {
	req, err := p.request()
	if err == nil && ctx.Err() != nil {
		err = tooMuch("the batch took too long")
	}
	return a.decide(ctx, req, err)
}

// stops reports whether the batch ends with an item that was answered so.
func (b *batch) stops(allowed bool) bool {
	return b.semantic == denyOnFirstDeny && !allowed || b.semantic == permitOnFirstPermit && allowed
}
