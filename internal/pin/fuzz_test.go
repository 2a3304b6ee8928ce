package pin

import (
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/toolgate/toolgate/internal/urlguard"
)

// packet returns a response to q with the given records.
func packet(tb testing.TB, q question, set func(*dns.Msg), records ...string) []byte {
	tb.Helper()
	m := new(dns.Msg).SetQuestion(dns.Fqdn(q.name), q.qtype)
	m.Id, m.Response, m.Compress = q.id, true, true
	for _, text := range records {
		rr, err := dns.NewRR(text)
		if err != nil {
			tb.Fatal(err)
		}
		m.Answer = append(m.Answer, rr)
	}
	if set != nil {
		set(m)
	}
	raw, err := m.Pack()
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// FuzzAnswer puts raw bytes through the vetting of answers. Whatever comes
// out was in an address record of the right type, of a name that a walk along
// the CNAME records, written apart from the one in use, arrives at.
func FuzzAnswer(f *testing.F) {
	q := question{id: 0x1234, name: "www.example.com", qtype: dns.TypeA}
	for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA} {
		q.qtype = qtype
		for _, records := range [][]string{
			nil,
			{"www.example.com. 60 IN A 192.0.2.1", "www.example.com. 60 IN AAAA 2001:db8::1"},
			{"www.example.com. 60 IN CNAME a.example.net.", "a.example.net. 0 IN A 10.0.0.1", "b.example.net. 60 IN A 10.0.0.2"},
			{"www.example.com. 60 IN CNAME www.example.com."},
			{"www.example.com. 60 IN CNAME a.example.net.", "a.example.net. 60 IN CNAME www.example.com."},
			{"www.example.com. 60 IN CNAME a.example.net.", "www.example.com. 60 IN CNAME b.example.net."},
			{"WWW.example.com. 60 IN CNAME A.example.net.", "a.EXAMPLE.net. 60 IN AAAA ::ffff:127.0.0.1"},
			{`www.example.com. 60 IN CNAME a\.b.example.net.`, `a\.b.example.net. 60 IN A 10.0.0.1`},
			{"www.example.com. 60 CH A 10.0.0.1", "www.example.com. 4294967295 IN A 192.0.2.1"},
			{"www.example.com. 60 IN HTTPS 1 . ipv4hint=10.0.0.1 port=22"},
		} {
			f.Add(packet(f, q, nil, records...), qtype == dns.TypeAAAA)
		}
		f.Add(packet(f, q, func(m *dns.Msg) { m.Truncated = true }), qtype == dns.TypeAAAA)
		f.Add(packet(f, q, func(m *dns.Msg) { m.Rcode = dns.RcodeNameError }), qtype == dns.TypeAAAA)
		f.Add(packet(f, q, func(m *dns.Msg) { m.Rcode, m.Question = dns.RcodeRefused, nil }), qtype == dns.TypeAAAA)
	}
	f.Fuzz(func(t *testing.T, raw []byte, six bool) {
		q := question{id: 0x1234, name: "www.example.com", qtype: dns.TypeA}
		if six {
			q.qtype = dns.TypeAAAA
		}
		rep, err := vet(raw, q)
		if err != nil {
			var dnsErr *DNSError
			if !errors.Is(err, errForeign) && !errors.As(err, &dnsErr) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if id := binary.BigEndian.Uint16(raw); id != q.id {
			t.Fatalf("took the answer with id %x", id)
		}
		if rep.ttl < 0 || rep.ttl > maxTTL || len(rep.chain) > maxChain {
			t.Fatalf("ttl %v, %d aliases", rep.ttl, len(rep.chain))
		}
		for _, name := range rep.chain {
			if got, ok := urlguard.CanonicalName(name); !ok || got != name {
				t.Fatalf("alias %q is not canonical", name)
			}
		}
		if len(rep.addrs) == 0 {
			return
		}
		var m dns.Msg
		if err := m.Unpack(raw); err != nil {
			t.Fatalf("addresses from an answer that cannot be read: %v", err)
		}
		end := arrive(&m, q.name)
		for _, a := range rep.addrs {
			if !slices.ContainsFunc(m.Answer, func(rr dns.RR) bool { return holds(rr, end, q.qtype, a.AsSlice()) }) {
				t.Fatalf("%s is not an address of %q in\n%s", a, end, &m)
			}
		}
		if len(rep.chain) > 0 && rep.chain[len(rep.chain)-1] != end {
			t.Fatalf("the chain %q does not end in %q", rep.chain, end)
		}
	})
}

// arrive walks the CNAME records of m from name, one scan a step.
func arrive(m *dns.Msg, name string) string {
	for range len(m.Answer) {
		next := ""
		for _, rr := range m.Answer {
			link, ok := rr.(*dns.CNAME)
			if ok && link.Hdr.Class == dns.ClassINET && strings.EqualFold(link.Hdr.Name, name+".") {
				next = strings.ToLower(strings.TrimSuffix(link.Target, "."))
			}
		}
		if next == "" {
			return name
		}
		name = next
	}
	return name
}

// holds reports whether rr is a record of name that carries ip.
func holds(rr dns.RR, name string, qtype uint16, ip net.IP) bool {
	h := rr.Header()
	if !strings.EqualFold(h.Name, name+".") || h.Class != dns.ClassINET || h.Rrtype != qtype {
		return false
	}
	switch rr := rr.(type) {
	case *dns.A:
		return qtype == dns.TypeA && len(ip) == net.IPv4len && rr.A.Equal(ip)
	case *dns.AAAA:
		return qtype == dns.TypeAAAA && len(ip) == net.IPv6len && rr.AAAA.Equal(ip)
	}
	return false
}

// FuzzName puts text through the reading of host names: what passes can be
// asked for, is canonical, and is no address in anybody's spelling.
func FuzzName(f *testing.F) {
	for _, name := range []string{
		"www.example.com", "WWW.example.com.", "r3---sn-x.example", "my_bucket.example", "127.0.0.1", "0x7f.1", "a..b", "",
		strings.Repeat("a", 64), "xn--bcher-kva.example", "1.2.3.0x4", "a.b.c.", "é", "\\046", "example.0x",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, ok := urlguard.CanonicalName(text)
		if !ok {
			return
		}
		if again, ok := urlguard.CanonicalName(name); !ok || again != name {
			t.Fatalf("%q becomes %q becomes %q", text, name, again)
		}
		if !strings.EqualFold(strings.TrimSuffix(text, "."), name) {
			t.Fatalf("%q became another name: %q", text, name)
		}
		if _, ok := dns.IsDomainName(name); !ok {
			t.Fatalf("%q cannot be asked for", name)
		}
		if net.ParseIP(name) != nil {
			t.Fatalf("%q is an address", name)
		}
		last := name[strings.LastIndexByte(name, '.')+1:]
		if strings.Trim(last, "0123456789") == "" {
			t.Fatalf("%q ends in a number", name)
		}
	})
}
