// Package urlguard judges outbound URLs: it reads the text of a URL or of a
// CONNECT authority once, strictly, into the one canonical Endpoint that every
// later step uses, and it judges names, ports, egress rules and addresses.
//
// It is pure: it resolves nothing, dials nothing and reads no clock. Whatever
// two parsers could read differently is refused. Package policy asks it before
// a name is looked up (Guard.Before) and again with the whole answer
// (Guard.Addrs); only policy, config, pin and the network enforcement points
// import it.
package urlguard
