package pin

import (
	"slices"
	"strings"
)

// local reports whether a canonical name is localhost or below it: such a name
// is answered here and never sent to a server (RFC 6761, section 6.3).
func local(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// maxChain is how many aliases a name may have.
const maxChain = 8

// extend appends the aliases in more to chain, which starts at host.
func extend(host string, chain, more []string) ([]string, *DNSError) {
	for _, name := range more {
		if name == host || slices.Contains(chain, name) {
			return chain, fail(KindLoop, "alias %q comes twice", name)
		}
		if len(chain) == maxChain {
			return chain, fail(KindLoop, "more than %d aliases", maxChain)
		}
		chain = append(chain, name)
	}
	return chain, nil
}
