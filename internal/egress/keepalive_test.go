package egress_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// TestEachRequestIsJudged sends requests for several hosts on one connection
// (report P35), one after the other and all at once.
func TestEachRequestIsJudged(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{})
	proxy := serve(t, newWorld())
	good := fmt.Sprintf("http://www.example.com:%d/", origin.Port())
	steps := []struct {
		text   string
		status int
		reason string
	}{
		{get(good), 200, ""},
		{get("http://10.0.0.5/"), 403, "url_private"},
		{"POST " + good + " HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 200, ""},
		{"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", 403, "url_loopback"},
		{"POST " + good + " HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", 200, ""},
		{"CONNECT private.example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n", 403, "url_private"},
		{get("http://nowhere.example.com/"), 502, "dns_failed"},
		{get(good), 200, ""},
	}
	for _, mode := range []string{"one by one", "pipelined"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			wire := proxy.dial(t)
			if mode == "pipelined" {
				for _, s := range steps {
					wire.send(s.text)
				}
			}
			for i, s := range steps {
				if mode != "pipelined" {
					wire.send(s.text)
				}
				resp, body := wire.answer("GET")
				if resp.StatusCode != s.status || resp.Header.Get("X-Toolgate-Reason") != s.reason || resp.Close {
					t.Fatalf("step %d: %s %q, close=%t; want %d %q", i, resp.Status, resp.Header.Get("X-Toolgate-Reason"), resp.Close, s.status, s.reason)
				}
				if s.reason != "" {
					wantRefusal(t, resp, body)
				} else if resp.Status != "200 OK" || body != origintest.Greeting {
					t.Errorf("step %d: %s %q", i, resp.Status, body)
				}
			}
		})
	}
}

// TestNothingRunsAheadOfAnAnswer: a malformed request behind a good one is
// answered after it, and nothing behind it is read.
func TestNothingRunsAheadOfAnAnswer(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	origin := origintest.New(t, origintest.Options{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		_, _ = w.Write([]byte("slow"))
	})})
	proxy := serve(t, newWorld())
	wire := proxy.dial(t)
	target := fmt.Sprintf("http://www.example.com:%d/", origin.Port())
	wire.send(get(target) + "GET / HTTP/1.1\nHost: a\n\n" + get(target))
	eventually(t, "the first request arrives", func() bool { return len(origin.Seen()) == 1 })
	close(release)
	if resp, body := wire.answer("GET"); resp.StatusCode != 200 || body != "slow" {
		t.Errorf("first: %s %q", resp.Status, body)
	}
	resp, body := wire.answer("GET")
	wantRefusal(t, resp, body)
	if resp.StatusCode != 400 || !wire.ended() || len(origin.Seen()) != 1 {
		t.Errorf("second: %s; the origin saw %d requests", resp.Status, len(origin.Seen()))
	}
}

func basic(user, password string) string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

func TestIdentity(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{})
	at := fmt.Sprintf("www.example.com:%d", origin.Port())
	for _, row := range []struct {
		edge   string
		anyone bool
		fields []string
		tool   string
		proven bool
		status int
	}{
		{"no credentials, and somebody for that", true, nil, "fetch_url", false, 200},
		{"no credentials, and nobody for that", false, nil, "", false, 407},
		{"a permit", false, []string{basic("browser_open", "permit")}, "browser_open", true, 200},
		{"a run token proves no tool", false, []string{basic("browser_open", "run")}, "browser_open", false, 200},
		{"a password that is not good does not fall back to anonymous", true, []string{basic("browser_open", "old")}, "", false, 407},
		{"another scheme", true, []string{"Proxy-Authorization: Bearer permit"}, "", false, 407},
		{"not base64", true, []string{"Proxy-Authorization: Basic %%%"}, "", false, 407},
		{"no colon", true, []string{"Proxy-Authorization: Basic cGVybWl0"}, "", false, 407},
		{"two", true, []string{basic("a", "permit"), basic("browser_open", "permit")}, "", false, 407},
		{"the scheme in another case", false, []string{strings.Replace(basic("a", "permit"), "Basic", "bASIC", 1)}, "a", true, 200},
		{"a header does not name the tool", true, []string{"X-Tool-Class: browser", "X-Toolgate-Tool: browser_open"}, "fetch_url", false, 200},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			world := newWorld()
			world.anyone = row.anyone
			proxy := serve(t, world)
			wire := proxy.dial(t)
			for _, text := range []string{"GET http://" + at + "/ HTTP/1.1", "CONNECT " + at + " HTTP/1.1"} {
				method, _, _ := strings.Cut(text, " ")
				wire.send(text + "\r\nHost: a\r\n" + strings.Join(append(row.fields, "", ""), "\r\n"))
				resp, body := wire.answer(method)
				if resp.StatusCode != row.status || resp.StatusCode == 407 && resp.Close {
					t.Fatalf("%s: %s, close=%t", method, resp.Status, resp.Close)
				}
				if row.status == 407 {
					wantRefusal(t, resp, body)
					if got := resp.Header.Get("Proxy-Authenticate"); !strings.HasPrefix(got, `Basic realm="`) {
						t.Errorf("challenge %q", got)
					}
					if asked := world.questions(); len(asked) > 0 {
						t.Errorf("asked %+v for nobody", asked)
					}
					continue
				}
				asked := world.questions()
				req := asked[len(asked)-1]
				if req.Agent != "demo" || req.Tool != row.tool || req.Proven != row.proven {
					t.Errorf("asked for %s/%s, proven=%t", req.Agent, req.Tool, req.Proven)
				}
			}
		})
	}
}

