// Package daemon wires toolgate together: it loads the configuration, compiles
// the policy, binds the listeners, serves, reloads and drains. It decides
// nothing itself. Only cmd/toolgate imports it.
package daemon
