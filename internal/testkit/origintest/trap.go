package origintest

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// Trap listens on addr (IP, or IP:port) and fails the test if anything
// connects before it ends. It returns where it listens.
func Trap(tb testing.TB, addr string) netip.AddrPort {
	tb.Helper()
	ln := listen(tb, addr)
	at := addrPort(ln.Addr())
	peers := watch(ln)
	tb.Cleanup(func() {
		got, err := peers()
		if err != nil {
			tb.Errorf("origintest: trap %s: %v", at, err)
		}
		for _, peer := range got {
			tb.Errorf("origintest: %s connected to %s, which must not be reached", peer, at)
		}
	})
	return at
}

// watch takes and closes every connection to ln. The function it returns says
// who connected, and ends the watch. To miss nobody, it connects once itself:
// the kernel hands connections out in order, so when that one is closed all
// before it were seen.
func watch(ln net.Listener) func() ([]netip.AddrPort, error) {
	var peers []netip.AddrPort
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			peers = append(peers, addrPort(conn.RemoteAddr()))
			_ = conn.Close()
		}
	})
	return func() ([]netip.AddrPort, error) {
		var own netip.AddrPort
		conn, err := net.DialTimeout("tcp", ln.Addr().String(), 5*time.Second)
		if err == nil {
			own = addrPort(conn.LocalAddr())
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = conn.Read(make([]byte, 1)) // ends when the other side closes
			_ = conn.Close()
		}
		_ = ln.Close()
		wg.Wait()
		var others []netip.AddrPort
		for _, peer := range peers {
			if peer != own {
				others = append(others, peer)
			}
		}
		return others, err
	}
}
