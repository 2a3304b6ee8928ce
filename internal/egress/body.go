package egress

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
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
	r    *http.Request
	done chan struct{} // closed at the end

	mu       sync.Mutex
	ended    bool
	err      error // how reading ended: io.EOF when all of it was read
	n        int64
	answered bool // the origin has begun to answer, and did not ask for the body
}

func newSentBody(r *http.Request) *sentBody {
	return &sentBody{ReadCloser: r.Body, r: r, done: make(chan struct{})}
}

// Read implements io.Reader. Once the origin has answered "Expect:
// 100-continue" with its last word, nothing is read: a read makes net/http ask
// the client for a body that nobody wants.
func (b *sentBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	unwanted := b.answered && b.n == 0
	b.mu.Unlock()
	if unwanted {
		<-b.done
	}
	select {
	case <-b.done:
		return 0, errEnded
	default:
	}
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	b.n += int64(n)
	if b.err == nil {
		b.err = err
	}
	b.mu.Unlock()
	if err == io.EOF {
		cleanTrailer(b.r.Trailer)
	}
	return n, err
}

// watch has trace tell the body whether the origin asks for it.
func (b *sentBody) watch(trace *httptrace.ClientTrace) {
	if b == nil || b.r.Header.Get("Expect") == "" {
		return
	}
	set := func(answered bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.answered = answered
	}
	trace.GotFirstResponseByte = func() { set(true) }
	trace.Got100Continue = func() { set(false) }
	informational := trace.Got1xxResponse
	trace.Got1xxResponse = func(code int, header textproto.MIMEHeader) error {
		set(false) // the last word is still to come
		return informational(code, header)
	}
}

// end shuts the body and returns how many bytes were read, and whether those
// were all.
func (b *sentBody) end() (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.ended {
		b.ended = true
		close(b.done)
	}
	return b.n, b.err == io.EOF //nolint:errorlint // what net/http returns
}

// unreadable reports whether the client's content was cut off or malformed.
func (b *sentBody) unreadable() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err != nil && b.err != io.EOF //nolint:errorlint // what net/http returns
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

// Write implements io.Writer. The bytes are counted before they leave: the
// origin's answer to them may end the WebSocket before this goroutine runs on.
func (b *upgradedBody) Write(p []byte) (int, error) {
	b.sent.Add(int64(len(p)))
	n, err := b.rw.Write(p)
	b.sent.Add(int64(n - len(p)))
	return n, err
}

// Close implements io.Closer.
func (b *upgradedBody) Close() error { return b.rw.Close() }