// TestChallengeThenRetry is what git and Chromium do: first without, then with
// credentials, on the same connection (report P12).
func TestChallengeThenRetry(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{})
	world := newWorld()
	world.anyone = false
	wire := serve(t, world).dial(t)
	connect := fmt.Sprintf("CONNECT www.example.com:%d HTTP/1.1\r\nHost: a\r\n", origin.Port())
	wire.send(connect + "\r\n")
	if resp, _ := wire.answer("CONNECT"); resp.StatusCode != 407 {
		t.Fatal(resp.Status)
	}
	wire.send(connect + basic("fetch_url", "permit") + "\r\n\r\n")
	if resp, _ := wire.answer("CONNECT"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	wire.send("GET /in HTTP/1.1\r\nHost: b\r\n\r\n")
	if resp, body := wire.answer("GET"); resp.StatusCode != 200 || body != origintest.Greeting {
		t.Errorf("in the tunnel: %s %q", resp.Status, body)
	}
}

// TestPoolsAreKeptApart: a connection is shared only by requests that agree in
// who asks, for what, and where that was vetted to be.
func TestPoolsAreKeptApart(t *testing.T) {
	t.Parallel()
	one := origintest.New(t, origintest.Options{Addr: "127.1.0.1"})
	world := newWorld()
	proxy := serve(t, world)
	two := origintest.New(t, origintest.Options{Addr: fmt.Sprintf("127.1.0.2:%d", one.Port())})
	loopback := origintest.New(t, origintest.Options{Addr: fmt.Sprintf("127.0.0.3:%d", one.Port())})
	world.host("rebind.example.com", "127.0.0.3")

	browser := proxy.client(t, url.UserPassword("browser_open", "permit"))
	unproven := proxy.client(t, url.UserPassword("browser_open", "run"))
	nobody := proxy.client(t, nil)
	fetch := func(c *http.Client, host string) int {
		t.Helper()
		resp, err := c.Get(one.URL(host, "/"))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b [64]byte
		for err == nil {
			_, err = resp.Body.Read(b[:])
		}
		return resp.StatusCode
	}
	conns := func(want ...int) {
		t.Helper()
		for i, o := range []*origintest.Origin{one, two, loopback} {
			if got := o.Connections(); got != want[i] {
				t.Errorf("origin %d has %d connections, want %d", i+1, got, want[i])
			}
		}
	}
	fetch(nobody, "www.example.com")
	fetch(nobody, "www.example.com")
	conns(1, 0, 0) // the same question: shared
	fetch(browser, "www.example.com")
	fetch(unproven, "www.example.com")
	conns(3, 0, 0) // another tool, and the same tool without proof
	fetch(nobody, "other.example.com")
	conns(4, 0, 0) // another name at the same address

	if fetch(browser, "rebind.example.com") != 200 {
		t.Error("the browser tool may not reach loopback")
	}
	if fetch(unproven, "rebind.example.com") != 403 || fetch(nobody, "rebind.example.com") != 403 {
		t.Error("loopback for somebody who may not")
	}
	conns(4, 0, 1)
	world.host("rebind.example.com", "127.1.0.2")
	if fetch(browser, "rebind.example.com") != 200 || fetch(nobody, "rebind.example.com") != 200 {
		t.Error("the name is public now")
	}
	conns(4, 2, 1) // a changed answer does not ride on the old connection
	world.host("www.example.com", "127.1.0.2", "127.1.0.1")
	fetch(nobody, "www.example.com")
	world.host("www.example.com", "127.1.0.1", "127.1.0.2")
	fetch(nobody, "www.example.com")
	if got := one.Connections() + two.Connections(); got != 7 {
		t.Errorf("%d connections: the order of an answer does not matter, its content does", got)
	}
}

// TestAnAllowWithoutAddresses must not dial.
func TestAnAllowWithoutAddresses(t *testing.T) {
	t.Parallel()
	world := newWorld()
	world.decide = func(*decision.Request) (decision.Decision, bool) {
		return decision.Decision{Effect: decision.Allow, Reason: decision.URLOK}, true
	}
	wire := serve(t, world).dial(t)
	for _, text := range []string{"GET http://www.example.com/", "CONNECT www.example.com:443"} {
		wire.send(text + " HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, body := wire.answer("GET")
		if resp.StatusCode != 500 || resp.Header.Get("X-Toolgate-Reason") != "internal_error" {
			t.Errorf("%s: %s", text, resp.Status)
		}
		wantRefusal(t, resp, body)
	}
}

// TestReportMode: what would be refused is let through on the effect alone.
func TestReportMode(t *testing.T) {
	t.Parallel()
	origin := origintest.New(t, origintest.Options{})
	world := newWorld()
	world.decide = func(*decision.Request) (decision.Decision, bool) {
		return decision.Decision{
			Effect: decision.Allow, Would: true, Reason: decision.HostDenied, Mode: decision.Report,
			Vetted: decision.Vetted{
				Endpoint: decision.Endpoint{Scheme: "http", Host: "denied.example.com", Port: origin.Port()},
				Addrs:    world.hosts["www.example.com"],
			},
		}, true
	}
	wire := serve(t, world).dial(t)
	wire.send("GET http://decoy.example.com/ HTTP/1.1\r\nHost: decoy.example.com\r\n\r\n")
	if resp, _ := wire.answer("GET"); resp.StatusCode != 200 {
		t.Fatal(resp.Status)
	}
	if got, want := origin.Seen()[0].Host, fmt.Sprintf("denied.example.com:%d", origin.Port()); got != want {
		t.Errorf("Host %q, want that of the vetted endpoint %q", got, want)
	}
}
