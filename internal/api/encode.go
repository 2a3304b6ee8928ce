package api

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/toolgate/toolgate/internal/decision"
)

// EncodeAnswer appends the AuthZEN answer for d: {"decision":…,"context":{…}}.
// It never holds obligations, which an enforcement point that does not know
// them would have to take for a deny.
func EncodeAnswer(dst []byte, d *decision.Decision) []byte {
	dst = append(dst, `{"decision":`...)
	dst = strconv.AppendBool(dst, d.Allowed())
	dst = append(dst, `,"context":{`...)
	dst = optional(dst, "id", d.ID)
	dst = pair(dst, "reason", d.Reason.String())
	dst = optional(dst, "state", d.State.String())
	dst = optional(dst, "rule", d.Rule)
	if !d.Position.IsZero() {
		dst = pair(dst, "position", d.Position.String())
	}
	dst = pair(dst, "reason_user", d.UserText())
	dst = pair(dst, "reason_admin", d.AdminText())
	dst = optional(dst, "agent_version", d.AgentVersion)
	dst = optional(dst, "policy_revision", d.Revision)
	dst = pair(dst, "layer", d.Layer.String())
	dst = pair(dst, "mode", d.Mode.String())
	if d.Would {
		dst = append(dst, `,"would_deny":true`...)
	}
	if d.Hop > 0 || d.Reason == decision.URLRedirect {
		dst = append(dst, `,"hop":`...)
		dst = strconv.AppendInt(dst, int64(d.Hop), 10)
	}
	if d.Allowed() {
		dst = optional(dst, "permit", d.Permit)
	}
	return append(dst, '}', '}')
}

// optional appends a member unless its value is empty.
func optional(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	return pair(dst, name, value)
}

// pair appends a member to the open object. Names need no escaping.
func pair(dst []byte, name, value string) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...)
	dst = append(dst, '"', ':')
	return quote(dst, value)
}

// quote appends text as a JSON string. Invalid UTF-8 becomes U+FFFD.
func quote(dst []byte, text string) []byte {
	dst, _ = jsontext.AppendQuote(dst, text) // the error only says that it did
	return dst
}
