package audit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/toolgate/toolgate/internal/audit"
	"github.com/toolgate/toolgate/internal/decision"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sink is a writer that a test can break and block.
type sink struct {
	mu     sync.Mutex
	writes [][]byte
	short  int           // bytes that the next write takes before it fails; -1: all
	gate   chan struct{} // when not nil, a write waits for it to close
	began  chan struct{} // told of each write that begins
}

func newSink() *sink { return &sink{short: -1, began: make(chan struct{}, 1000)} }

func (s *sink) Write(p []byte) (int, error) {
	s.began <- struct{}{}
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.short >= 0 {
		s.writes = append(s.writes, bytes.Clone(p[:s.short]))
		return s.short, errors.New("no space left on device")
	}
	s.writes = append(s.writes, bytes.Clone(p))
	return len(p), nil
}

func (s *sink) set(short int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.short = short
}

// lines are what the sink took, line by line.
func (s *sink) lines(t *testing.T) []map[string]any {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []map[string]any
	for line := range bytes.Lines(bytes.Join(s.writes, nil)) {
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

// counts is an Observer.
type counts struct {
	mu      sync.Mutex
	written int
	dropped map[string]int
}

func (c *counts) AuditEvent(string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written++
}

func (c *counts) AuditDropped(_, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dropped == nil {
		c.dropped = map[string]int{}
	}
	c.dropped[reason]++
}

func (c *counts) get() (int, map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.written, maps.Clone(c.dropped)
}

// start runs a recorder; stop ends it and waits for the lines that are left.
func start(t testing.TB, o audit.Options) (r *audit.Recorder, stop func()) {
	t.Helper()
	r, err := audit.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(stop)
	return r, stop
}

func event() *decision.Event {
	return &decision.Event{
		Time: time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.FixedZone("x", 3600)), Duration: 1500 * time.Microsecond,
		Request: &decision.Request{
			Agent: "pm", Tool: "fetch_url", Facts: decision.Facts{Run: "r1", Stage: "in_qa"},
			Resource: decision.Resource{Kind: decision.KindURL, ID: "https://bob:pw@example.com/?token=abc"},
		},
		Decision: &decision.Decision{
			ID: "id-1", Effect: decision.Allow, Reason: decision.URLOK, Guard: decision.GuardURL, Layer: decision.LayerURL,
			AgentVersion: "pm@sha256:1", Revision: "r7", Rule: "rule",
			Vetted: decision.Vetted{
				Endpoint: decision.Endpoint{Scheme: "https", Host: "example.com", Port: 443},
				Addrs:    []netip.Addr{netip.MustParseAddr("192.0.2.7")},
			},
			Permit: "permit",
		},
	}
}

func TestOneDecisionIsOneLine(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		change func(*decision.Request, *decision.Decision)
		want   string
	}{
		"a URL": {
			func(*decision.Request, *decision.Decision) {},
			`{"time":"2026-05-04T02:02:01.987654321Z","id":"id-1","guard":"url","decision":"allow","reason":"url_ok","agent":"pm",` +
				`"agent_version":"pm@sha256:1","run":"r1","stage":"in_qa","tool":"fetch_url","resource":"https://***@example.com/?token=***",` +
				`"rule":"rule","policy_revision":"r7","duration_us":1500,"host":"example.com","addr":"192.0.2.7","port":443,"layer":"url"}`,
		},
		"a refused tool of an MCP server": {
			func(q *decision.Request, d *decision.Decision) {
				q.Resource, q.Tool = decision.Resource{Kind: decision.KindTool, ID: "mcp__tracker__get_issue"}, ""
				*d = decision.Decision{ID: "id-2", Effect: decision.Allow, Would: true, Reason: decision.NotListed, Layer: decision.LayerMCP, Detail: "get_issue\x1b[2J"}
			},
			`{"time":"2026-05-04T02:02:01.987654321Z","id":"id-2","guard":"tool","decision":"allow","reason":"not_listed","agent":"pm",` +
				`"agent_version":"","run":"r1","stage":"in_qa","tool":"mcp__tracker__get_issue","resource":"mcp__tracker__get_issue",` +
				`"rule":"","policy_revision":"","duration_us":1500,"server":"tracker","layer":"mcp","would_deny":true,"detail":"get_issue\u001b[2J"}`,
		},
		"a command": {
			func(q *decision.Request, d *decision.Decision) {
				q.Resource, q.Tool = decision.Resource{Kind: decision.KindCommand, ID: "X_TOKEN=abc ls\n"}, ""
				*d = decision.Decision{ID: "id-3", Reason: decision.CommandBlocked, Guard: decision.GuardTerminal, Layer: decision.LayerTerminal}
			},
			`{"time":"2026-05-04T02:02:01.987654321Z","id":"id-3","guard":"terminal","decision":"deny","reason":"command_blocked","agent":"pm",` +
				`"agent_version":"","run":"r1","stage":"in_qa","tool":"","resource":"X_TOKEN=*** ls\n",` +
				`"rule":"","policy_revision":"","duration_us":1500,"command":"X_TOKEN=*** ls\n","layer":"terminal"}`,
		},
	} {
		s := newSink()
		r, stop := start(t, audit.Options{Writer: s})
		e := event()
		row.change(e.Request, e.Decision)
		before := *e.Decision
		r.Record(t.Context(), e)
		stop()
		if len(s.writes) != 1 || string(s.writes[0]) != row.want+"\n" {
			t.Errorf("%s:\n%s\nwant:\n%s", name, bytes.Join(s.writes, []byte("|")), row.want)
		}
		if diff := cmp.Diff(before, *e.Decision, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
			t.Errorf("%s: the decision was changed:\n%s", name, diff)
		}
	}
}

