package world

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"
)

// rawVariable makes a test binary become a raw client of the address it holds.
const rawVariable = "TOOLGATE_TEST_RAW"

// quietAfter ends a raw exchange: the peer has said something and is silent.
const quietAfter = 400 * time.Millisecond

// Raw sends bytes from the pod to an address and returns what comes back until
// the peer closes, is silent for a while after its first byte, or says nothing
// for five seconds.
func (n *Net) Raw(t testing.TB, addr string, send []byte) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ip", "netns", "exec", n.pod, self)
	cmd.Env = append(os.Environ(), rawVariable+"="+addr)
	cmd.Stdin = bytes.NewReader(send)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("raw client to %s: %v: %s", addr, err, stderr.String())
	}
	return out.Bytes()
}

// raw is the client.
func raw(addr string, in io.Reader, out io.Writer) error {
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	send, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	if _, err := conn.Write(send); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	wait := 5 * time.Second
	for {
		if err := conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return err
		}
		got, err := conn.Read(buf)
		if _, werr := out.Write(buf[:got]); werr != nil {
			return werr
		}
		var timeout net.Error
		switch {
		case errors.Is(err, io.EOF), errors.As(err, &timeout):
			return nil
		case err != nil:
			return fmt.Errorf("read: %w", err)
		}
		wait = quietAfter
	}
}
