package egress

import (
	"errors"
	"math"
)

// errFraming ends a body whose chunks cannot be read in one certain way.
var errFraming = errors.New("egress: malformed chunk")

const (
	maxChunkLine = 4 << 10  // a chunk's size line, with extensions
	maxTrailers  = 32 << 10 // a trailer section
)

// chunkState is where in a chunked body (RFC 9112, section 7.1) a framer is.
type chunkState uint8

const (
	chunkSize    chunkState = iota // the digits of a size
	chunkBlank                     // blanks behind the digits; only CR may follow
	chunkExt                       // behind the digits and a semicolon, up to CR
	chunkSizeLF                    // the LF of a size line
	chunkData                      // left bytes of data
	chunkDataCR                    // the CR behind data
	chunkDataLF                    // the LF behind data
	trailerStart                   // the first byte of a trailer line
	trailerLine                    // inside a trailer line
	trailerLF                      // the LF of a trailer line
	trailerEndLF                   // the LF of the empty line
)

// framer follows a message's body to find its end. The zero value is a message
// that has ended.
type framer struct {
	open   bool
	bad    bool // what came cannot be read; nothing more is taken
	chunks bool
	left   int64 // bytes of content, or of the present chunk
	state  chunkState
	line   int // bytes of the present size line or trailer section
	digits int
}

// newFramer follows a body of that length, or chunked.
func newFramer(length int64) framer {
	return framer{open: length != 0, chunks: length == chunked, left: max(length, 0)}
}

// consume takes what of b belongs to the message and returns how much it was.
func (f *framer) consume(b []byte) (int, error) {
	if !f.chunks {
		n := int(min(f.left, int64(len(b))))
		f.left -= int64(n)
		f.open = f.left > 0
		return n, nil
	}
	for i := 0; i < len(b); {
		if f.bad {
			return i, errFraming
		}
		if f.state == chunkData {
			n := int(min(f.left, int64(len(b)-i)))
			i += n
			if f.left -= int64(n); f.left == 0 {
				f.state = chunkDataCR
			}
			continue
		}
		if f.bad = !f.step(b[i]); f.bad {
			continue
		}
		i++
		if !f.open {
			return i, nil
		}
	}
	return len(b), nil
}

// step takes one byte that is not data. False: it may not stand there.
func (f *framer) step(c byte) bool {
	switch f.state {
	case chunkSize, chunkBlank, chunkExt, chunkSizeLF:
		return f.stepSize(c)
	case chunkDataCR:
		f.state = chunkDataLF
		return c == '\r'
	case chunkDataLF:
		f.state, f.line, f.digits = chunkSize, 0, 0
		return c == '\n'
	case trailerStart, trailerLine, trailerLF, trailerEndLF:
		return f.stepTrailer(c)
	case chunkData:
	}
	return false
}

func (f *framer) stepSize(c byte) bool {
	if f.line++; f.line > maxChunkLine {
		return false
	}
	switch {
	case f.state == chunkSizeLF:
		if f.state = chunkData; f.left == 0 {
			f.state, f.line = trailerStart, 0
		}
		return c == '\n'
	case c == '\r':
		f.state = chunkSizeLF
		return f.digits > 0
	case f.state == chunkExt:
		return c >= ' ' && c != 0x7f || c == '\t'
	}
	digit, ok := unhex(c)
	switch {
	case f.digits > 0 && (c == ' ' || c == '\t'):
		f.state = chunkBlank
		return true
	case f.state == chunkBlank:
		return false
	case !ok:
		f.state = chunkExt
		return f.digits > 0 && c == ';'
	}
	f.digits++
	if f.left > math.MaxInt64>>4 {
		return false
	}
	f.left = f.left<<4 | digit
	return true
}

func (f *framer) stepTrailer(c byte) bool {
	if f.line++; f.line > maxTrailers {
		return false
	}
	switch f.state {
	case trailerStart:
		f.state = trailerLine
		if c == '\r' {
			f.state = trailerEndLF
		}
		return c != '\n' && c != ' ' && c != '\t'
	case trailerLine:
		if c == '\r' {
			f.state = trailerLF
		}
		return c != '\n' && c != 0
	case trailerLF:
		f.state = trailerStart
		return c == '\n'
	case trailerEndLF, chunkSize, chunkBlank, chunkExt, chunkSizeLF, chunkData, chunkDataCR, chunkDataLF:
	}
	f.open = false
	return c == '\n'
}

func unhex(c byte) (int64, bool) {
	switch {
	case '0' <= c && c <= '9':
		return int64(c - '0'), true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int64(c|0x20-'a') + 10, true
	}
	return 0, false
}
