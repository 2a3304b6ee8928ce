package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolgate/toolgate/internal/config"
)

// unixPrefix marks a listen address that is a Unix socket.
const unixPrefix = "unix:"

// listener is one bound listener with the name it has in the configuration.
type listener struct {
	name string
	net.Listener
}

// bind opens one listener: host:port, or unix:/path.
func bind(ctx context.Context, name string, at config.Address) (listener, error) {
	var ln net.Listener
	var err error
	if path, isUnix := strings.CutPrefix(at.Text, unixPrefix); isUnix {
		ln, err = bindSocket(ctx, path)
	} else if p, ok := at.AddrPort(); ok {
		ln, err = new(net.ListenConfig).Listen(ctx, "tcp", p.String())
	} else {
		err = fmt.Errorf("%q is not host:port", at.Text)
	}
	if err != nil {
		return listener{}, fmt.Errorf("daemon: listen.%s: %w", name, err)
	}
	return listener{name, ln}, nil
}

// bindSocket opens a Unix socket with mode 0600: the file mode is the
// permission (contracts, section 4). The mode is set before the file is there,
// so that no umask opens it to others for a moment.
func bindSocket(ctx context.Context, path string) (net.Listener, error) {
	if err := removeStaleSocket(ctx, path); err != nil {
		return nil, err
	}
	ln, err := (&net.ListenConfig{Control: ownerOnly}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil { // the umask may have taken from it
		_ = ln.Close()
		return nil, err
	}
	return ln, nil
}

// ownerOnly gives a Unix socket the mode that its file will have (unix(7): the
// umask is taken off it).
func ownerOnly(_, _ string, c syscall.RawConn) error {
	var chmod error
	err := c.Control(func(fd uintptr) { chmod = unix.Fchmod(int(fd), 0o600) })
	return errors.Join(err, chmod)
}

// removeStaleSocket removes a socket that nobody listens on. Anything else at
// path is left alone and is an error: a file, a socket that answers, and one
// that cannot be asked.
func removeStaleSocket(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSocket == 0 {
		return fmt.Errorf("%s exists and is not a socket: remove it or name another path", path)
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("another process listens on %s: stop it or name another path", path)
	}
	if !errors.Is(err, unix.ECONNREFUSED) {
		return fmt.Errorf("a socket is there that may be in use: %w", err)
	}
	return os.Remove(path)
}

// address returns what a client dials: host:port, or unix:/path.
func (l listener) address() string {
	if l.Addr().Network() == "unix" {
		return unixPrefix + l.Addr().String()
	}
	return l.Addr().String()
}

// writeAddrFile writes one name=address line per listener and renames the file
// into place, so that whoever waits for it finds it whole.
func writeAddrFile(path string, listeners []listener) error {
	var b strings.Builder
	for _, l := range listeners {
		b.WriteString(l.name + "=" + l.address() + "\n")
	}
	if err := writeRenamed(path, []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("daemon: address file: %w", err)
	}
	return nil
}

// ownAddresses knows toolgate's own listeners, so that no tool is let through
// to them. The zero value knows none.
type ownAddresses struct {
	bound atomic.Pointer[[]netip.AddrPort]
	local func() ([]netip.Addr, error)
}

// set replaces the listeners by what is bound.
func (o *ownAddresses) set(listeners []listener) {
	var bound []netip.AddrPort
	for _, l := range listeners {
		if a, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
			bound = append(bound, a)
		}
	}
	o.store(bound)
}

// store replaces the listeners.
func (o *ownAddresses) store(bound []netip.AddrPort) {
	for i, a := range bound {
		bound[i] = netip.AddrPortFrom(a.Addr().Unmap(), a.Port())
	}
	o.bound.Store(&bound)
}

// is reports whether target is one of toolgate's own listeners: the bound
// address itself, the same port on loopback or the unspecified address, or, for
// a listener on all addresses, the same port on any address of this machine.
func (o *ownAddresses) is(target netip.AddrPort) bool {
	bound := o.bound.Load()
	if bound == nil {
		return false
	}
	addr := target.Addr().Unmap().WithZone("")
	for _, b := range *bound {
		if b.Port() != target.Port() {
			continue
		}
		if b.Addr() == addr || addr.IsLoopback() || addr.IsUnspecified() {
			return true
		}
		if b.Addr().IsUnspecified() && o.isLocal(addr) {
			return true
		}
	}
	return false
}

// isLocal reports whether addr is an address of this machine. What cannot be
// found out counts as local.
func (o *ownAddresses) isLocal(addr netip.Addr) bool {
	if o.local == nil {
		return true
	}
	own, err := o.local()
	return err != nil || slices.Contains(own, addr)
}

// interfaceAddresses returns every address of this machine's interfaces.
func interfaceAddresses() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own, nil
}
