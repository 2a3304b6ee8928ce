package ipclass

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
)

// Table classifies addresses. It never changes once it is made. The zero value
// and nil call every address Reserved.
type Table struct {
	v4     [256][]block4 // by first byte; in each, what wins comes first
	v6     [256][]*Row
	global *Row // what no row covers
	zoned  *Row // an address with a zone
	none   *Row // not an address, or IPv6 outside 2000::/3
	ready  bool
}

// block4 is a row of IPv4 addresses, ready to be compared.
type block4 struct {
	base, mask uint32
	row        *Row
}

// New builds the table from the embedded registries. Rows in extra win over
// built-in ones, the most specific first: tests present a loopback block as
// public with them. Only Go code can pass any; no file, variable or API does.
func New(extra ...Row) (*Table, error) {
	builtIn, err := rows()
	if err != nil {
		return nil, err
	}
	t := &Table{
		global: &Row{Name: "public", Class: Global},
		zoned:  &Row{Name: "address with a zone", Source: "RFC 4007", Class: LinkLocal},
		none:   &Row{Name: "outside the global unicast space", Source: "RFC 4291", Class: Reserved},
		ready:  true,
	}
	for _, list := range [][]Row{extra, builtIn} {
		if err := t.add(list); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// add appends rows to the buckets of the first bytes that they cover, the most
// specific first.
func (t *Table) add(list []Row) error {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Row) int { return b.Prefix.Bits() - a.Prefix.Bits() })
	for i := range list {
		p := list[i].Prefix
		if !p.IsValid() || p != p.Masked() {
			return fmt.Errorf("ipclass: block %s is not a masked prefix", p)
		}
		if p.Addr().Is4In6() && list[i].Class != EmbeddedV4 {
			return fmt.Errorf("ipclass: block %s: write the IPv4 block that is mapped", p)
		}
		first, span := int(p.Addr().AsSlice()[0]), 1<<max(0, 8-p.Bits())
		for n := first; n < first+span; n++ {
			if !p.Addr().Is4() {
				t.v6[n] = append(t.v6[n], &list[i])
				continue
			}
			b := p.Addr().As4()
			mask := ^uint32(0) << (32 - p.Bits())
			t.v4[n] = append(t.v4[n], block4{binary.BigEndian.Uint32(b[:]), mask, &list[i]})
		}
	}
	return nil
}

// Lookup returns the class of a and the row that says so, which must not be
// changed. A form that carries an IPv4 address is judged by what it carries: a
// mapped address is that IPv4 address (it is one to the kernel); a NAT64
// address (64:ff9b::/96, RFC 6052) around a public one is Global; every other
// form is EmbeddedV4, or Metadata where it carries a metadata address. Only a
// mapped address can be Loopback because of what it carries.
func (t *Table) Lookup(a netip.Addr) (Class, *Row) {
	switch {
	case t == nil || !t.ready:
		return Reserved, &Row{}
	case a.Is4():
		return t.lookup4(a)
	case a.Zone() != "":
		return LinkLocal, t.zoned
	case a.Is4In6():
		return t.lookup4(a.Unmap())
	case a.Is6():
		return t.lookup6(a)
	}
	return Reserved, t.none
}

func (t *Table) lookup4(a netip.Addr) (Class, *Row) {
	b := a.As4()
	n := binary.BigEndian.Uint32(b[:])
	for i := range t.v4[b[0]] {
		if block := &t.v4[b[0]][i]; n&block.mask == block.base {
			return block.row.Class, block.row
		}
	}
	return Global, t.global
}

func (t *Table) lookup6(a netip.Addr) (Class, *Row) {
	b := a.As16()
	for _, r := range t.v6[b[0]] {
		if r.Prefix.Contains(a) {
			if r.Class == EmbeddedV4 {
				return t.embedded(r, b)
			}
			return r.Class, r
		}
	}
	if b[0]&0xe0 != 0x20 { // outside 2000::/3, the only space IANA has handed out
		return Reserved, t.none
	}
	// ISATAP (RFC 5214, section 6.1): an interface identifier that ends in IPv4.
	if b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe {
		if c, r := t.lookup4(netip.AddrFrom4([4]byte(b[12:]))); c != Global {
			return orEmbedded(c), r
		}
	}
	return Global, t.global
}

// embedded judges an address in a block that carries IPv4 addresses.
func (t *Table) embedded(r *Row, b [16]byte) (Class, *Row) {
	switch {
	case b[0] == 0x20 && b[1] == 0x02: // 6to4: bytes 2 to 5
		c, _ := t.lookup4(netip.AddrFrom4([4]byte(b[2:6])))
		return orEmbedded(c), r
	case b[0] == 0x20: // Teredo: the client, inverted, in the last four bytes
		c, _ := t.lookup4(netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
		return orEmbedded(c), r
	}
	c, _ := t.lookup4(netip.AddrFrom4([4]byte(b[12:])))
	if c == Global && r.Prefix.Bits() == 96 && b[1] == 0x64 { // NAT64, well-known prefix
		return Global, t.global
	}
	return orEmbedded(c), r
}

// orEmbedded keeps Metadata, which no mode opens, and calls the rest EmbeddedV4.
func orEmbedded(c Class) Class {
	if c == Metadata {
		return Metadata
	}
	return EmbeddedV4
}
