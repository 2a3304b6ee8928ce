package audit_test

import (
	"testing"

	"github.com/toolgate/toolgate/internal/audit"
)

func TestTheEndOfAConnection(t *testing.T) {
	t.Parallel()
	s, c := newSink(), &counts{}
	r, stop := start(t, audit.Options{Writer: s, Observer: c})
	e := event()
	r.Record(t.Context(), e)
	e.Addr, e.Sent, e.Received = "192.0.2.8:443", 7, 9000
	r.Ends().Record(t.Context(), e)
	stop()
	lines := s.lines(t)
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	if _, found := lines[0]["event"]; found {
		t.Errorf("the line of the decision: %v", lines[0])
	}
	end := lines[1]
	if end["event"] != "end" || end["id"] != "id-1" || end["addr"] != "192.0.2.8:443" || end["sent"] != 7.0 || end["received"] != 9000.0 {
		t.Errorf("the line of the end: %v", end)
	}
}

func TestAnEndThatTheLogDoesNotTake(t *testing.T) {
	t.Parallel()
	s, c := newSink(), &counts{}
	s.set(0)
	r, stop := start(t, audit.Options{Writer: s, Observer: c})
	e := event()
	r.Ends().Record(t.Context(), e)
	stop()
	if _, dropped := c.get(); !e.Decision.Allowed() || dropped[audit.DroppedError] != 1 {
		t.Errorf("%+v, dropped %v: what has happened cannot be refused", e.Decision, dropped)
	}
}
