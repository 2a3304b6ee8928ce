package config

import (
	"net/netip"
	"time"

	"github.com/toolgate/toolgate/internal/allowlist"
	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

// Egress configures the egress proxy and the outbound URL guard.
type Egress struct {
	// Who a client without credentials is. Without it, such a client gets 407.
	Anonymous *Anonymous `key:"anonymous"`
	// Ports that may be dialled. Browser tools that may reach loopback are free
	// of it there.
	Ports []uint16 `key:"ports" default:"[80, 443, 8080, 8443]"`
	// Hosts per agent and tool. A target that no rule speaks of is allowed, as
	// far as its address is public.
	Rules []EgressRule `key:"rules"`
	// Private addresses that may be dialled after all, each under one name.
	AllowPrivate []Private `key:"allow_private"`
	// How names are resolved.
	Resolver Resolver `key:"resolver"`
}

// Anonymous is who a client without credentials is.
type Anonymous struct {
	Pos decision.Position

	// One of the agents of the document.
	Agent allowlist.Named `key:"agent,required"`
	// A tool of that agent.
	Tool allowlist.Named `key:"tool,required"`
}

// EgressRule permits and forbids hosts. A rule without allow only denies.
type EgressRule struct {
	Pos decision.Position

	// Agents that it holds for; all without it.
	Agents Names `key:"agents"`
	// Tools and @groups that it holds for; all without it.
	Tools Names `key:"tools"`
	// Hosts that may be dialled, and no others: host, *.domain, either with
	// :port.
	Allow []urlguard.Pattern `key:"allow"`
	// Hosts that may not be dialled. deny wins over allow.
	Deny []urlguard.Pattern `key:"deny"`
}

// Private is a private range that one host may resolve to.
type Private struct {
	Pos decision.Position

	// The name that is dialled.
	Host urlguard.Pattern `key:"host,required"`
	// The range that its addresses lie in. Never loopback, link-local or a
	// metadata service.
	CIDR netip.Prefix `key:"cidr,required"`
	// The ports that may be dialled.
	Ports []uint16 `key:"ports,required"`
}

// Resolver says how names are resolved.
type Resolver struct {
	// DNS servers: system (those of /etc/resolv.conf) or IP:port.
	Servers []string `key:"servers" default:"[system]"`
	// How long a look-up may take.
	Timeout time.Duration `key:"timeout" default:"2s" min:"10ms" max:"1m"`
	// Static answers: a name and its addresses, judged like any other answer.
	Hosts []Host `key:"hosts"`
}

// Host is a static answer.
type Host struct {
	Name  string
	Pos   decision.Position
	Addrs []netip.Addr
}
