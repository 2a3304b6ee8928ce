package runs_test

import (
	"bytes"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/toolgate/toolgate/internal/runs"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func permits(t *testing.T, o runs.PermitOptions) *runs.Permits {
	t.Helper()
	p, err := runs.NewPermits(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func grant() runs.Grant {
	return runs.Grant{Agent: "pm", AgentVersion: "pm@sha256:ab", Tool: "browser_open", DecisionID: "0192-7"}
}

func TestPermitRoundTrip(t *testing.T) {
	t.Parallel()
	p := permits(t, runs.PermitOptions{})
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, -1, 512)
		g := runs.Grant{Agent: text.Draw(t, "agent"), AgentVersion: text.Draw(t, "version"), Tool: text.Draw(t, "tool"), DecisionID: text.Draw(t, "id")}
		permit := p.Issue(g)
		if g.Agent == "" || g.Tool == "" {
			if permit != "" {
				t.Fatalf("a permit for nobody or nothing: %q", permit)
			}
			return
		}
		if !regexp.MustCompile(`^[A-Za-z0-9_-]+$`).MatchString(permit) {
			t.Fatalf("%q needs escaping in a URL or in Basic credentials", permit)
		}
		if got, ok := p.Check(permit); !ok || got != g {
			t.Fatalf("Check = %+v, %t; issued %+v", got, ok, g)
		}
	})
}

func TestPermitIsUserinfoAsItStands(t *testing.T) {
	t.Parallel()
	permit := permits(t, runs.PermitOptions{}).Issue(grant())
	u, err := url.Parse("http://browser_open:" + permit + "@127.0.0.1:8181")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := u.User.Password(); got != permit {
		t.Errorf("the proxy URL carries %q, want %q", got, permit)
	}
}

func TestTamperedPermits(t *testing.T) {
	t.Parallel()
	p := permits(t, runs.PermitOptions{})
	permit := p.Issue(grant())
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=\n .\x00"
	for i := range len(permit) {
		for _, c := range []byte(alphabet) {
			if permit[i] == c {
				continue
			}
			forged := permit[:i] + string(c) + permit[i+1:]
			if g, ok := p.Check(forged); ok {
				t.Fatalf("byte %d changed to %q is accepted as %+v", i, c, g)
			}
		}
		if _, ok := p.Check(permit[:i]); ok {
			t.Fatalf("the first %d bytes are accepted", i)
		}
		if _, ok := p.Check(permit[:i] + "\n" + permit[i:]); ok {
			t.Fatalf("a line break at %d is accepted", i)
		}
	}
	for name, forged := range map[string]string{
		"empty":           "",
		"prefix only":     "tgp_",
		"a byte more":     permit + "A",
		"twice":           permit + permit,
		"padding":         permit + "=",
		"a long text":     "tgp_" + strings.Repeat("A", 1<<20),
		"another key's":   permits(t, runs.PermitOptions{}).Issue(grant()),
		"without prefix":  strings.TrimPrefix(permit, "tgp_"),
		"prefix in caps":  "TGP_" + strings.TrimPrefix(permit, "tgp_"),
		"space around it": " " + permit,
	} {
		if _, ok := p.Check(forged); ok {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestPermitExpires(t *testing.T) {
	t.Parallel()
	c := &clock{at: time.Unix(1_800_000_000, 0)}
	p := permits(t, runs.PermitOptions{TTL: time.Minute, Now: c.now})
	permit := p.Issue(grant())
	c.at = c.at.Add(time.Minute - time.Millisecond)
	if _, ok := p.Check(permit); !ok {
		t.Error("refused a millisecond before its end")
	}
	c.at = c.at.Add(time.Millisecond)
	if _, ok := p.Check(permit); ok {
		t.Error("accepted at its end")
	}
}

func TestPermitKeys(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{7}, runs.MinPermitKey)
	one, two := permits(t, runs.PermitOptions{Key: key}), permits(t, runs.PermitOptions{Key: key})
	if g, ok := two.Check(one.Issue(grant())); !ok || g != grant() {
		t.Error("a permit is refused by a second process with the same key")
	}
	if _, err := runs.NewPermits(runs.PermitOptions{Key: key[1:]}); err == nil {
		t.Error("a short key is accepted")
	}
	if _, err := runs.NewPermits(runs.PermitOptions{Key: []byte{}}); err == nil {
		t.Error("an empty key is accepted")
	}
	if _, err := runs.NewPermits(runs.PermitOptions{TTL: -1}); err == nil {
		t.Error("a negative lifetime is accepted")
	}
}

func TestZeroPermitsRefuse(t *testing.T) {
	t.Parallel()
	var zero runs.Permits
	if got := zero.Issue(grant()); got != "" {
		t.Errorf("the zero value issues %q", got)
	}
	if _, ok := zero.Check(permits(t, runs.PermitOptions{}).Issue(grant())); ok {
		t.Error("the zero value accepts")
	}
	if _, ok := zero.Check(""); ok {
		t.Error("the zero value accepts nothing at all")
	}
}

func TestPermitFieldsAreBounded(t *testing.T) {
	t.Parallel()
	p := permits(t, runs.PermitOptions{})
	full := strings.Repeat("x", 512)
	g := runs.Grant{Agent: full, AgentVersion: full, Tool: full, DecisionID: full}
	if got, ok := p.Check(p.Issue(g)); !ok || got != g {
		t.Error("the longest grant is refused")
	}
	for name, long := range map[string]runs.Grant{
		"agent": {Agent: full + "x", Tool: "t"}, "tool": {Agent: "a", Tool: full + "x"},
		"version": {Agent: "a", Tool: "t", AgentVersion: full + "x"}, "id": {Agent: "a", Tool: "t", DecisionID: full + "x"},
	} {
		if p.Issue(long) != "" {
			t.Errorf("%s: a text that is too long is issued", name)
		}
	}
}

func BenchmarkPermit(b *testing.B) {
	p, err := runs.NewPermits(runs.PermitOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := p.Check(p.Issue(grant())); !ok {
			b.Fatal("refused")
		}
	}
}
