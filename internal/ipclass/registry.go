package ipclass

import (
	_ "embed" // the registries
	"encoding/csv"
	"fmt"
	"net/netip"
	"strings"
)

// The registries, as of 2025-10-09:
// https://www.iana.org/assignments/iana-ipv4-special-registry and
// https://www.iana.org/assignments/iana-ipv6-special-registry.
//
//go:embed iana-ipv4-special-registry.csv
var ianaV4 string

//go:embed iana-ipv6-special-registry.csv
var ianaV6 string

// more holds what the registries leave out: multicast, deprecated forms, and
// the addresses at which cloud platforms answer.
//
//go:embed more.csv
var more string

// Row is one block of addresses.
type Row struct {
	Prefix netip.Prefix
	Name   string
	Source string // RFC, or who says so
	Class  Class
}

const (
	ianaHeader = "Address Block,Name,RFC,Allocation Date,Termination Date,Source,Destination,Forwardable,Globally Reachable,Reserved-by-Protocol"
	moreHeader = "Address Block,Name,Source,Class"
)

// classOf names the registry rows that are not simply reserved. Rows that the
// registry calls globally reachable (PCP, TURN, SRP and AS112 anycast, AMT,
// ORCHIDv2, DET) stay Reserved: none serves the web, and anycast is answered
// by whatever is nearest, which is internal equipment.
func classOf(block string) Class {
	switch block {
	case "127.0.0.0/8", "::1/128":
		return Loopback
	case "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7":
		return Private
	case "169.254.0.0/16", "fe80::/10":
		return LinkLocal
	case "100.64.0.0/10":
		return CGNAT
	case "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16", "::ffff:0:0/96":
		return EmbeddedV4
	}
	return Reserved
}

// rows returns every built-in row.
func rows() ([]Row, error) {
	var all []Row
	for _, file := range []string{ianaV4, ianaV6} {
		err := readCSV(file, ianaHeader, func(f []string) error {
			return appendRow(&all, f[0], f[1], f[2], classOf(f[0]))
		})
		if err != nil {
			return nil, err
		}
	}
	err := readCSV(more, moreHeader, func(f []string) error {
		c, err := parseClass(f[3])
		if err != nil {
			return err
		}
		return appendRow(&all, f[0], f[1], f[2], c)
	})
	return all, err
}

// appendRow adds one row; its block must be written with a masked prefix.
func appendRow(all *[]Row, block, name, source string, c Class) error {
	p, err := netip.ParsePrefix(block)
	if err != nil {
		return fmt.Errorf("ipclass: %w", err)
	}
	if p != p.Masked() {
		return fmt.Errorf("ipclass: block %s has host bits", block)
	}
	source = strings.ReplaceAll(strings.Trim(source, "[]"), "[", " ")
	*all = append(*all, Row{p, strings.Trim(name, `"`), strings.ReplaceAll(source, "]", ""), c})
	return nil
}

// readCSV calls each for every record below the header.
func readCSV(text, header string, each func([]string) error) error {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		return fmt.Errorf("ipclass: %w", err)
	}
	if len(records) < 2 || strings.Join(records[0], ",") != header {
		return fmt.Errorf("ipclass: the registry does not begin with %q", header)
	}
	for _, record := range records[1:] {
		if err := each(record); err != nil {
			return err
		}
	}
	return nil
}
