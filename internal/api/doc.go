// Package api is toolgate's decision API: OpenID AuthZEN Authorization API 1.0
// over HTTP (contracts, section 4). It turns a request body into a
// decision.Request, asks a decision.Decider, and writes the answer. It decides
// nothing itself, except that a question which cannot be put is refused.
//
// The bodies come from agents' runtimes and are treated as hostile. They are
// read token by token: a name that occurs twice, a name that only looks like a
// known one, a wrong type, text after the end, a body that is too long or too
// deep is an error and never a guess (report M04). The command line's
// "decide -" reads and writes with the same functions.
package api
