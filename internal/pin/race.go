package pin

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// interleave orders addresses for connecting: the families take turns, IPv6
// first, the order inside a family stays (RFC 8305, section 4).
func interleave(addrs []netip.AddrPort) []netip.AddrPort {
	var v6, v4 []netip.AddrPort
	for _, ap := range addrs {
		if ap.Addr().Is4() {
			v4 = append(v4, ap)
		} else {
			v6 = append(v6, ap)
		}
	}
	out := make([]netip.AddrPort, 0, len(addrs))
	for len(v6) > 0 || len(v4) > 0 {
		if len(v6) > 0 {
			out, v6 = append(out, v6[0]), v6[1:]
		}
		if len(v4) > 0 {
			out, v4 = append(out, v4[0]), v4[1:]
		}
	}
	return out
}

// outcome is the end of one attempt.
type outcome struct {
	conn *net.TCPConn
	err  error
}

// race tries targets in their order until one connects. The next one starts
// when stagger has passed or the one before has failed, and all run on until
// the first success (RFC 8305, section 5). When it returns, every other attempt
// has ended and its connection, if any, is closed. A VetError ends the race:
// what leaves the vetted set once is not tried again. It returns how many
// targets were tried.
func race(
	ctx context.Context, targets []netip.AddrPort, stagger time.Duration,
	attempt func(context.Context, netip.AddrPort) (*net.TCPConn, error),
) (*net.TCPConn, int, error) {
	if len(targets) == 1 { // the usual case needs no goroutine
		conn, err := attempt(ctx, targets[0])
		return conn, 1, err
	}
	ctx, cancel := context.WithCancel(ctx)
	results := make(chan outcome, len(targets))
	started, running := 0, 0
	defer func() {
		cancel()
		for range running {
			if out := <-results; out.conn != nil {
				_ = out.conn.Close()
			}
		}
	}()
	timer := time.NewTimer(stagger)
	defer timer.Stop()
	start := func() {
		if started == len(targets) || ctx.Err() != nil {
			return
		}
		target := targets[started]
		started++
		running++
		timer.Reset(stagger)
		go func() {
			conn, err := attempt(ctx, target)
			results <- outcome{conn, err}
		}()
	}

	var errs []error
	for start(); running > 0; {
		select {
		case <-timer.C:
			start()
		case out := <-results:
			running--
			if out.err == nil {
				return out.conn, started, nil
			}
			errs = append(errs, out.err)
			if vetErr := (*VetError)(nil); errors.As(out.err, &vetErr) {
				return nil, started, out.err
			}
			start()
		}
	}
	if len(errs) == 0 {
		return nil, started, context.Cause(ctx)
	}
	return nil, started, errors.Join(errs...)
}
