package daemon

import (
	"fmt"
	"strings"

	"github.com/toolgate/toolgate/internal/config"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/terminal"
)

// Describe says in a few lines what a policy sets the three guards to. The
// start-up text and the check command print the same lines.
func Describe(p *Policy, loopback bool) []string {
	return []string{
		"tools     " + describeTools(p),
		"terminal  " + describeTerminal(&p.Document.Tools.Terminal),
		"urls      " + describeURLs(&p.Document.Egress, loopback),
	}
}

func describeTools(p *Policy) string {
	names := p.Snapshot.Agents()
	parts := []string{fmt.Sprintf("%s %s: %s", count(len(names), "agent"), modeWord(p.Document.Mode), strings.Join(names, ", "))}
	for i := range p.Document.Agents {
		if m := p.Document.Agents[i].Mode; m != nil && *m != p.Document.Mode {
			parts = append(parts, p.Document.Agents[i].Name+" "+modeWord(*m))
		}
	}
	return strings.Join(parts, "; ")
}

func modeWord(m decision.Mode) string {
	if m == decision.Report {
		return "in report mode (refusals of policy are recorded and let through)"
	}
	return "enforced"
}

func describeTerminal(t *config.Terminal) string {
	if !t.Enabled {
		return "off: no command runs"
	}
	switch t.Sandbox.Mode {
	case terminal.ModeAllowlist:
		return fmt.Sprintf("allowlist: %s allow, %s block, everything else is refused", count(len(t.Sandbox.Allow), "rule"), count(len(t.Sandbox.Block), "rule"))
	case terminal.ModeBlocklist:
		return fmt.Sprintf("blocklist: %s block, everything else runs", count(len(t.Sandbox.Block), "rule"))
	case terminal.ModeOff:
	}
	return "on and unjudged: every command runs"
}

func describeURLs(e *config.Egress, loopback bool) string {
	text := "internal addresses refused, loopback closed to all"
	if loopback {
		text = "internal addresses refused, loopback open to browser tools (" + LoopbackVariable + ")"
	}
	text += fmt.Sprintf(", %s, %s", count(len(e.Rules), "egress rule"), count(len(e.AllowPrivate), "private exception"))
	if e.Anonymous == nil {
		return text + "; the proxy asks for credentials"
	}
	return text + fmt.Sprintf("; proxy clients without credentials are agent %s, tool %s", e.Anonymous.Agent.Name, e.Anonymous.Tool.Name)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
