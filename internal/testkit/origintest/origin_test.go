package origintest_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// client sends every request to origin, whatever the host.
func client(t *testing.T, origin *origintest.Origin, ca *origintest.CA) *http.Client {
	t.Helper()
	tr := &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, origin.Addr().String())
		},
	}
	if ca != nil {
		tr.TLSClientConfig = &tls.Config{RootCAs: ca.Pool()}
	}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{
		Transport: tr, Timeout: 5 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func TestOriginRecords(t *testing.T) {
	t.Parallel()
	ca := origintest.NewCA(t)
	for _, row := range []struct {
		name       string
		o          origintest.Options
		serverName string
	}{
		{"plain HTTP", origintest.Options{}, ""},
		{"TLS under a name", origintest.Options{TLS: ca, Names: []string{"www.example.com"}}, "www.example.com"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			origin := origintest.New(t, row.o)
			c := client(t, origin, ca)
			for range 2 {
				resp, err := c.Post(origin.URL("www.example.com", "/p?q=1"), "text/plain", strings.NewReader("body"))
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err != nil || string(body) != origintest.Greeting {
					t.Errorf("body %q, %v", body, err)
				}
			}
			seen := origin.Seen()
			if len(seen) != 2 || origin.Connections() != 1 {
				t.Fatalf("%d requests on %d connections, want 2 on 1", len(seen), origin.Connections())
			}
			got := seen[1]
			if got.Method != "POST" || got.Target != "/p?q=1" || string(got.Body) != "body" || got.Conn != 1 ||
				!strings.HasPrefix(got.Host, "www.example.com:") || got.ServerName != row.serverName {
				t.Errorf("recorded %+v", got)
			}
		})
	}
}

func TestHandlers(t *testing.T) {
	t.Parallel()
	events := make(chan string)
	get := func(t *testing.T, h http.Handler) *http.Response {
		t.Helper()
		origin := origintest.New(t, origintest.Options{Handler: h})
		resp, err := client(t, origin, nil).Get(origin.URL("", "/"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = resp.Body.Close() })
		return resp
	}
	if resp := get(t, origintest.Redirect(307, "http://[::1]/ä")); resp.StatusCode != 307 ||
		resp.Header.Get("Location") != "http://[::1]/ä" {
		t.Errorf("redirect: %d to %q", resp.StatusCode, resp.Header.Get("Location"))
	}
	if resp := get(t, origintest.Refresh("http://10.0.0.1/")); resp.Header.Get("Refresh") != "0; url=http://10.0.0.1/" {
		t.Errorf("refresh: %q", resp.Header.Get("Refresh"))
	}
	if resp := get(t, origintest.Slow(time.Millisecond, origintest.Hello())); resp.StatusCode != 200 {
		t.Errorf("slow: %d", resp.StatusCode)
	}
	if n, err := io.Copy(io.Discard, get(t, origintest.Blob(1<<20+3)).Body); n != 1<<20+3 || err != nil {
		t.Errorf("blob: %d bytes, %v", n, err)
	}
	resp := get(t, origintest.Events(events))
	events <- "one"
	line, err := bufio.NewReader(resp.Body).ReadString('\n')
	if line != "data: one\n" || err != nil {
		t.Errorf("event: %q, %v: it must arrive before the next one is sent", line, err)
	}
	close(events)
}

func TestTrapSpringsForEveryConnection(t *testing.T) {
	t.Parallel()
	fake := &recorder{TB: t}
	at := origintest.Trap(fake, "127.0.0.1")
	for range 2 {
		conn, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	}
	fake.end()
	if fake.errors != 2 {
		t.Errorf("two connections sprang the trap %d times", fake.errors)
	}

	quiet := &recorder{TB: t}
	origintest.Trap(quiet, "127.0.0.1")
	quiet.end()
	if quiet.errors != 0 {
		t.Error("a trap that nobody touched failed the test")
	}
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	cleanup []func()
	errors  int
}

func (r *recorder) Cleanup(f func())      { r.cleanup = append(r.cleanup, f) }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func (r *recorder) end() {
	for _, f := range r.cleanup {
		f()
	}
}
