package pin

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strings"
)

const (
	system            = "system"
	defaultResolvConf = "/etc/resolv.conf"
	dnsPort           = 53
)

// parseServers returns the servers that texts name, each "system" or IP:port.
// Nothing means "system".
func parseServers(texts []string, resolvConf string) ([]netip.AddrPort, error) {
	if len(texts) == 0 {
		texts = []string{system}
	}
	var out []netip.AddrPort
	for _, text := range texts {
		var found []netip.AddrPort
		if text == system {
			var err error
			if found, err = systemServers(resolvConf); err != nil {
				return nil, err
			}
		} else {
			ap, err := netip.ParseAddrPort(text)
			if err != nil || ap.Port() == 0 {
				return nil, fmt.Errorf("pin: resolver server %q: write %q or IP:port, such as 192.0.2.53:53", text, system)
			}
			found = []netip.AddrPort{ap}
		}
		for _, ap := range found {
			if !slices.Contains(out, ap) {
				out = append(out, ap)
			}
		}
	}
	return out, nil
}

// systemServers reads the nameserver lines of a resolv.conf(5) file, and
// nothing else of it: search domains and ndots would let one name mean several.
// Without the file, or without a line, it is the name server of this machine,
// as for the C library.
func systemServers(file string) ([]netip.AddrPort, error) {
	if file == "" {
		file = defaultResolvConf
	}
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("pin: system resolver: %w", err)
	}
	var out []netip.AddrPort
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			out = append(out, netip.AddrPortFrom(addr, dnsPort))
		}
	}
	if len(out) == 0 {
		out = []netip.AddrPort{netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), dnsPort)}
	}
	return out, nil
}
