package policy

import (
	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
)

// settle turns a verdict of the tool layers into a decision.
func settle(a *agent, v allowlist.Verdict) decision.Decision {
	return withMode(a, decision.Decision{
		Reason: v.Reason, State: v.State, Layer: v.Layer, Detail: v.Detail, Rule: v.Rule, Position: v.Pos,
	})
}

// refuse is a refusal of the PDP's own.
func refuse(a *agent, r decision.Reason, l decision.Layer, detail string) decision.Decision {
	return withMode(a, decision.Decision{Reason: r, Layer: l, Detail: detail})
}

// withMode sets the effect: what the reason says, except that report mode lets
// through what it may let through (contracts, section 2).
func withMode(a *agent, d decision.Decision) decision.Decision {
	switch {
	case d.Reason.Allows():
		d.Effect = decision.Allow
	case a.mode == decision.Report && !d.Reason.Always():
		d.Effect, d.Would = decision.Allow, true
	default:
		d.Effect = decision.Deny
	}
	return d
}

// stricter combines the answers of two layers that a question passes in turn.
// A refusal beats an answer that would refuse, which beats an allow; between
// equals the earlier layer speaks. What may be dialled always comes from the
// later one.
func stricter(earlier, later decision.Decision) decision.Decision {
	if rank(later) > rank(earlier) {
		later.State = earlier.State
		return later
	}
	earlier.Vetted = later.Vetted
	return earlier
}

func rank(d decision.Decision) int {
	switch {
	case d.Effect == decision.Deny:
		return 2
	case d.Would:
		return 1
	}
	return 0
}
