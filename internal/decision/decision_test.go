package decision_test

import (
	"context"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
)

func TestReasonsAreOneClosedList(t *testing.T) {
	t.Parallel()
	code := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, r := range decision.Reasons() {
		if !code.MatchString(r.String()) {
			t.Errorf("reason %d has code %q, want snake_case", r, r)
		}
		if seen[r.String()] {
			t.Errorf("code %q stands for two reasons", r)
		}
		seen[r.String()] = true
		if back, ok := decision.ParseReason(r.String()); !ok || back != r {
			t.Errorf("ParseReason(%q) = %v, %t", r, back, ok)
		}
		if s := r.Sentence(); !strings.HasSuffix(s, ".") {
			t.Errorf("%s: sentence %q does not end in a full stop", r, s)
		}
		if r.Allows() && r.Always() {
			t.Errorf("%s both allows and always refuses", r)
		}
	}
	// Contracts, section 7: 13 + 19 + 7 + 25 + 5 + 13 codes.
	if want := 82; len(seen) != want {
		t.Errorf("%d reasons, want %d: a new code is a decision that is written down", len(seen), want)
	}
	if _, ok := decision.ParseReason("Url_ok"); ok {
		t.Error("codes are matched in one case only")
	}
}

func TestZeroValuesDeny(t *testing.T) {
	t.Parallel()
	var d decision.Decision
	if d.Allowed() || d.Reason != decision.InternalError || d.Reason.Allows() {
		t.Errorf("the zero Decision says %v for %v", d.Effect, d.Reason)
	}
	if len(d.Vetted.Addrs) != 0 {
		t.Error("the zero Vetted can be dialled")
	}
	var r decision.Request
	if k, ok := decision.ParseKind(r.Resource.Kind.String()); ok {
		t.Errorf("the zero kind is %v", k)
	}
	if decision.Reason(255).Allows() || decision.Reason(255).Class() != decision.ClassFault {
		t.Error("a reason outside the list is not a fault")
	}
}

func TestAlwaysRefusedInReportMode(t *testing.T) {
	t.Parallel()
	for _, r := range []decision.Reason{
		decision.URLLoopback, decision.URLMetadata, decision.URLSelf, decision.URLPinMismatch,
		decision.UnknownTool, decision.InternalError, decision.URLInvalid, decision.DNSFailed,
	} {
		if !r.Always() {
			t.Errorf("%s may be let through in report mode", r)
		}
	}
	for _, r := range []decision.Reason{
		decision.NotListed, decision.CommandBlocked, decision.URLPrivate, decision.HostDenied,
	} {
		if r.Always() {
			t.Errorf("%s is refused in report mode", r)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	d := decision.Decision{
		Reason: decision.URLPrivate, Guard: decision.GuardURL, Detail: "10.0.0.1\x1b[2J\u202e",
		Rule: "egress", Position: decision.Position{File: "toolgate.yaml", Line: 3, Col: 5},
	}
	user, admin := d.UserText(), d.AdminText()
	if strings.Contains(user, "10.0.0.1") {
		t.Errorf("the agent is told the internal address: %q", user)
	}
	if !strings.Contains(user, "url_private") || !strings.Contains(user, "do not retry") {
		t.Errorf("user text %q has no code or does not say that it is final", user)
	}
	for _, want := range []string{"10.0.0.1", "toolgate.yaml:3:5", `\x1b`, `\u202e`} {
		if !strings.Contains(admin, want) {
			t.Errorf("admin text %q lacks %q", admin, want)
		}
	}
	fault := decision.Decision{Reason: decision.DNSFailed}
	if strings.Contains(fault.UserText(), "do not retry") {
		t.Error("a network fault is called final")
	}
	if q := decision.Quote(strings.Repeat("a", 5000)); len(q) > 300 {
		t.Errorf("Quote let %d bytes through", len(q))
	}
}

func TestAuthority(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		e    decision.Endpoint
		want string
	}{
		{decision.Endpoint{Host: "example.com", Port: 443}, "example.com:443"},
		{decision.Endpoint{Host: "1.1.1.1", Addr: netip.MustParseAddr("1.1.1.1"), Port: 80}, "1.1.1.1:80"},
		{decision.Endpoint{Host: "::1", Addr: netip.MustParseAddr("::1"), Port: 80}, "[::1]:80"},
	} {
		if got := row.e.Authority(); got != row.want {
			t.Errorf("Authority(%+v) = %q, want %q", row.e, got, row.want)
		}
	}
}

type yes struct{}

func (yes) Decide(context.Context, *decision.Request) decision.Decision {
	return decision.Decision{Effect: decision.Allow, Reason: decision.Listed}
}

type fullLog struct{ told int }

func (l *fullLog) Record(_ context.Context, e *decision.Event) {
	l.told++
	e.Decision.Effect, e.Decision.Reason = decision.Deny, decision.InternalError
}

func TestRecordedAnswersWhatTheLogLeft(t *testing.T) {
	t.Parallel()
	log := &fullLog{}
	d := decision.Recorded(yes{}, decision.Recorders{log}, time.Now).Decide(t.Context(), &decision.Request{})
	if d.Allowed() || log.told != 1 {
		t.Errorf("allowed=%t after %d records: a full log must be able to deny", d.Allowed(), log.told)
	}
}