func TestHostileTextStaysInItsLine(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a forged line":     "a\n{\"decision\":\"allow\"}",
		"a title sequence":  "\x1b]0;owned\x07",
		"a C1 sequence":     "\u009b2J",
		"turned around":     "\u202egpj.exe",
		"line separators":   "a\u2028b\u2029c\u0085d",
		"invisible":         "a\u200bb\u00ad",
		"carriage return":   "ok\rdenied",
		"not UTF-8":         "a\xff\xfe",
		"delete":            "a\x7f",
		"NUL":               "a\x00b",
		"tags beyond 16":    "a\U000e0041b",
		"quotes and slash":  `"},{"x":"\`,
		"ordinary letters":  "größe 名前 🙂",
		"a very long text":  strings.Repeat("é", 1<<20),
		"an all-escape one": strings.Repeat("\x00", 1<<20),
	} {
		s := newSink()
		r, stop := start(t, audit.Options{Writer: s})
		e := event()
		e.Request.Agent, e.Request.Facts.Run, e.Request.Facts.Stage, e.Request.Tool = text, text, text, text
		e.Request.Resource = decision.Resource{Kind: decision.KindCommand, ID: text}
		e.Decision.Detail, e.Decision.Rule = text, text
		r.Record(t.Context(), e)
		stop()
		raw := string(bytes.Join(s.writes, nil))
		if strings.Count(raw, "\n") != 1 || len(raw) > 40<<10 {
			t.Errorf("%s: %d bytes in %d lines", name, len(raw), strings.Count(raw, "\n"))
		}
		if i := strings.IndexFunc(strings.TrimSuffix(raw, "\n"), func(r rune) bool {
			return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0xad || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0xe0000
		}); i >= 0 {
			t.Errorf("%s: a character that is not shown at %d: %.100q", name, i, raw[i:])
		}
		line := s.lines(t)[0]
		if len(text) < 200 && line["agent"] != strings.ToValidUTF8(strings.ReplaceAll(text, "\xff\xfe", "\xff \xfe"), "\uFFFD") && name != "not UTF-8" {
			t.Errorf("%s: agent reads back as %q", name, line["agent"])
		}
	}
}

func TestIDsAreVersion7AndSort(t *testing.T) {
	t.Parallel()
	r, _ := start(t, audit.Options{Writer: io.Discard})
	var ids []string
	for range 1000 {
		e := event()
		e.Decision.ID = ""
		r.Record(t.Context(), e)
		id, err := uuid.Parse(e.Decision.ID)
		if err != nil || id.Version() != 7 {
			t.Fatalf("id %q: %v", e.Decision.ID, err)
		}
		ids = append(ids, e.Decision.ID)
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 1000 {
		t.Error("ids repeat or do not sort by time")
	}
}

func isFullDeny(d *decision.Decision) bool {
	return d.Effect == decision.Deny && d.Reason == decision.InternalError && d.Permit == "" && len(d.Vetted.Addrs) == 0 && !d.Would && d.ID != ""
}

func TestAFailingSink(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		onFull audit.OnFull
		effect decision.Effect
		denies bool
	}{
		"an allow becomes a deny": {audit.DenyOnFull, decision.Allow, true},
		"a deny keeps its reason": {audit.DenyOnFull, decision.Deny, false},
		"drop lets the allow be":  {audit.DropOnFull, decision.Allow, false},
	} {
		s, c := newSink(), &counts{}
		s.set(0)
		r, stop := start(t, audit.Options{Writer: s, OnFull: row.onFull, Observer: c, Timeout: time.Minute})
		e := event()
		e.Decision.Effect = row.effect
		r.Record(t.Context(), e)
		if isFullDeny(e.Decision) != row.denies {
			t.Errorf("%s: %+v", name, e.Decision)
		}
		if !row.denies && (e.Decision.Effect != row.effect || e.Decision.Reason != decision.URLOK) {
			t.Errorf("%s: %+v", name, e.Decision)
		}
		stop()
		written, dropped := c.get()
		if written != 0 || dropped[audit.DroppedError] < 1 {
			t.Errorf("%s: written %d, dropped %v", name, written, dropped)
		}
	}
}

func TestABlockedSink(t *testing.T) {
	t.Parallel()
	s, c := newSink(), &counts{}
	s.gate = make(chan struct{})
	r, stop := start(t, audit.Options{Writer: s, Observer: c, Timeout: 20 * time.Millisecond})
	first := event()
	r.Record(t.Context(), first)
	<-s.began
	second := event()
	second.Decision.ID = "id-2"
	r.Record(t.Context(), second)
	if !isFullDeny(first.Decision) || !isFullDeny(second.Decision) {
		t.Errorf("first %+v, second %+v", first.Decision, second.Decision)
	}
	close(s.gate) // the sink comes back
	stop()
	last := map[any]any{}
	for _, line := range s.lines(t) {
		last[line["id"]] = line["decision"]
	}
	if last["id-1"] != "deny" || last["id-2"] != "deny" {
		t.Errorf("the last word of the log is %v, and both were refused", last)
	}
	for _, line := range s.lines(t) {
		if line["id"] == "id-2" && line["decision"] == "allow" {
			t.Error("a line that was given up before it was begun was written")
		}
	}
	if _, dropped := c.get(); dropped[audit.DroppedTimeout] != 2 {
		t.Errorf("dropped %v", dropped)
	}
}

func TestABlockedSinkThatDrops(t *testing.T) {
	t.Parallel()
	s, c := newSink(), &counts{}
	s.gate = make(chan struct{})
	r, stop := start(t, audit.Options{Writer: s, Observer: c, OnFull: audit.DropOnFull, Queue: 4, Timeout: time.Hour})
	r.Record(t.Context(), event())
	<-s.began
	for range 10 { // must not wait: the test would hang
		e := event()
		if r.Record(t.Context(), e); !e.Decision.Allowed() || e.Decision.Permit == "" {
			t.Fatalf("%+v", e.Decision)
		}
	}
	if _, dropped := c.get(); dropped[audit.DroppedQueueFull] != 6 {
		t.Errorf("dropped %v, want 6 beyond a queue of 4", dropped)
	}
	close(s.gate)
	stop()
	if n := len(s.lines(t)); n != 5 {
		t.Errorf("%d lines", n)
	}
}

func TestWithoutRunNothingIsAllowed(t *testing.T) {
	t.Parallel()
	r, err := audit.New(audit.Options{Writer: io.Discard, Timeout: time.Millisecond, Queue: 1})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		e := event()
		if r.Record(t.Context(), e); !isFullDeny(e.Decision) {
			t.Errorf("%+v", e.Decision)
		}
	}
}

func TestALineAfterATornOneIsWhole(t *testing.T) {
	t.Parallel()
	s := newSink()
	r, stop := start(t, audit.Options{Writer: s, OnFull: audit.DropOnFull})
	s.set(17)
	r.Record(t.Context(), event())
	<-s.began
	for { // until the torn write is over
		s.mu.Lock()
		n := len(s.writes)
		s.mu.Unlock()
		if n == 1 {
			break
		}
	}
	s.set(-1)
	r.Record(t.Context(), event())
	stop()
	lines := bytes.Split(bytes.TrimSpace(bytes.Join(s.writes, nil)), []byte("\n"))
	if len(lines) != 2 || json.Valid(lines[0]) || !json.Valid(lines[1]) {
		t.Errorf("%q", lines)
	}
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s, c := newSink(), &counts{}
	s.began = make(chan struct{}, 10_000)
	r, stop := start(t, audit.Options{Writer: s, Observer: c, Timeout: time.Minute, Queue: 3})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				e := event()
				e.Decision.ID = ""
				if r.Record(t.Context(), e); !e.Decision.Allowed() {
					t.Errorf("refused: %+v", e.Decision)
				}
			}
		})
	}
	all.Wait()
	stop()
	seen := map[any]bool{}
	for _, line := range s.lines(t) {
		seen[line["id"]] = true
	}
	if written, dropped := c.get(); len(seen) != 1600 || len(s.writes) > 1600 || written != 1600 || len(dropped) != 0 {
		t.Errorf("%d ids in %d writes, %d counted, dropped %v", len(seen), len(s.writes), written, dropped)
	}
}

func TestOptionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]audit.Options{
		"no writer":           {},
		"a negative timeout":  {Writer: io.Discard, Timeout: -1},
		"a negative queue":    {Writer: io.Discard, Queue: -1},
		"an unknown on_full":  {Writer: io.Discard, OnFull: 7},
		"no writer, but drop": {OnFull: audit.DropOnFull},
	} {
		if _, err := audit.New(o); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func BenchmarkRecord(b *testing.B) {
	for name, o := range map[string]audit.Options{
		"deny": {Writer: io.Discard}, "drop": {Writer: io.Discard, OnFull: audit.DropOnFull, Queue: 1 << 20},
	} {
		b.Run(name, func(b *testing.B) {
			r, _ := start(b, o)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				e := event()
				for pb.Next() {
					e.Decision.ID = ""
					r.Record(context.Background(), e)
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
