// Package runs keeps what outlives one question: for now only permits, the
// short-lived secrets that tie a connection through the egress proxy to the
// tool that was allowed (contracts, section 5). Open runs, pinned agent
// versions and gates have their place here and come with a later issue.
package runs
