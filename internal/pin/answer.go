package pin

import (
	"errors"
	"math"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"

	"github.com/toolgate/toolgate/internal/urlguard"
)

// maxTTL bounds how long an answer is believed.
const maxTTL = 5 * time.Minute

// question is one question as it went out.
type question struct {
	id    uint16
	name  string // canonical, without the final dot
	qtype uint16 // dns.TypeA or dns.TypeAAAA
}

// reply is what a vetted answer says.
type reply struct {
	rcode     int
	truncated bool
	chain     []string // alias targets in order, canonical
	addrs     []netip.Addr
	ttl       time.Duration // the least of all records used
	// done is set where the server followed the aliases to the end: there are
	// addresses, or it said that there are none (RFC 2308, section 2.2).
	done bool
}

// errForeign marks a packet that is no answer to the question: an old one, or
// a forgery. It is passed over, since ending the wait for it would let anyone
// who can send a packet break a look-up.
var errForeign = errors.New("not an answer to the question")

// vet reads raw as the answer to q. It follows the aliases inside the answer
// section and believes only address records at their end: whatever else a
// server adds is not looked at.
func vet(raw []byte, q question) (reply, error) {
	var m dns.Msg
	unpackErr := m.Unpack(raw)
	if len(raw) < 12 || m.Id != q.id || !m.Response || m.Opcode != dns.OpcodeQuery {
		return reply{}, errForeign
	}
	if len(m.Question) == 0 && unpackErr == nil && m.Rcode != dns.RcodeSuccess {
		return reply{rcode: m.Rcode}, nil // some servers leave the question out of a failure
	}
	if len(m.Question) != 1 || !q.is(m.Question[0]) {
		return reply{}, errForeign
	}
	if m.Truncated {
		return reply{truncated: true}, nil // even if cut in the middle of a record
	}
	if unpackErr != nil {
		return reply{}, fail(KindMalformed, "%w", unpackErr)
	}
	return q.read(&m)
}

// is reports whether x, from an answer, is the question q.
func (q question) is(x dns.Question) bool {
	name, ok := urlguard.CanonicalName(x.Name)
	return ok && name == q.name && x.Qtype == q.qtype && x.Qclass == dns.ClassINET
}

// read follows the aliases and collects the addresses at their end.
func (q question) read(m *dns.Msg) (reply, error) {
	links, err := aliases(m.Answer)
	if err != nil {
		return reply{}, err
	}
	r := reply{rcode: m.Rcode, ttl: maxTTL}
	owner := q.name
	for link := links[owner]; link != nil; link = links[owner] {
		target, ok := urlguard.CanonicalName(link.Target)
		if !ok {
			return reply{}, fail(KindMalformed, "alias target %q is not a host name", link.Target)
		}
		var loop *DNSError
		if r.chain, loop = extend(q.name, r.chain, []string{target}); loop != nil {
			return reply{}, loop
		}
		r.ttl = min(r.ttl, lifetime(link.Hdr.Ttl))
		owner = target
	}
	for _, rr := range m.Answer {
		if a, ok := q.address(rr, owner); ok {
			r.addrs = append(r.addrs, a)
			r.ttl = min(r.ttl, lifetime(rr.Header().Ttl))
		}
	}
	r.done = len(r.addrs) > 0 || len(r.chain) == 0 || hasSOA(m.Ns)
	return r, nil
}

// aliases maps each owner of a CNAME record to it. Two different targets of
// one name are an error (RFC 2181, section 10.1): which one counts would
// depend on the reader.
func aliases(answer []dns.RR) (map[string]*dns.CNAME, error) {
	var links map[string]*dns.CNAME
	for _, rr := range answer {
		link, ok := rr.(*dns.CNAME)
		if !ok || link.Hdr.Class != dns.ClassINET {
			continue
		}
		owner, ok := urlguard.CanonicalName(link.Hdr.Name)
		if !ok {
			continue // nothing on the way from the question can have this name
		}
		if old := links[owner]; old != nil && dns.CanonicalName(old.Target) != dns.CanonicalName(link.Target) {
			return nil, fail(KindMalformed, "%q is an alias of two names", owner)
		}
		if links == nil {
			links = make(map[string]*dns.CNAME, maxChain)
		}
		links[owner] = link
	}
	return links, nil
}

// address returns the address in rr if it is of the type asked for and belongs
// to owner.
func (q question) address(rr dns.RR, owner string) (netip.Addr, bool) {
	h := rr.Header()
	if h.Rrtype != q.qtype || h.Class != dns.ClassINET {
		return netip.Addr{}, false
	}
	if name, ok := urlguard.CanonicalName(h.Name); !ok || name != owner {
		return netip.Addr{}, false
	}
	switch rr := rr.(type) {
	case *dns.A:
		return addrOf(rr.A.To4())
	case *dns.AAAA:
		// To16 keeps an IPv4-mapped address as it is written: the judge shall
		// see what the record says.
		return addrOf(rr.AAAA.To16())
	default:
		return netip.Addr{}, false
	}
}

func addrOf(ip net.IP) (netip.Addr, bool) { return netip.AddrFromSlice(ip) }

// lifetime is a TTL field as a duration, between zero and maxTTL. A value with
// the top bit set counts as zero (RFC 2181, section 8).
func lifetime(ttl uint32) time.Duration {
	if ttl > math.MaxInt32 {
		return 0
	}
	return min(time.Duration(ttl)*time.Second, maxTTL)
}

func hasSOA(ns []dns.RR) bool {
	for _, rr := range ns {
		if rr.Header().Rrtype == dns.TypeSOA {
			return true
		}
	}
	return false
}

// failure returns what the response code means; nil for success.
func (r reply) failure() *DNSError {
	var kind Kind
	switch r.rcode {
	case dns.RcodeSuccess:
		return nil
	case dns.RcodeNameError:
		kind = KindNXDomain
	case dns.RcodeRefused:
		kind = KindRefused
	default:
		kind = KindServFail
	}
	err := fail(kind, "the server answered %s", rcodeText(r.rcode))
	err.Chain = r.chain
	return err
}

func rcodeText(rcode int) string {
	if s, ok := dns.RcodeToString[rcode]; ok {
		return s
	}
	return "an unknown code"
}
