// Package egress is the enforcement point for outbound HTTP: a forward proxy
// that takes absolute-form requests (RFC 9112, section 3.2.2) and CONNECT
// (RFC 9110, section 9.3.6) and passes on only what the decision point allowed.
//
// It decides no policy and resolves no name. For every request, also the tenth
// on one connection, it asks a decision.Decider about the target as it was
// received, and then uses the vetted value of the answer and nothing else: the
// Host field, the pool and the dial come from Decision.Vetted; of the original
// text only path and query go on. A redirect that leads to a refused target is
// replaced by the refusal.
//
// # How a request travels
//
//	clientConn  checks the framing of each request head, byte by byte, before
//	            net/http sees it, so that no request can be read in two ways
//	Proxy       form, identity, loop, decision; refuses, or goes on
//	goproxy     relays: it gets vetted requests only, and a transport and
//	            dialers that can reach nothing but the vetted addresses
//	transport   one pool, in which connections are kept apart by identity,
//	            endpoint and vetted addresses
//
// goproxy is built from its zero value and not with NewProxyHttpServer, whose
// presets skip TLS verification and take proxies from the environment.
//
// Only package daemon imports egress.
package egress
