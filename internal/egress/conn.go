package egress

import (
	"bytes"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readSize    = 4 << 10
	lingerTime  = 500 * time.Millisecond
	lingerBytes = 256 << 10
	maxBlank    = 4 // empty lines before a request (RFC 9112, section 2.2)
)

// errAhead ends a connection whose client sends too much before it has read.
var errAhead = errors.New("egress: too much was sent ahead of an answer")

// clientConn stands between net/http and a client's connection. On the way in
// it lets through one request at a time, and its head only when it was read
// and found sound, so that net/http never sees a request of doubtful framing,
// and no byte that follows a CONNECT. On the way out it puts the reason code
// into the status line, which net/http has no way to set.
//
// Reads come from one goroutine at a time (net/http sees to that); the atomic
// fields are what others set.
type clientConn struct {
	net.Conn
	p *Proxy

	buf     []byte // read from the client and not handed on
	scanned int    // of buf: looked at for the end of a head
	blank   int    // empty lines before this head
	ready   int    // of buf: belongs to the current request
	body    framer
	head    head

	busy     atomic.Bool // a request was handed on and is not answered
	handling atomic.Bool // its handler has begun
	raw      atomic.Bool // hijacked: bytes go through untouched
	last     atomic.Bool // no request may follow this one
	over     atomic.Bool // the last request is answered

	phrase    []byte // status line to put in place of line
	line      []byte
	closeOnce sync.Once
}

// Read implements net.Conn for net/http.
func (c *clientConn) Read(b []byte) (int, error) {
	for {
		switch {
		case c.raw.Load():
			if len(c.buf) > 0 {
				return c.take(b, len(c.buf)), nil
			}
			return c.Conn.Read(b)
		case c.ready > 0:
			n := c.take(b, c.ready)
			c.ready -= n
			return n, nil
		case c.body.open:
			return c.readBody(b)
		case c.busy.Load():
			return c.watch()
		}
		if err := c.readHead(); err != nil {
			return 0, err
		}
	}
}

// take moves at most limit bytes of the buffer to b.
func (c *clientConn) take(b []byte, limit int) int {
	n := copy(b, c.buf[:limit])
	c.buf = c.buf[:copy(c.buf, c.buf[n:])]
	return n
}

// readBody reads content of the current request, and keeps back what follows.
func (c *clientConn) readBody(b []byte) (int, error) {
	if len(c.buf) > 0 {
		n, err := c.body.consume(c.buf)
		c.ready = n
		if n > 0 {
			n = c.take(b, n)
			c.ready -= n
			return n, nil
		}
		return 0, err
	}
	n, err := c.Conn.Read(b)
	used, frameErr := c.body.consume(b[:n])
	c.buf = append(c.buf, b[used:n]...)
	switch {
	case frameErr != nil:
		return used, frameErr
	case used > 0:
		return used, nil // an error that came along comes again
	}
	return 0, err
}

// watch is the read that net/http makes while a handler runs, to notice that
// the client left. What a client sends ahead is kept for later, and watching
// goes on behind it: else one byte would be enough to leave unnoticed, and the
// request would stay until its origin answers. Who sends more than a head's
// length ahead is not waited for either.
func (c *clientConn) watch() (int, error) {
	for len(c.buf) <= c.p.o.MaxHead {
		if err := c.fill(); err != nil {
			return 0, err
		}
	}
	return 0, errAhead
}

// fill reads some bytes into the buffer.
func (c *clientConn) fill() error {
	if cap(c.buf)-len(c.buf) < readSize/2 {
		grown := make([]byte, len(c.buf), len(c.buf)*2+readSize)
		copy(grown, c.buf)
		c.buf = grown
	}
	n, err := c.Conn.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// readHead reads until a head is complete, and checks it. A head that is
// refused is answered here, and the connection is at its end (io.EOF).
func (c *clientConn) readHead() error {
	c.head, c.scanned, c.blank = head{}, 0, 0
	timed := false
	for {
		for bytes.HasPrefix(c.buf, []byte("\r\n")) && c.blank < maxBlank {
			c.buf = c.buf[:copy(c.buf, c.buf[2:])]
			c.blank++
		}
		n, fault := 0, headFault("")
		if !bytes.Equal(c.buf, []byte("\r")) { // else the rest of an empty line may follow
			n, fault = findHead(c.buf, c.scanned)
			c.scanned = max(0, len(c.buf)-1)
		}
		if fault == "" && max(n, min(len(c.buf), c.p.o.MaxHead+1)) > c.p.o.MaxHead {
			fault = faultSize
		}
		if fault == "" && n > 0 {
			c.head, fault = parseHead(c.buf[:n])
		}
		if fault != "" {
			return c.refuse(fault)
		}
		if n > 0 {
			c.ready, c.body = n, newFramer(c.head.length)
			c.busy.Store(true)
			return nil
		}
		if len(c.buf) > 0 && !timed {
			// net/http sets this deadline only when it has seen a byte.
			timed = true
			if err := c.SetReadDeadline(c.p.o.Now().Add(c.p.o.HeadTimeout)); err != nil {
				return err
			}
		}
		if err := c.fill(); err != nil {
			if len(c.buf) > 0 && !isTimeout(err) {
				return io.EOF // in the middle of a head: nobody to answer
			}
			return err
		}
	}
}

// refuse answers a head that net/http is not shown, and ends the connection.
func (c *clientConn) refuse(fault headFault) error {
	_, err := c.Conn.Write(c.p.refuseHead(c.head, fault))
	if err == nil {
		c.linger()
	}
	return io.EOF
}

// linger lets the client read an answer before the connection is closed: bytes
// that nobody read would make the kernel reset it.
func (c *clientConn) linger() {
	if cw, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = cw.CloseWrite()
	}
	if c.SetReadDeadline(c.p.o.Now().Add(lingerTime)) == nil {
		_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes)
	}
}

// Write implements net.Conn for net/http.
func (c *clientConn) Write(b []byte) (int, error) {
	if c.raw.Load() {
		return c.Conn.Write(b)
	}
	if c.over.Load() {
		return 0, net.ErrClosed
	}
	if !c.handling.Load() && bytes.HasPrefix(b, []byte("HTTP/")) {
		// net/http answers by itself: it could not read what we let through.
		return replaced(c.Conn, b, c.p.refuseUnread(c.head))
	}
	if rest, ok := bytes.CutPrefix(b, c.line); ok && len(c.line) > 0 {
		out := append(c.phrase, rest...)
		c.line, c.phrase = nil, nil
		return replaced(c.Conn, b, out)
	}
	return c.Conn.Write(b)
}

// replaced writes out in place of b and counts as net/http wants it counted.
func replaced(w io.Writer, b, out []byte) (int, error) {
	if _, err := w.Write(out); err != nil {
		return 0, err
	}
	return len(b), nil
}

// idle is called when a request is answered and the next may come. Behind the
// last one the connection is closed here: net/http may hold bytes of it that
// were let through as content.
func (c *clientConn) idle() {
	if c.last.Load() {
		c.over.Store(true)
		c.linger()
		_ = c.Close()
		return
	}
	c.line, c.phrase = nil, nil
	c.handling.Store(false)
	c.busy.Store(false)
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	c.closeOnce.Do(func() { c.p.forget(c) })
	return c.Conn.Close()
}

func isTimeout(err error) bool {
	t, ok := err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}
