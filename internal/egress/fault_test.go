package egress_test

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// TestFaultsOfTheNetwork are told apart from policy, and name no address.
func TestFaultsOfTheNetwork(t *testing.T) {
	t.Parallel()
	world := newWorld()
	world.host("closed.example.com", "127.1.0.9")
	world.host("slow.example.com", "127.1.0.1")
	proxy := serve(t, world)
	silent, err := net.Listen("tcp", "127.1.0.9:0")
	if err != nil {
		t.Fatal(err)
	}
	at := "closed.example.com:" + portOf(silent)
	_ = silent.Close()
	wire := proxy.dial(t)
	for _, row := range []struct {
		text, reason, status string
	}{
		{"GET http://" + at + "/", "connect_failed", "toolgate; error=destination_unavailable"},
		{"CONNECT " + at, "connect_failed", "toolgate; error=destination_unavailable"},
		{"GET http://nowhere.example.com/", "dns_failed", "toolgate; error=dns_error"},
	} {
		wire.send(row.text + " HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, body := wire.answer("GET")
		wantRefusal(t, resp, body)
		if resp.StatusCode != 502 || resp.Header.Get("X-Toolgate-Reason") != row.reason || !strings.HasPrefix(resp.Header.Get("Proxy-Status"), row.status+";") {
			t.Errorf("%s: %s %s", row.text, resp.Status, resp.Header.Get("Proxy-Status"))
		}
		if strings.Contains(body, "127.1.") || strings.Contains(body, `"final":true`) {
			t.Errorf("%s: %s", row.text, body)
		}
	}
	for _, what := range []string{"http connect_error", "connect connect_error", "http dns_error"} {
		eventually(t, what, func() bool { return world.counted(what) == 1 })
	}
}

type slowError struct{ error }

func (d slowError) Error() string { return "10.9.8.7: took too long" }
func (d slowError) Timeout() bool { return true }

func TestTimeouts(t *testing.T) {
	t.Parallel()
	world := newWorld()
	wire := serve(t, world, withDialer(func() (net.Conn, error) { return nil, slowError{errors.New("x")} })).dial(t)
	for _, text := range []string{"GET http://www.example.com/", "CONNECT www.example.com:443"} {
		wire.send(text + " HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, body := wire.answer("GET")
		wantRefusal(t, resp, body)
		if resp.StatusCode != 504 || strings.Contains(body, "10.9") {
			t.Errorf("%s: %s %s", text, resp.Status, body)
		}
	}
	for _, what := range []string{"http timeout", "connect timeout"} {
		eventually(t, what, func() bool { return world.counted(what) == 1 })
	}
}

// TestTheEnvironmentSteersNothing: no proxy variable changes where toolgate
// connects to.
func TestTheEnvironmentSteersNothing(t *testing.T) {
	trap := origintest.Trap(t, "127.0.0.1")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://"+trap.String())
		t.Setenv(strings.ToLower(name), "http://"+trap.String())
	}
	t.Setenv("NO_PROXY", "")
	if os.Getenv("HTTPS_PROXY") == "" {
		t.Fatal("no trap is set")
	}
	ca := origintest.NewCA(t)
	plain := origintest.New(t, origintest.Options{})
	secure := origintest.New(t, origintest.Options{TLS: ca, Names: []string{"www.example.com"}})
	client := serve(t, newWorld()).client(t, nil)
	tr, _ := client.Transport.(*http.Transport)
	tr.TLSClientConfig = tlsFor(ca)
	for _, target := range []string{plain.URL("www.example.com", "/"), secure.URL("www.example.com", "/")} {
		resp, err := client.Get(target)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if u, _ := url.Parse(target); resp.StatusCode != 200 {
			t.Errorf("%s: %s", u.Scheme, resp.Status)
		}
	}
	if len(plain.Seen()) != 1 || len(secure.Seen()) != 1 {
		t.Error("the origins were not reached")
	}
}
