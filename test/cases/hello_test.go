package cases_test

import (
	"crypto/tls"
	be "encoding/binary"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/test/world"
)

// tunnelled runs a case about what is said inside a tunnel: after the 200, the
// client's first bytes must not reach the origin. The origin speaks plain HTTP
// and complains about anything else, so its complaint betrays that they did.
func (c *egressCase) tunnelled(t *testing.T, r *pod, in *connectInput) string {
	t.Helper()
	r.net.Set(t, world.Zone{Default: &world.Name{answerOf(in.Resolves)}}, nil)
	s := r.sidecar(t, false)
	send := c.head(t, s, in) + string(in.firstBytes(t))
	got := string(r.net.Raw(t, s.Addrs["proxy"], []byte(send)))
	_, inside, _ := strings.Cut(got, "\r\n\r\n")
	if strings.Contains(inside, "HTTP/1.1 400") || in.FirstBytes != nil && *in.FirstBytes == "" && r.net.Seen(t).Connections > 0 {
		return "what is said inside the tunnel reached the origin"
	}
	return ""
}

// firstBytes is what the client says first: some text, or a ClientHello.
func (in *connectInput) firstBytes(t *testing.T) []byte {
	t.Helper()
	if in.FirstBytes != nil {
		return []byte(*in.FirstBytes + "\r\n\r\n")
	}
	name := ""
	if in.SNI != nil {
		name = *in.SNI
	}
	hello := clientHello(t, name)
	switch in.ClientHello {
	case "two TLS records":
		return twoRecords(hello)
	case "two SNI entries":
		return twoNames(hello, "www.example.com", "evil.example.net")
	}
	return hello
}

// clientHello is the first flight of Go's TLS client.
func clientHello(t *testing.T, name string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	defer theirs.Close()
	go func() {
		_ = tls.Client(theirs, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake() // only its first bytes are wanted
	}()
	_ = ours.SetReadDeadline(time.Now().Add(5 * time.Second))
	buf := make([]byte, 16<<10)
	n, err := ours.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// twoRecords splits one handshake record into two.
func twoRecords(hello []byte) []byte {
	body := hello[5:]
	record := func(part []byte) []byte {
		return append(append(append([]byte{}, hello[:3]...), byte(len(part)>>8), byte(len(part))), part...)
	}
	return append(record(body[:40]), record(body[40:])...)
}

// twoNames puts two names into the server_name extension of a ClientHello
// without one (RFC 6066 permits one of each type).
func twoNames(hello []byte, names ...string) []byte {
	var list []byte
	for _, n := range names {
		list = append(append(list, 0, byte(len(n)>>8), byte(len(n))), n...)
	}
	ext := append([]byte{0, 0, byte((len(list) + 2) >> 8), byte(len(list) + 2), byte(len(list) >> 8), byte(len(list))}, list...)
	// Skip to the extensions: record and handshake heads, version, random,
	// session id, cipher suites, compression methods.
	at := 5 + 4 + 2 + 32
	at += 1 + int(hello[at])
	at += 2 + int(be.BigEndian.Uint16(hello[at:]))
	at += 1 + int(hello[at])
	out := append([]byte{}, hello[:at]...)
	size := int(be.BigEndian.Uint16(hello[at:])) + len(ext)
	out = append(out, byte(size>>8), byte(size))
	out = append(append(out, ext...), hello[at+2:]...)
	be.BigEndian.PutUint16(out[3:], uint16(len(out)-5))
	out[6], out[7], out[8] = byte((len(out)-9)>>16), byte((len(out)-9)>>8), byte(len(out)-9)
	return out
}
