package config

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/toolgate/toolgate/internal/decision"
)

// unixPrefix marks the address of a Unix socket.
const unixPrefix = "unix:"

// listener is one listen address with its key.
type listener struct {
	path string
	Address
}

// listenAddresses lists what the document listens on.
func (d *Document) listenAddresses() []listener {
	return []listener{
		{"listen.api", d.Listen.API}, {"listen.proxy", d.Listen.Proxy}, {"listen.metrics", d.Listen.Metrics},
	}
}

// listeners checks the listen addresses one by one and against each other.
func (c *checker) listeners() {
	type bound struct {
		path string
		addr netip.AddrPort
	}
	var seen []bound
	for _, l := range c.doc.listenAddresses() {
		if c.hasProblem(l.path) {
			continue
		}
		if socket, ok := strings.CutPrefix(l.Text, unixPrefix); ok {
			c.socket(l, socket)
			continue
		}
		addr, why := parseListen(l.Text)
		if why != "" {
			c.badAt(l.Pos, l.path, decision.Quote(l.Text)+" "+why, "write host:port, as in 127.0.0.1:8180")
			continue
		}
		for _, other := range seen {
			if samePlace(addr, other.addr) {
				c.badAt(c.either(l, other.path), l.path, "the address is that of "+other.path, "give each listener an address of its own")
				break
			}
		}
		seen = append(seen, bound{l.path, addr})
	}
}

// either is the place of l, or of the listener it collides with, when l is a
// default.
func (c *checker) either(l listener, other string) decision.Position {
	if l.Pos.IsZero() {
		return c.places[other]
	}
	return l.Pos
}

// socket checks the path of a Unix socket.
func (c *checker) socket(l listener, path string) {
	const longest = 100 // sun_path holds 104 bytes on the smallest system
	switch {
	case l.path != "listen.api":
		c.badAt(l.Pos, l.path, "a Unix socket is not built yet for this listener", "write host:port")
	case !strings.HasPrefix(path, "/"):
		c.badAt(l.Pos, l.path, decision.Quote(path)+" is not an absolute path", "write unix:/path/to/socket")
	case len(path) > longest:
		c.badAt(l.Pos, l.path, "the path of the socket is longer than "+strconv.Itoa(longest)+" bytes", "shorten it")
	}
}

// parseListen reads host:port; why says what is wrong with it.
func parseListen(s string) (addr netip.AddrPort, why string) {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return addr, "is not host:port"
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil || strconv.FormatUint(n, 10) != port {
		return addr, "has no port from 0 to 65535"
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "":
		return addr, "names no host; 0.0.0.0 is every address"
	case err != nil:
		return addr, "does not begin with an IP address or localhost"
	case ip.Zone() != "":
		return addr, "has a zone"
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(n)), ""
}

// samePlace reports whether two listeners cannot both be bound.
func samePlace(a, b netip.AddrPort) bool {
	return a.Port() != 0 && a.Port() == b.Port() &&
		(a.Addr() == b.Addr() || a.Addr().IsUnspecified() || b.Addr().IsUnspecified())
}
