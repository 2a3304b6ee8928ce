package egress

import (
	"bytes"
	"strconv"
	"strings"
)

// chunked is the length of a body that is framed by chunks.
const chunked = -1

// head is what the framing of a request depends on, read from its head by our
// own code. net/http is more lenient: it drops a Content-Length beside a
// Transfer-Encoding, ignores a Transfer-Encoding in HTTP/1.0, and takes bare
// line feeds; each is a way to make two parsers see two different requests
// (RFC 9112, section 11.2).
type head struct {
	method string
	target string // as it was received
	minor  byte   // of HTTP/1.minor
	length int64  // of the body, or chunked
	auth   []string
}

// headFault says why a head is refused, in words of ours only.
type headFault string

const (
	faultTLS     headFault = "a TLS handshake: this port speaks plain HTTP, so write the proxy's URL with http://"
	faultSOCKS   headFault = "a SOCKS handshake: this port speaks HTTP"
	faultLine    headFault = "no request line"
	faultFeed    headFault = "a line that does not end in CR LF"
	faultVersion headFault = "not HTTP/1.0 or HTTP/1.1"
	faultMethod  headFault = "the method is not a token"
	faultTarget  headFault = "the request target is not visible text"
	faultField   headFault = "a header line that is not name: value"
	faultValue   headFault = "a control character in a header field"
	faultHost    headFault = "an HTTP/1.1 request has one Host field"
	faultLength  headFault = "more than one Content-Length, or one that is not a number"
	faultCoding  headFault = "a Transfer-Encoding that is not one chunked in HTTP/1.1"
	faultFraming headFault = "both Content-Length and Transfer-Encoding"
	faultContent headFault = "a CONNECT with content"
	faultSize    headFault = "the head is too large"
)

// findHead looks for the end of the head in b, of which the first scanned
// bytes are known to hold no end. It returns the length of the head with the
// empty line, or 0 if it is not complete.
func findHead(b []byte, scanned int) (int, headFault) {
	if len(b) > 0 && scanned == 0 {
		switch c := b[0]; {
		case c == 0x16:
			return 0, faultTLS
		case c == 4 || c == 5:
			return 0, faultSOCKS
		case !isToken(c):
			return 0, faultLine
		}
	}
	for i := scanned; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '\n')
		if j < 0 {
			break
		}
		i += j
		if i == 0 || b[i-1] != '\r' {
			return 0, faultFeed
		}
		if i >= 3 && b[i-2] == '\n' {
			return i + 1, ""
		}
	}
	return 0, ""
}

// parseHead reads a whole head.
func parseHead(b []byte) (head, headFault) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	h, fault := parseRequestLine(line)
	if fault != "" {
		return h, fault
	}
	var hosts, lengths, codings int
	for {
		line, rest, _ = bytes.Cut(rest, []byte("\r\n"))
		if len(line) == 0 {
			break
		}
		name, value, fault := parseField(line)
		if fault != "" {
			return h, fault
		}
		switch {
		case equalFold(name, "host"):
			hosts++
		case equalFold(name, "content-length"):
			lengths++
			if h.length, fault = parseLength(value); fault != "" {
				return h, fault
			}
		case equalFold(name, "transfer-encoding"):
			codings++
			if !equalFold(value, "chunked") {
				return h, faultCoding
			}
		case equalFold(name, "proxy-authorization"):
			h.auth = append(h.auth, string(value))
		}
	}
	return h, h.frame(hosts, lengths, codings)
}

// frame checks how often the fields that frame a request occur.
func (h *head) frame(hosts, lengths, codings int) headFault {
	switch {
	case hosts > 1, hosts == 0 && h.minor > 0 && h.method != "CONNECT":
		return faultHost
	case lengths > 0 && codings > 0:
		return faultFraming
	case lengths > 1:
		return faultLength
	case codings > 1, codings == 1 && h.minor == 0:
		return faultCoding
	case h.method == "CONNECT" && (codings > 0 || h.length > 0):
		return faultContent
	case codings == 1:
		h.length = chunked
	}
	return ""
}

// parseRequestLine reads method SP target SP version (RFC 9112, section 3).
func parseRequestLine(line []byte) (head, headFault) {
	method, rest, _ := bytes.Cut(line, []byte(" "))
	target, version, found := bytes.Cut(rest, []byte(" "))
	if !found || len(target) == 0 {
		return head{}, faultLine
	}
	h := head{method: string(method), target: string(target)}
	if len(method) == 0 || !allBytes(method, isToken) {
		return h, faultMethod
	}
	if !allBytes(target, func(c byte) bool { return c > ' ' && c != 0x7f }) {
		return h, faultTarget
	}
	switch string(version) {
	case "HTTP/1.1":
		h.minor = 1
	case "HTTP/1.0":
	default:
		return h, faultVersion
	}
	return h, ""
}

// parseField reads name: value (RFC 9112, section 5). A line that begins with
// white space (obs-fold) and white space before the colon are no name.
func parseField(line []byte) (name, value []byte, fault headFault) {
	name, value, found := bytes.Cut(line, []byte(":"))
	if !found || len(name) == 0 || !allBytes(name, isToken) {
		return nil, nil, faultField
	}
	value = bytes.Trim(value, " \t")
	if !allBytes(value, func(c byte) bool { return c >= ' ' && c != 0x7f || c == '\t' }) {
		return nil, nil, faultValue
	}
	return name, value, ""
}

// parseLength reads a Content-Length: digits only (RFC 9110, section 8.6).
func parseLength(value []byte) (int64, headFault) {
	if len(value) == 0 || !allBytes(value, func(c byte) bool { return '0' <= c && c <= '9' }) {
		return 0, faultLength
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil {
		return 0, faultLength
	}
	return n, ""
}

func allBytes(b []byte, ok func(byte) bool) bool {
	for _, c := range b {
		if !ok(c) {
			return false
		}
	}
	return true
}

// isToken reports whether c may stand in a token (RFC 9110, section 5.6.2).
func isToken(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}

// equalFold compares with a lower-case ASCII word.
func equalFold(b []byte, lower string) bool {
	return len(b) == len(lower) && strings.EqualFold(string(b), lower)
}
