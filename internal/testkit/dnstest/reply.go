package dnstest

import (
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// Reply is one scripted answer. The zero value is NODATA: the name exists and
// has nothing of that type.
type Reply struct {
	CNAME []string // the chain that leads on from the name that was asked for
	Addrs []string // addresses of the end of the chain, of either family
	TTL   uint32   // seconds, of every record
	Rcode int      // such as dns.RcodeServerFailure

	// CutChain leaves out everything behind the first CNAME, as a server does
	// that does not follow aliases.
	CutChain bool
	NoSOA    bool // an answer without addresses has an SOA record unless NoSOA is set
	Hints    *Hints
	Extra    []string // more answer records, in zone-file form

	Delay         time.Duration // before the answer is sent
	Silent        bool          // no answer at all
	Truncate      bool          // over UDP: TC is set and no record is sent
	WrongID       bool          // with another id
	WrongQuestion bool          // about another name
	NoResponseBit bool          // with QR clear
	ForgeFirst    int           // over UDP: so many answers with a wrong id come first, with address Forged
	RefuseEDNS    bool          // FORMERR for a question with an OPT record
	Raw           []byte        // this instead of a message; the id of the question is put in front
}

// Hints are what the HTTPS record of a name offers (RFC 9460).
type Hints struct {
	IPv4 []string
	Port uint16
}

// Forged is the address in the answers of Reply.ForgeFirst.
const Forged = "192.0.2.66"

// packets returns what goes out on the wire.
func (r Reply) packets(network string, req *dns.Msg, q dns.Question) [][]byte {
	if r.Raw != nil {
		return [][]byte{append([]byte{byte(req.Id >> 8), byte(req.Id)}, r.Raw...)}
	}
	var out [][]byte
	forgeries := r.ForgeFirst
	if network != "udp" {
		forgeries = 0
	}
	for i := range forgeries {
		forged := Reply{Addrs: []string{Forged}, TTL: 3600}.message(network, req, q)
		forged.Id = req.Id + uint16(i) + 1
		out = append(out, pack(forged))
	}
	return append(out, pack(r.message(network, req, q)))
}

func pack(m *dns.Msg) []byte {
	m.Compress = true
	b, err := m.Pack()
	if err != nil {
		// A script that cannot be sent is the test's mistake. SERVFAIL makes it
		// visible without a test handle here.
		fail := new(dns.Msg).SetRcode(m, dns.RcodeServerFailure)
		b, _ = fail.Pack()
	}
	return b
}

func (r Reply) message(network string, req *dns.Msg, q dns.Question) *dns.Msg {
	m := new(dns.Msg).SetReply(req)
	m.RecursionAvailable = true
	m.Rcode = r.Rcode
	switch {
	case r.RefuseEDNS && req.IsEdns0() != nil:
		m.Rcode = dns.RcodeFormatError
	case r.Truncate && network == "udp":
		m.Truncated = true
	default:
		r.fill(m, q)
	}
	if r.WrongID {
		m.Id++
	}
	if r.WrongQuestion {
		m.Question[0].Name = "other.example.net."
	}
	if r.NoResponseBit {
		m.Response = false
	}
	return m
}

// fill adds the records that fit the type of the question.
func (r Reply) fill(m *dns.Msg, q dns.Question) {
	owner := q.Name
	for i, target := range r.CNAME {
		target = dns.Fqdn(target)
		m.Answer = append(m.Answer, &dns.CNAME{Hdr: r.header(owner, dns.TypeCNAME), Target: target})
		owner = target
		if r.CutChain && i == 0 {
			return
		}
	}
	n := len(m.Answer)
	for _, text := range r.Addrs {
		if rr := r.address(owner, q.Qtype, netip.MustParseAddr(text)); rr != nil {
			m.Answer = append(m.Answer, rr)
		}
	}
	if r.Hints != nil && q.Qtype == dns.TypeHTTPS {
		m.Answer = append(m.Answer, r.https(owner))
	}
	for _, text := range r.Extra {
		rr, err := dns.NewRR(text)
		if err != nil {
			panic("dnstest: " + err.Error())
		}
		m.Answer = append(m.Answer, rr)
	}
	if len(m.Answer) == n && !r.NoSOA {
		m.Ns = append(m.Ns, &dns.SOA{
			Hdr: r.header(owner, dns.TypeSOA), Ns: "ns.example.", Mbox: "root.example.", Serial: 1, Minttl: 60,
		})
	}
}

func (r Reply) header(owner string, rrtype uint16) dns.RR_Header {
	return dns.RR_Header{Name: owner, Rrtype: rrtype, Class: dns.ClassINET, Ttl: r.TTL}
}

func (r Reply) address(owner string, qtype uint16, a netip.Addr) dns.RR {
	switch {
	case qtype == dns.TypeA && a.Is4():
		return &dns.A{Hdr: r.header(owner, dns.TypeA), A: net.IP(a.AsSlice())}
	case qtype == dns.TypeAAAA && a.Is6():
		return &dns.AAAA{Hdr: r.header(owner, dns.TypeAAAA), AAAA: net.IP(a.AsSlice())}
	}
	return nil
}

func (r Reply) https(owner string) dns.RR {
	rr := &dns.HTTPS{SVCB: dns.SVCB{Hdr: r.header(owner, dns.TypeHTTPS), Priority: 1, Target: "."}}
	if len(r.Hints.IPv4) > 0 {
		hint := &dns.SVCBIPv4Hint{}
		for _, text := range r.Hints.IPv4 {
			hint.Hint = append(hint.Hint, net.ParseIP(text).To4())
		}
		rr.Value = append(rr.Value, hint)
	}
	if r.Hints.Port != 0 {
		rr.Value = append(rr.Value, &dns.SVCBPort{Port: r.Hints.Port})
	}
	return rr
}
