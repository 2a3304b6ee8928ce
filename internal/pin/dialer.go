package pin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/toolgate/toolgate/internal/decision"
)

const (
	defaultDialTimeout    = 10 * time.Second
	defaultAttemptTimeout = 5 * time.Second
	defaultStagger        = 250 * time.Millisecond
	// maxTried is how many addresses of a vetted set are tried. A hostile
	// answer must not make one request open 64 connections.
	maxTried = 16
)

// DialerOptions configures a Dialer. The zero value is usable.
type DialerOptions struct {
	Timeout        time.Duration // for a dial as a whole; zero: 10 s
	AttemptTimeout time.Duration // for one address; zero: 5 s
	// Stagger is how long an attempt stays alone before the next address is
	// tried beside it (RFC 8305, section 8). Zero: 250 ms.
	Stagger time.Duration
	// Self reports whether an address is one of toolgate's own listeners,
	// which are never dialled. It is asked before each connect. Nil: none is.
	Self func(netip.AddrPort) bool
	// Check may refuse an address once more, before each connect. If its error
	// has a method DecisionReason, that is the reason; else url_pin_mismatch.
	Check func(netip.AddrPort) error
	// Control sets socket options. It runs after the checks.
	Control func(network, address string, c syscall.RawConn) error
}

// Dialer connects to vetted addresses. It is safe for concurrent use.
type Dialer struct {
	timeout, attemptTimeout, stagger time.Duration

	self    func(netip.AddrPort) bool
	check   func(netip.AddrPort) error
	control func(network, address string, c syscall.RawConn) error
}

// NewDialer checks o.
func NewDialer(o DialerOptions) (*Dialer, error) {
	if o.Timeout < 0 || o.AttemptTimeout < 0 || o.Stagger < 0 {
		return nil, errors.New("pin: dialer: times cannot be negative")
	}
	return &Dialer{
		timeout:        cmp.Or(o.Timeout, defaultDialTimeout),
		attemptTimeout: cmp.Or(o.AttemptTimeout, defaultAttemptTimeout),
		stagger:        cmp.Or(o.Stagger, defaultStagger),
		self:           o.Self, check: o.Check, control: o.Control,
	}, nil
}

// Dial connects to one of v.Addrs at v.Endpoint.Port. The connection is a
// *net.TCPConn, so that the kernel can splice it. The error is a *VetError or a
// *ConnectError.
func (d *Dialer) Dial(ctx context.Context, v decision.Vetted) (net.Conn, error) {
	targets, err := d.targets(v)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	conn, tried, err := race(ctx, targets, d.stagger, d.connect)
	if err == nil {
		return conn, nil
	}
	if vetErr := (*VetError)(nil); errors.As(err, &vetErr) {
		return nil, vetErr
	}
	return nil, &ConnectError{Endpoint: v.Endpoint, Tried: tried, Err: err}
}

// targets returns the socket addresses of v in the order of trying. All of
// them are checked before the first is tried.
func (d *Dialer) targets(v decision.Vetted) ([]netip.AddrPort, error) {
	if len(v.Addrs) == 0 || v.Endpoint.Port == 0 {
		return nil, mismatch(netip.AddrPort{}, "nothing was vetted")
	}
	out := make([]netip.AddrPort, 0, len(v.Addrs))
	for _, a := range v.Addrs {
		ap := netip.AddrPortFrom(a.Unmap(), v.Endpoint.Port)
		if slices.Contains(out, ap) {
			continue
		}
		if err := d.dialable(v.Endpoint, ap); err != nil {
			return nil, err
		}
		out = append(out, ap)
	}
	if len(out) > 1 {
		out = interleave(out)
	}
	return out[:min(len(out), maxTried)], nil
}

// dialable refuses what no verdict can have meant.
func (d *Dialer) dialable(e decision.Endpoint, ap netip.AddrPort) error {
	a := ap.Addr()
	switch {
	case !a.IsValid(), a.Zone() != "":
		return mismatch(ap, "not an address without a zone")
	case a.IsUnspecified():
		return mismatch(ap, "the unspecified address means this machine to the kernel")
	case e.Addr.IsValid() && e.Addr.Unmap() != a:
		return mismatch(ap, "the endpoint is the address %s", e.Addr)
	}
	return d.refused(ap)
}

// refused asks Self and Check.
func (d *Dialer) refused(ap netip.AddrPort) error {
	if d.self != nil && d.self(ap) {
		return &VetError{Addr: ap, Reason: decision.URLSelf, Err: errors.New("one of toolgate's own listeners")}
	}
	if d.check == nil {
		return nil
	}
	err := d.check(ap)
	if err == nil {
		return nil
	}
	e := &VetError{Addr: ap, Reason: decision.URLPinMismatch, Err: err}
	var reason interface{ DecisionReason() decision.Reason }
	if errors.As(err, &reason) {
		e.Reason = reason.DecisionReason()
	}
	return e
}

func mismatch(ap netip.AddrPort, format string, args ...any) *VetError {
	return &VetError{
		Addr: ap, Reason: decision.URLPinMismatch,
		Err: fmt.Errorf("%w: %s", ErrPinMismatch, fmt.Sprintf(format, args...)),
	}
}

// connect dials one address. It goes in as an address and not as a name, so no
// resolver is involved; the socket is checked before connect(2), and its peer
// afterwards.
func (d *Dialer) connect(ctx context.Context, ap netip.AddrPort) (*net.TCPConn, error) {
	network := "tcp6"
	if ap.Addr().Is4() {
		network = "tcp4"
	}
	nd := net.Dialer{
		Timeout:       d.attemptTimeout,
		FallbackDelay: -1,
		Control: func(network, address string, c syscall.RawConn) error {
			if got, err := netip.ParseAddrPort(address); err != nil || got != ap {
				return mismatch(ap, "the socket is for %q", address)
			}
			if err := d.refused(ap); err != nil {
				return err
			}
			if d.control != nil {
				return d.control(network, address, c)
			}
			return nil
		},
	}
	nd.SetMultipathTCP(false) // cannot be spliced
	conn, err := nd.DialContext(ctx, network, ap.String())
	if err != nil {
		return nil, err
	}
	return sameAsVetted(conn, ap)
}

// sameAsVetted returns conn if its peer, as the kernel names it, is ap.
func sameAsVetted(conn net.Conn, ap netip.AddrPort) (*net.TCPConn, error) {
	tcp, ok := conn.(*net.TCPConn)
	if ok {
		if peer, ok := tcp.RemoteAddr().(*net.TCPAddr); ok {
			got := peer.AddrPort()
			if netip.AddrPortFrom(got.Addr().Unmap(), got.Port()) == ap {
				return tcp, nil
			}
		}
	}
	_ = conn.Close()
	return nil, mismatch(ap, "the peer is %s", conn.RemoteAddr())
}
