package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/miekg/dns"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/urlguard"
)

const (
	defaultTimeout = 2 * time.Second
	defaultPins    = 4096
	defaultLookups = 256
)

// Observer is told what the resolver does, for dns_queries_total and dns_pins.
type Observer interface {
	// DNSQuery counts one question to one server: qtype is "A" or "AAAA",
	// result one of Results.
	DNSQuery(qtype, result string)
	// DNSPins is the number of pins in the table.
	DNSPins(n int)
}

// Options configures a Resolver. The zero value asks the system's servers.
type Options struct {
	// Servers are asked in this order, each "system" or IP:port. Nil: system.
	Servers []string
	// ResolvConf is read once for "system". Empty: /etc/resolv.conf.
	ResolvConf string
	// Timeout bounds one look-up as a whole: both address families, all
	// servers, all aliases. Zero: 2 s.
	Timeout time.Duration
	// Hosts gives names static addresses. They are judged like any other, and
	// no server is asked. Names below localhost cannot be given.
	Hosts map[string][]netip.Addr
	// Names is asked before any question for a name leaves the process, also
	// for an alias that has to be asked for by itself; an error refuses the
	// name. It takes canonical names (lower case, no final dot). If the error
	// has a method DecisionReason, that is the reason of the refusal. Nil
	// refuses none.
	Names func(name string) error
	// MaxPins bounds the pin table. Zero: 4096.
	MaxPins int
	// MaxLookups bounds how many names are being looked up at a time, each with
	// two sockets. More wait, within Timeout. Zero: 256.
	MaxLookups int
	// Now is the clock for expiry. Nil: time.Now.
	Now func() time.Time
	// Observer may be nil.
	Observer Observer
}

// Answer is all that a name resolved to. Its slices are shared with the pin
// table and must not be changed.
type Answer struct {
	Addrs   []netip.Addr // at least one, without duplicates, at most 512
	Chain   []string     // every alias behind the name, canonical, without the name itself
	Expires time.Time    // not to be used for requests that begin later; past for a TTL of zero
}

// Resolver looks names up and pins the answers. It is safe for concurrent use.
type Resolver struct {
	servers  []netip.AddrPort
	timeout  time.Duration
	hosts    map[string][]netip.Addr
	names    func(string) error
	now      func() time.Time
	observer Observer
	pins     *table
	slots    chan struct{} // one element for each look-up under way
	flights  flights
}

// NewResolver checks o and reads the system's servers.
func NewResolver(o Options) (*Resolver, error) {
	if o.Timeout < 0 || o.MaxPins < 0 || o.MaxLookups < 0 {
		return nil, errors.New("pin: resolver: neither the timeout nor a limit can be negative")
	}
	servers, err := parseServers(o.Servers, o.ResolvConf)
	if err != nil {
		return nil, err
	}
	hosts, err := staticHosts(o.Hosts)
	if err != nil {
		return nil, err
	}
	r := &Resolver{
		servers: servers, timeout: cmp.Or(o.Timeout, defaultTimeout), hosts: hosts,
		names: o.Names, now: o.Now, observer: o.Observer,
		pins:  newTable(cmp.Or(o.MaxPins, defaultPins)),
		slots: make(chan struct{}, cmp.Or(o.MaxLookups, defaultLookups)),
	}
	if r.now == nil {
		r.now = time.Now
	}
	return r, nil
}

// staticHosts returns hosts with canonical names.
func staticHosts(hosts map[string][]netip.Addr) (map[string][]netip.Addr, error) {
	out := make(map[string][]netip.Addr, len(hosts))
	for text, addrs := range hosts {
		name, ok := urlguard.CanonicalName(text)
		switch {
		case !ok:
			return nil, fmt.Errorf("pin: static host %q: not a DNS name", text)
		case local(name):
			return nil, fmt.Errorf("pin: static host %q: localhost is always this machine (RFC 6761)", text)
		case out[name] != nil:
			return nil, fmt.Errorf("pin: static host %q: given twice", text)
		case len(addrs) == 0:
			return nil, fmt.Errorf("pin: static host %q: no address", text)
		}
		for _, a := range addrs {
			if !a.IsValid() || a.Zone() != "" {
				return nil, fmt.Errorf("pin: static host %q: address %q: write an IP address without a zone", text, a)
			}
		}
		out[name] = unique(addrs)
	}
	return out, nil
}

// Pins returns how many names are pinned, expired ones included until they are
// looked up again or displaced.
func (r *Resolver) Pins() int { return r.pins.len() }

// Lookup returns the addresses of host, a DNS name and not an address literal,
// from the pin table while the last answer lives. Callers that ask while a look-up is under way share it; an
// answer with a TTL of zero goes to those callers and to nobody else. Failures
// are not kept. The error is a *DNSError.
func (r *Resolver) Lookup(ctx context.Context, host string) (Answer, error) {
	now := r.now()
	if a, ok := r.pins.get(host, now); ok {
		return a, nil
	}
	name, ok := urlguard.CanonicalName(host)
	if !ok {
		return Answer{}, r.named(host, fail(KindName, "not a DNS name"))
	}
	if local(name) {
		return Answer{Addrs: loopback(), Expires: now.Add(maxTTL)}, nil
	}
	if addrs := r.hosts[name]; addrs != nil {
		return Answer{Addrs: addrs, Expires: now.Add(maxTTL)}, nil
	}
	if name != host {
		if a, ok := r.pins.get(name, now); ok {
			return a, nil
		}
	}
	if err := r.permit(name); err != nil {
		return Answer{}, r.named(name, err)
	}
	a, err := r.flights.do(ctx, name, func(ctx context.Context) (Answer, error) { return r.resolve(ctx, name) })
	if err == nil {
		return a, nil
	}
	var dnsErr *DNSError
	if !errors.As(err, &dnsErr) {
		dnsErr = gaveUp(err)
	}
	return Answer{}, r.named(name, dnsErr)
}

// named returns a copy of err for host: err itself may be shared.
func (*Resolver) named(host string, err *DNSError) *DNSError {
	e := *err
	e.Host = host
	return &e
}

// gaveUp is the error of a caller that did not wait for the answer.
func gaveUp(cause error) *DNSError {
	if errors.Is(cause, context.DeadlineExceeded) {
		return fail(KindTimeout, "%w", cause)
	}
	return fail(KindCanceled, "%w", cause)
}

// permit asks Options.Names.
func (r *Resolver) permit(name string) *DNSError {
	if r.names == nil {
		return nil
	}
	err := r.names(name)
	if err == nil {
		return nil
	}
	refusal := fail(KindName, "%w", err)
	var reason interface{ DecisionReason() decision.Reason }
	if errors.As(err, &reason) {
		refusal.Reason = reason.DecisionReason()
	}
	return refusal
}

func loopback() []netip.Addr {
	return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
}

// observe counts one question to one server.
func (r *Resolver) observe(qtype uint16, err *DNSError) {
	if r.observer == nil {
		return
	}
	result := resultOK
	if err != nil {
		result = string(err.Kind)
	}
	r.observer.DNSQuery(dns.TypeToString[qtype], result)
}

// unique returns addrs without duplicates, in a slice of its own.
func unique(addrs []netip.Addr) []netip.Addr {
	out := make([]netip.Addr, 0, len(addrs))
	for _, a := range addrs {
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
