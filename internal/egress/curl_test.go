package egress_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/toolgate/toolgate/internal/testkit/origintest"
)

// needs returns a program. In CI it must be there.
func needs(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is needed: %v", name, err)
		}
		t.Skipf("%s is not here", name)
	}
	return path
}

// TestCurl is what a person sees.
func TestCurl(t *testing.T) {
	t.Parallel()
	curl := needs(t, "curl")
	ca := origintest.NewCA(t)
	plain := origintest.New(t, origintest.Options{})
	secure := origintest.New(t, origintest.Options{TLS: ca, Names: []string{"www.example.com"}})
	bounce := origintest.New(t, origintest.Options{Handler: origintest.Redirect(302, "http://127.0.0.1/")})
	refresh := origintest.New(t, origintest.Options{Handler: origintest.Refresh("http://10.0.0.1/")})
	pem := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(pem, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := serve(t, newWorld())
	for _, row := range []struct {
		edge string
		args []string
		want []string
	}{
		{"plain HTTP", []string{plain.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/000"}},
		{"TLS in a tunnel", []string{"--cacert", pem, secure.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/200"}},
		{"plain HTTP in a tunnel (report P01)", []string{"-p", plain.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/200"}},
		{"HTTP/1.0", []string{"-0", plain.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/000"}},
		{"CONNECT in HTTP/1.0", []string{"--proxy1.0", "PROXY", "-p", plain.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/200"}},
		{"h2c goes on as HTTP/1.1", []string{"--http2", plain.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/000", "proto=1.1"}},
		{"an upload", []string{"-d", "a=b", plain.URL("www.example.com", "/")}, []string{origintest.Greeting, "200/000"}},
		{"loopback", []string{"http://127.0.0.1/"}, []string{"403/000", "Forbidden (toolgate: url_loopback)", `"final":true`}},
		{"a tunnel to loopback", []string{"https://127.0.0.1/"}, []string{"000/403", "Forbidden (toolgate: url_loopback)"}},
		{"a tunnel to a name that leads inside", []string{"https://private.example.com/"}, []string{"000/403", "Forbidden (toolgate: url_private)"}},
		{"a name that does not exist", []string{"https://nowhere.example.com/"}, []string{"000/502", "Bad Gateway (toolgate: dns_failed)"}},
		{"a redirect inside, followed", []string{"-L", bounce.URL("www.example.com", "/")}, []string{"403/000", "url_redirect"}},
		{"a refresh inside", []string{refresh.URL("www.example.com", "/")}, []string{"403/000", "url_redirect"}},
		{"credentials that are not good", []string{"--proxy-user", "browser_open:old", plain.URL("www.example.com", "/")}, []string{"407/000"}},
		{"credentials", []string{"--proxy-user", "browser_open:permit", "--proxy-anyauth", plain.URL("www.example.com", "/")}, []string{"200/000"}},
	} {
		t.Run(row.edge, func(t *testing.T) {
			t.Parallel()
			args := []string{
				"-sSv", "--max-time", "20", "--noproxy", "", "-x", "http://" + proxy.addr,
				"-w", "\n%{http_code}/%{http_connect} proto=%{http_version}\n",
			}
			for _, a := range row.args {
				args = append(args, strings.ReplaceAll(a, "PROXY", proxy.addr))
			}
			cmd := exec.CommandContext(t.Context(), curl, args...)
			cmd.Env = []string{"HOME=" + t.TempDir()}
			out, _ := cmd.CombinedOutput()
			for _, want := range row.want {
				if !strings.Contains(string(out), want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
		})
	}
	t.Cleanup(func() {
		for _, r := range plain.Seen() {
			if r.Header.Get("Upgrade") != "" || r.Header.Get("Http2-Settings") != "" || r.Header.Get("Proxy-Connection") != "" {
				t.Errorf("the origin saw %v", r.Header)
			}
		}
	})
}

// TestPython: urllib sends CONNECT as HTTP/1.0 without a Host field (report
// P38), and keeps the reason phrase.
func TestPython(t *testing.T) {
	t.Parallel()
	python := needs(t, "python3")
	ca := origintest.NewCA(t)
	secure := origintest.New(t, origintest.Options{TLS: ca, Names: []string{"www.example.com"}})
	pem := t.TempDir() + "/ca.pem"
	if err := os.WriteFile(pem, ca.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	proxy := serve(t, newWorld())
	script := `
import ssl, sys, urllib.request
proxy, pem, good, bad = sys.argv[1:]
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({"http": proxy, "https": proxy}),
    urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=pem)))
print(opener.open(good, timeout=20).read().decode())
try:
    opener.open(bad, timeout=20)
except Exception as e:
    print(e)
`
	cmd := exec.CommandContext(t.Context(), python, "-I", "-c", script,
		"http://fetch_url:permit@"+proxy.addr, pem, secure.URL("www.example.com", "/"), "https://127.0.0.1/")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), origintest.Greeting) ||
		!strings.Contains(string(out), "403 Forbidden (toolgate: url_loopback)") {
		t.Errorf("%v\n%s", err, out)
	}
}
