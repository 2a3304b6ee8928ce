package daemon

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// pipeAtomic is how many bytes a pipe that polls as writable takes without
// blocking (POSIX PIPE_BUF; 4096 on Linux, pipe(7)).
const pipeAtomic = 4096

// sink is a writer of decision lines that can tell whether a write would block:
// a regular file never does, a pipe or terminal does when poll(2) says so.
type sink struct {
	*os.File
	fd      int32
	regular bool
}

// newSink returns w as a sink, if it is a file; else w itself.
func newSink(w io.Writer) io.Writer {
	f, ok := w.(*os.File)
	if !ok {
		return w
	}
	info, err := f.Stat()
	return &sink{File: f, fd: int32(f.Fd()), regular: err == nil && info.Mode().IsRegular()} //nolint:gosec // a descriptor is a small int
}

// Ready implements audit.Ready.
func (s *sink) Ready(n int) bool {
	if s.regular {
		return true
	}
	if n > pipeAtomic {
		return false
	}
	fds := []unix.PollFd{{Fd: s.fd, Events: unix.POLLOUT}}
	ready, err := unix.Poll(fds, 0)
	return err == nil && ready == 1 && fds[0].Revents&unix.POLLOUT != 0
}
