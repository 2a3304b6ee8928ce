// Package ipclass holds facts about IP addresses: the two IANA special-purpose
// registries, embedded as IANA publishes them, and the addresses that they
// leave out. It turns an address into a Class and decides nothing; package
// urlguard judges. It imports nothing of ours, and every package may import it.
package ipclass

import "fmt"

// Class is what kind of address it is. The zero value is Reserved, which is
// refused.
type Class uint8

// The classes.
const (
	Reserved   Class = iota // special-purpose, unassigned, or not an address
	Global                  // ordinary public unicast: the only class that is open
	Loopback                // this machine (RFC 1122, RFC 4291)
	Private                 // RFC 1918, unique-local (RFC 4193), site-local
	LinkLocal               // RFC 3927, RFC 4291
	Metadata                // answered by a cloud platform or its hypervisor
	CGNAT                   // shared address space (RFC 6598)
	Multicast               // RFC 5771, RFC 4291
	EmbeddedV4              // an IPv6 form that carries an IPv4 address that is not Global
)

// names are the texts of the classes; the label values of
// toolgate_egress_blocked_total.
var names = [...]string{ //nolint:gochecknoglobals // constant data
	Reserved: "reserved", Global: "global", Loopback: "loopback", Private: "private", LinkLocal: "link_local",
	Metadata: "metadata", CGNAT: "cgnat", Multicast: "multicast", EmbeddedV4: "embedded_v4",
}

// String returns the class as in metrics and logs.
func (c Class) String() string {
	if int(c) < len(names) {
		return names[c]
	}
	return names[Reserved]
}

// Classes yields every class.
func Classes() []Class {
	all := make([]Class, len(names))
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// parseClass returns the class with that name.
func parseClass(name string) (Class, error) {
	for _, c := range Classes() {
		if c.String() == name {
			return c, nil
		}
	}
	return Reserved, fmt.Errorf("ipclass: unknown class %q", name)
}
