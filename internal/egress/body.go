package egress

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
)

// errEnded is what the transport gets when it reads a request's body after the
// request was answered.
var errEnded = errors.New("egress: the request has ended")

// sentBody is a request's body on its way to the origin: counted, and shut when
// the handler is at its end, since the transport may hold it for longer.
type sentBody struct {
	io.ReadCloser
	r *http.Request

	mu    sync.Mutex
	ended bool
	n     int64
}

// Read implements io.Reader.
func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	ended := b.ended
	b.mu.Unlock()
	if ended {
		return 0, errEnded
	}
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.n += int64(n)
	b.mu.Unlock()
	if err == io.EOF { //nolint:errorlint // what net/http returns
		cleanTrailer(b.r.Trailer)
	}
	return n, err
}

// end shuts the body and returns how many bytes were read.
func (b *sentBody) end() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	return b.n
}

// copySize is the size of the buffers through which answers flow.
const copySize = 32 << 10

//nolint:gochecknoglobals // a pool of buffers has no state
var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// receivedBody is an answer's body on its way to the client.
type receivedBody struct {
	io.ReadCloser
	x    *exchange
	resp *http.Response
}

// WriteTo implements io.WriterTo, which io.Copy in goproxy prefers. Where the
// end is not known in advance, every piece goes out at once: it may be an event
// stream, whatever it calls itself (report P18).
func (b *receivedBody) WriteTo(w io.Writer) (int64, error) {
	buf, _ := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(buf)
	streaming := b.resp.ContentLength < 0
	out := http.NewResponseController(b.x.w)
	if streaming {
		_ = out.Flush()
	}
	var total int64
	defer func() { b.x.received += total }()
	for {
		n, readErr := b.Read(buf[:])
		if n > 0 {
			written, err := w.Write(buf[:n])
			total += int64(written)
			if err != nil {
				return total, err
			}
			if streaming {
				_ = out.Flush()
			}
		}
		switch {
		case readErr == io.EOF: //nolint:errorlint // what net/http returns
			cleanTrailer(b.resp.Trailer)
			return total, nil
		case readErr != nil:
			b.x.broken = true
			return total, readErr
		}
	}
}

// upgradedBody is the origin's side of a WebSocket. The two directions run in
// goroutines of goproxy, and one may go on when the other has ended.
type upgradedBody struct {
	rw             io.ReadWriteCloser
	sent, received atomic.Int64
}

// Read implements io.Reader.
func (b *upgradedBody) Read(p []byte) (int, error) {
	n, err := b.rw.Read(p)
	b.received.Add(int64(n))
	return n, err
}

// Write implements io.Writer.
func (b *upgradedBody) Write(p []byte) (int, error) {
	n, err := b.rw.Write(p)
	b.sent.Add(int64(n))
	return n, err
}

// Close implements io.Closer.
func (b *upgradedBody) Close() error { return b.rw.Close() }
