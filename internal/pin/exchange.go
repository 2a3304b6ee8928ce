package pin

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/miekg/dns"
)

const (
	// udpSize is the answer size that is asked for over UDP: it fits every
	// path without fragments (DNS flag day 2020).
	udpSize = 1232
	// maxForeign is how many packets that are no answer are passed over before
	// the question goes over TCP, where nobody can guess ids (RFC 5452,
	// section 9.2).
	maxForeign = 8
	// maxAttempts bounds how many servers are asked one after the other.
	maxAttempts = 4
)

// errFlood says that too many packets came that were no answer.
var errFlood = errors.New("too many packets that are no answer")

// ask puts one question to the servers in their order, until one answers. A
// lost packet costs a share of the time that ctx has left, and a lone server
// is asked twice.
func (r *Resolver) ask(ctx context.Context, name string, qtype uint16) (reply, *DNSError) {
	attempts := min(max(2, len(r.servers)), maxAttempts)
	var last *DNSError
	for i := range attempts {
		if last != nil && !again(last.Kind, len(r.servers)) {
			break
		}
		rep, err := r.attempt(ctx, r.servers[i%len(r.servers)], name, qtype, attempts-i)
		if err == nil {
			err = rep.failure()
		}
		r.observe(qtype, err)
		if err == nil {
			return rep, nil
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	return reply{}, last
}

// again reports whether another attempt may do better after a failure.
func again(k Kind, servers int) bool {
	switch k {
	case KindTimeout:
		return true
	case KindServFail, KindRefused, KindNetwork, KindMalformed:
		return servers > 1
	case KindNXDomain, KindNoData, KindLoop, KindName, KindCanceled:
	}
	return false
}

// attempt asks one server, for at most its share of the time left.
func (r *Resolver) attempt(
	ctx context.Context, server netip.AddrPort, name string, qtype uint16, left int,
) (reply, *DNSError) {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/time.Duration(left))
		defer cancel()
	}
	q := question{name: name, qtype: qtype}
	rep, err := overUDP(ctx, server, q, true)
	if err == nil && rep.rcode == dns.RcodeFormatError {
		rep, err = overUDP(ctx, server, q, false) // an old server that does not know EDNS
	}
	if errors.Is(err, errFlood) || err == nil && rep.truncated {
		rep, err = overTCP(ctx, server, q)
	}
	return rep, asDNSError(ctx, err)
}

// asDNSError names the kind of a failure.
func asDNSError(ctx context.Context, err error) *DNSError {
	var dnsErr *DNSError
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &dnsErr):
		return dnsErr
	case errors.Is(ctx.Err(), context.Canceled):
		return fail(KindCanceled, "%w", context.Cause(ctx))
	case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return fail(KindTimeout, "%w", err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fail(KindNetwork, "the server closed the connection")
	default:
		return fail(KindNetwork, "%w", err)
	}
}

// overUDP sends q from a fresh socket, so that the kernel picks a new random
// port and takes packets of this server only, and waits for its answer.
func overUDP(ctx context.Context, server netip.AddrPort, q question, edns bool) (reply, error) {
	conn, stop, err := connect(ctx, "udp", server)
	if err != nil {
		return reply{}, err
	}
	defer stop()
	packet, err := q.pack(edns)
	if err != nil {
		return reply{}, err
	}
	if _, err := conn.Write(packet); err != nil {
		return reply{}, err
	}
	q.id = binary.BigEndian.Uint16(packet)
	buf := make([]byte, 2*udpSize)
	for range maxForeign {
		n, err := conn.Read(buf)
		if err != nil {
			return reply{}, err
		}
		rep, err := vet(buf[:n], q)
		if !errors.Is(err, errForeign) {
			return rep, err
		}
	}
	return reply{}, errFlood
}

// overTCP sends q over TCP (RFC 7766). There is one answer on the connection,
// and it is the right one or none.
func overTCP(ctx context.Context, server netip.AddrPort, q question) (reply, error) {
	conn, stop, err := connect(ctx, "tcp", server)
	if err != nil {
		return reply{}, err
	}
	defer stop()
	packet, err := q.pack(true)
	if err != nil {
		return reply{}, err
	}
	q.id = binary.BigEndian.Uint16(packet)
	framed := binary.BigEndian.AppendUint16(nil, uint16(len(packet))) //nolint:gosec // a question is far below 64 KiB
	if _, err := conn.Write(append(framed, packet...)); err != nil {
		return reply{}, err
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return reply{}, err
	}
	raw := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, raw); err != nil {
		return reply{}, err
	}
	rep, err := vet(raw, q)
	switch {
	case errors.Is(err, errForeign):
		return reply{}, fail(KindMalformed, "%w", err)
	case err == nil && rep.truncated:
		return reply{}, fail(KindMalformed, "truncated over TCP")
	}
	return rep, err
}

// connect opens a socket to a configured server. Reads and writes end with
// ctx; stop closes the socket.
func connect(ctx context.Context, network string, server netip.AddrPort) (conn net.Conn, stop func(), err error) {
	var d net.Dialer
	conn, err = d.DialContext(ctx, network, server.String())
	if err != nil {
		return nil, nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(end)
	}
	release := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return conn, func() { release(); _ = conn.Close() }, nil
}

// pack returns q on the wire, with a fresh random id.
func (q question) pack(edns bool) ([]byte, error) {
	m := new(dns.Msg).SetQuestion(dns.Fqdn(q.name), q.qtype)
	if edns {
		m.SetEdns0(udpSize, false)
	}
	return m.Pack()
}
