// Package metrics counts what toolgate decides and does, in a Prometheus
// registry of its own (contracts, section 8), and says whether it is alive and
// ready.
//
// Every label is a word from a closed list or a name from the configuration,
// else "other": never a host, a path, an address or an argument. So the number
// of series is bounded whatever agents send.
package metrics
