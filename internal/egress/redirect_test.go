package egress_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/decision"
	"github.com/toolgate/toolgate/internal/egress"
	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// TestRedirects: a redirect goes through as it is, or not at all.
func TestRedirects(t *testing.T) {
	t.Parallel()
	trap := origintest.Trap(t, "127.0.0.1")
	for _, row := range []struct {
		edge, location string
		ok             bool
		judged         string // what the decision point is asked; empty: location
	}{
		{"another public host", "http://other.example.com/x?y#z", true, ""},
		{"to https", "https://www.example.com/", true, ""},
		{"a path", "/login?to=http://127.0.0.1/", true, "http://www.example.com:PORT/login?to=http://127.0.0.1/"},
		{"a relative path", "login", true, "http://www.example.com:PORT/login"},
		{"a query", "?page=a:b", true, "http://www.example.com:PORT/?page=a:b"},
		{"a fragment", "#a", true, "http://www.example.com:PORT/#a"},
		{"nothing", "", true, "http://www.example.com:PORT/"},
		{"letters beyond ASCII in the path", "/ä b", true, "http://www.example.com:PORT/%C3%A4%20b"},
		{"a blank in front of two slashes", "a b//c d", true, "http://www.example.com:PORT/a%20b//c%20d"},
		{"the same scheme", "//other.example.com/", true, "http://other.example.com/"},
		{"loopback", "http://" + trap.String() + "/", false, ""},
		{"loopback without a scheme", "//" + trap.String() + "/", false, "http://" + trap.String() + "/"},
		{"loopback, HTTPS", "https://127.0.0.1/", false, ""},
		{"a name that leads inside", "http://private.example.com/", false, ""},
		{"metadata", "http://169.254.169.254/latest/meta-data/", false, ""},
		{"decimal notation", "http://2130706433/", false, ""},
		{"IPv6 loopback", "http://[::1]/", false, ""},
		{"user information", "http://www.example.com@127.0.0.1/", false, ""},
		{"a file", "file:///etc/passwd", false, ""},
		{"another scheme", "gopher://127.0.0.1:6379/_x", false, ""},
		{"a script", "javascript:alert(1)", false, ""},
		{"one slash, relative to some and a host to others", "http:/127.0.0.1/", false, ""},
		{"a backslash, which browsers take for a slash", `/\127.0.0.1/`, false, "-"},
		{"two backslashes", `\\127.0.0.1/`, false, "-"},
		{"a backslash behind the host", `http://127.0.0.1\@www.example.com/`, false, "-"},
		{"a tab, which browsers drop", "/\t/127.0.0.1/", false, "-"},
		{"blanks around it", " http://127.0.0.1/ ", false, "http://127.0.0.1/"},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			for _, code := range []int{301, 302, 303, 307, 308, 300} {
				port := rawOrigin(t, says(fmt.Sprintf("HTTP/1.1 %d Moved\r\nLocation: %s\r\nContent-Length: 4\r\n\r\nbody", code, row.location)))
				world := newWorld()
				wire := serve(t, world).dial(t)
				wire.send(get(fmt.Sprintf("http://www.example.com:%d/from/here", port)))
				resp, body := wire.answer("GET")
				if !row.ok {
					wantRefusal(t, resp, body)
					if resp.StatusCode != 403 || resp.Header.Get("X-Toolgate-Reason") != "url_redirect" || resp.Header.Get("Location") != "" {
						t.Errorf("%d: %s %v", code, resp.Status, resp.Header)
					}
					if strings.Contains(body, "127.0.0.1") || strings.Contains(body, "10.9.8.7") {
						t.Errorf("%d: the answer tells the address: %s", code, body)
					}
				} else if resp.StatusCode != code || body != "body" || resp.Header.Get("Location") != row.location {
					t.Errorf("%d: %s %q %q", code, resp.Status, resp.Header.Get("Location"), body)
				}
				judged := strings.ReplaceAll(row.judged, "PORT", fmt.Sprint(port))
				if judged == "" && row.location != "" {
					judged = row.location
				}
				world.mu.Lock()
				last := world.asked[len(world.asked)-1]
				if judged != "-" && (last.From == nil || last.From.Host != "www.example.com" || last.From.Port != uint16(port) || last.Resource.ID != judged) {
					t.Errorf("asked %q from %v, want %q", last.Resource.ID, last.From, judged)
				}
				world.mu.Unlock()
			}
		})
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		edge, field string
		ok          bool
	}{
		{"the same page again", "5", true},
		{"a public page", "0; url=http://other.example.com/", true},
		{"a path", "0;URL='/next'", true},
		{"loopback", "0; url=http://127.0.0.1/", false},
		{"loopback in quotes", `0; URL = "http://127.0.0.1/"x`, false},
		{"loopback with a comma", "0, url=http://127.0.0.1/", false},
		{"loopback without the word url", "0; http://127.0.0.1/", false},
		{"loopback behind a blank only", "0 http://127.0.0.1/", false},
		{"loopback without a time", "; url=http://127.0.0.1/", false},
		{"a fraction of a second", "0.5; url=//127.0.0.1/", false},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			port := rawOrigin(t, says("HTTP/1.1 200 OK\r\nRefresh: "+row.field+"\r\nContent-Length: 4\r\n\r\nbody"))
			wire := serve(t, newWorld()).dial(t)
			wire.send(get(fmt.Sprintf("http://www.example.com:%d/", port)))
			if resp, _ := wire.answer("GET"); (resp.StatusCode == 200) != row.ok || !row.ok && resp.Header.Get("X-Toolgate-Reason") != "url_redirect" {
				t.Errorf("%s", resp.Status)
			}
		})
	}
}

func TestTwoLocations(t *testing.T) {
	t.Parallel()
	port := rawOrigin(t, says("HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: http://127.0.0.1/\r\nContent-Length: 0\r\n\r\n"))
	wire := serve(t, newWorld()).dial(t)
	wire.send(get(fmt.Sprintf("http://www.example.com:%d/", port)))
	if resp, _ := wire.answer("GET"); resp.StatusCode != 403 {
		t.Errorf("%s: the second Location was not judged", resp.Status)
	}
}

// FuzzRedirect looks for a Location whose authority is read differently by the
// code that resolves it and by net/http, which clients of ours use.
func FuzzRedirect(f *testing.F) {
	for _, s := range []string{
		"", "/a", "a?b#c", "//h/x", "http://h/x", "http:/h", "http:h", `/\h`, "/\t/h", "?a:b", "//u@h:1/", "HTTP://H", "//[::1]/", "///h", "/ä",
	} {
		f.Add(s)
	}
	base := decision.Endpoint{Scheme: "http", Host: "base.example.com", Port: 8080}
	f.Fuzz(func(t *testing.T, ref string) {
		got, ok := egress.Resolve(base, ref)
		if !ok {
			return
		}
		resp := &http.Response{
			Header:  http.Header{"Location": {strings.Trim(ref, " \t")}},
			Request: &http.Request{URL: mustParse(t, "http://base.example.com:8080/dir/page")},
		}
		theirs, err := resp.Location()
		if err != nil || strings.Trim(ref, " \t") == "" {
			return // a client of ours does not follow
		}
		ours, err := theirs.Parse(got)
		if err != nil || ours.Host == "" {
			return // the decision point refuses what it cannot read
		}
		if !strings.EqualFold(ours.Host, theirs.Host) || ours.Scheme != theirs.Scheme {
			t.Errorf("%q: judged %q, but followed to %q", ref, got, theirs)
		}
	})
}
