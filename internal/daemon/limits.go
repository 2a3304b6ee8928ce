package daemon

import "golang.org/x/sys/unix"

const (
	// reservedFiles are descriptors that the proxy's clients must leave to the
	// decision API, health, metrics, DNS and the log.
	reservedFiles = 256
	// filesPerConn is what one proxied connection may hold: the client's, the
	// origin's, and room for a pooled one.
	filesPerConn = 3
	// minConns and maxConns bound what the process limit leads to.
	minConns, maxConns = 16, 32768
)

// proxyConns is how many client connections the proxy may keep, so that they
// cannot use up the descriptors of the process (RLIMIT_NOFILE).
func proxyConns() int {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return minConns
	}
	return connsFor(limit.Cur)
}

// connsFor is proxyConns for a limit.
func connsFor(files uint64) int {
	if files <= reservedFiles {
		return minConns
	}
	return int(min(max((files-reservedFiles)/filesPerConn, minConns), maxConns))
}
