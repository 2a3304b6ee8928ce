package api

import (
	"strconv"
	"sync"

	"github.com/toolgate/toolgate/internal/decision"
)

// maxBatch bounds the items of one evaluations request.
const maxBatch = 1000

// readers keeps decoders, whose tables are costly to make, between requests.
//
//nolint:gochecknoglobals // a pool of scratch memory, without state
var readers = sync.Pool{New: func() any { return new(reader) }}

func newReader(data []byte) *reader {
	r, ok := readers.Get().(*reader)
	if !ok {
		r = new(reader)
	}
	r.reset(data)
	return r
}

func (r *reader) free() {
	r.reset(nil)
	readers.Put(r)
}

// DecodeEvaluation reads the body of an AuthZEN access evaluation request. An
// error is a *RequestError; with Denied set the request comes with it, as far
// as it was understood, so that the refusal can be recorded. data is not kept.
func DecodeEvaluation(data []byte) (*decision.Request, error) {
	r := newReader(data)
	defer r.free()
	var p parts
	err := r.whole(singleMembers, &p.fault, func(name string) error { return r.entity(name, &p) })
	if err != nil {
		return nil, err
	}
	return p.request()
}

// whole reads a whole body.
func (r *reader) whole(m members, f *fault, read func(name string) error) error {
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.rest(m, f, read); err != nil {
		return err
	}
	return r.end()
}

// semantic says when a batch stops.
type semantic uint8

const (
	executeAll semantic = iota
	denyOnFirstDeny
	permitOnFirstPermit
)

// batch is the body of an access evaluations request.
type batch struct {
	defaults parts
	items    []parts
	semantic semantic
}

// decodeBatch reads the body of an access evaluations request. What is wrong
// in one item is noted in that item.
func decodeBatch(data []byte) (*batch, error) {
	r := newReader(data)
	defer r.free()
	b := &batch{}
	f := &b.defaults.fault
	err := r.whole(batchMembers, f, func(name string) error {
		switch name {
		case "evaluations":
			return r.evaluations(b)
		case "options":
			return r.options(b)
		}
		return r.entity(name, &b.defaults)
	})
	if err != nil {
		return nil, err
	}
	if *f != "" {
		return nil, malformed(string(*f))
	}
	for i := range b.items {
		b.items[i].inherit(&b.defaults)
	}
	return b, nil
}

func (r *reader) evaluations(b *batch) error {
	if k := r.dec.PeekKind(); k != '[' {
		b.defaults.fault.note("evaluations must be a list of objects, not " + kindName(k))
		return r.skip()
	}
	if err := r.open(); err != nil {
		return err
	}
	for {
		more, err := r.more(']')
		if err != nil || !more {
			return err
		}
		if len(b.items) == maxBatch {
			return tooMuch("evaluations has more than " + strconv.Itoa(maxBatch) + " items")
		}
		b.items = append(b.items, parts{})
		item := &b.items[len(b.items)-1]
		err = r.each("an item of evaluations", singleMembers, &item.fault, func(name string) error { return r.entity(name, item) })
		if err != nil {
			return err
		}
	}
}

func (r *reader) options(b *batch) error {
	f := &b.defaults.fault
	return r.each("options", optionMembers, f, func(string) error {
		text, err := r.text("options.evaluations_semantic", f)
		switch text {
		case "execute_all":
			b.semantic = executeAll
		case "deny_on_first_deny":
			b.semantic = denyOnFirstDeny
		case "permit_on_first_permit":
			b.semantic = permitOnFirstPermit
		default:
			f.note("options.evaluations_semantic must be execute_all, deny_on_first_deny or permit_on_first_permit, not " + decision.Quote(text))
		}
		return err
	})
}
