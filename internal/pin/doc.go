// Package pin turns a name into addresses once, remembers them for as long as
// the answer says, and connects to a vetted address and to nothing else. Its
// Dialer is the only dialer for targets that a model chose, and its Resolver
// the only resolver of the program.
//
// Between the two stands a judge. Lookup returns every address and every alias
// of an answer; the decision point judges all of them and hands back a
// decision.Vetted; Dial connects inside that set, checks the address of the
// socket before it connects and the peer afterwards, and never resolves
// anything. So a name cannot change its mind between the check and the
// connection (DNS rebinding), and a verdict does not depend on whether the
// program was built with Go's resolver or the C library's.
//
// What is left out on purpose: the hosts file, search domains and the ndots
// option (a name means one thing), SVCB and HTTPS records (their hints and
// ports are never asked for and never dialled), proxies of the environment,
// and a second look-up when no vetted address answers.
//
// # Half answers
//
// A and AAAA are asked for in parallel, and one failing while the other
// answers is common: some resolvers drop AAAA questions, some authoritative
// servers answer SERVFAIL to them. Such a half answer is used, because nothing
// is dialled that was not in it and not judged: whoever can suppress half of
// an answer could as well have said that there is none. It is kept for a short
// time only, so that the other half gets its chance to be judged. The other
// half has half a second once the first one is there. A half that is malformed
// or aliases in a circle, or leads to a refused name, refuses the whole.
package pin
