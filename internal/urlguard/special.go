package urlguard

import (
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// metadataName reports whether a canonical name is, or is below, the name of a
// cloud's metadata service.
func metadataName(name string) bool {
	switch name {
	case "metadata", "instance-data", "instance-data.ec2.internal":
		return true
	}
	for _, m := range [...]string{
		"metadata.google.internal", "metadata.goog", "metadata.tencentyun.com", "metadata.azure.internal", "metadata.azure.com",
	} {
		if below(name, m) {
			return true
		}
	}
	return false
}

// localName reports whether a canonical name is localhost or below it: such
// names are this machine and are never sent to a server (RFC 6761, section
// 6.3).
func localName(name string) bool { return below(name, "localhost") }

// internalName reports whether a canonical name belongs to a domain that the
// public DNS does not serve, or that names something inside: special-use
// domains (RFC 6761 and the IANA registry of them), container and cluster
// names, and names of one label, which a search domain would complete. The
// query alone would carry the name out, so it is refused before one.
func internalName(name string) bool {
	if !strings.Contains(name, ".") {
		return true
	}
	for _, domain := range [...]string{
		"internal", "local", "localdomain", "home.arpa", "onion", "invalid", "alt", "intranet", "lan", "corp", "home",
		"private", "svc", "cluster.local", "in-addr.arpa", "ip6.arpa", "ipv4only.arpa", "resolver.arpa", "service.arpa",
	} {
		if below(name, domain) {
			return true
		}
	}
	return false
}

// below reports whether name is domain or a name below it.
func below(name, domain string) bool {
	rest, ok := strings.CutSuffix(name, domain)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// NameReason says what a canonical name, a host's own or an alias, means before
// anything is looked up: url_ok for an ordinary one, or why it may not be asked
// for.
func NameReason(name string) decision.Reason {
	switch {
	case localName(name), below(name, "localhost.localdomain"), below(name, "localhost6.localdomain6"):
		return decision.URLLoopback
	case metadataName(name):
		return decision.URLMetadata
	case internalName(name):
		return decision.URLInternal
	}
	return decision.URLOK
}
