package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/config"
)

// agentVersion names what the document says of one agent by its content: an
// edit of the toolset, a rule, the model or the prompt changes it; where the
// agent stands in the file does not. What all agents share (the terminal and
// egress rules, the catalogue) and the mode are told apart by the policy
// revision.
func agentVersion(d *config.Agent, spec *allowlist.AgentSpec) string {
	type grant struct {
		Server string
		Tools  []string
	}
	content := struct {
		Registry, Role, Model, Prompt, Provider                     string
		HasTools, ReadOnly, HasAllowed, HasMCP, StrictMCP, Subtract bool
		Tools, Grants, Denies, Allowed, Disallowed, HTTPTools       []string
		MCP                                                         []grant
		Conditions                                                  []string
	}{
		spec.Registry.Name, spec.Role.Name, d.Model, d.Prompt, spec.ProviderName,
		spec.HasTools, spec.ReadOnly, spec.HasAllowed, spec.HasMCP, spec.StrictMCP, spec.NarrowUnrestricted,
		texts(spec.Tools), texts(spec.Grants), texts(spec.Denies), texts(spec.Allowed), texts(spec.Disallowed), texts(spec.HTTPTools),
		nil, nil,
	}
	for _, g := range spec.MCP {
		content.MCP = append(content.MCP, grant{g.Server.Name, texts(g.Tools)})
	}
	for _, c := range spec.Conditions {
		content.Conditions = append(content.Conditions, c.Tool.Name+" "+c.Text)
	}
	data, err := json.Marshal(content)
	if err != nil { // strings and truth values always marshal
		return d.Name + "@unknown"
	}
	sum := sha256.Sum256(data)
	return d.Name + "@sha256:" + hex.EncodeToString(sum[:])
}

// texts returns the names of a list.
func texts(list []allowlist.Named) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Name
	}
	return out
}
