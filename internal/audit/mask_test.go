package audit_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/toolgate/toolgate/internal/audit"
)

func masks() map[string][2]string {
	return map[string][2]string{
		"nothing secret":               {"https://example.com/a?page=2&sort=name#top", "https://example.com/a?page=2&sort=name#top"},
		"user and password in a URL":   {"https://bob:hunter2@example.com/x", "https://***@example.com/x"},
		"user only in a URL":           {"https://ghp_abc@github.com/x.git", "https://***@github.com/x.git"},
		"user and password of CONNECT": {"bob:hunter2@example.com:443", "***@example.com:443"},
		"behind a scheme cut short":    {"http:bob:hunter2@example.com/x", "***@example.com/x"},
		"without a scheme, in a word":  {"curl bob:hunter2@example.com/x", "curl ***@example.com/x"},
		"a user alone":                 {"git clone git@example.com:a/b.git", "git clone git@example.com:a/b.git"},
		"an at sign behind the path":   {"https://example.com:80/a@b", "https://example.com:80/a@b"},
		"a session in the path":        {"https://example.com/a;jsessionid=abc", "https://example.com/a;jsessionid=***"},
		"an at sign in the password":   {"https://bob:hun@ter2@example.com/", "https://***@example.com/"},
		"an at sign in the path":       {"https://example.com/@scope/pkg", "https://example.com/@scope/pkg"},
		"an at sign in the query":      {"https://example.com?to=a@b.c", "https://example.com?to=a@b.c"},
		"a query token":                {"https://example.com/?token=abc&x=1", "https://example.com/?token=***&x=1"},
		"an access token in fragment":  {"https://example.com/#access_token=abc&x=1", "https://example.com/#access_token=***&x=1"},
		"an API key":                   {"https://example.com/?x=1&api_key=abc", "https://example.com/?x=1&api_key=***"},
		"a plain key":                  {"https://example.com/?key=abc", "https://example.com/?key=***"},
		"an OAuth code":                {"https://example.com/cb?code=abc&state=x", "https://example.com/cb?code=***&state=x"},
		"a signed URL":                 {"https://s3.example/o?X-Amz-Signature=abc&X-Amz-Date=1", "https://s3.example/o?X-Amz-Signature=***&X-Amz-Date=1"},
		"an Azure signature":           {"https://b.example/o?sv=1&sig=abc%3D", "https://b.example/o?sv=1&sig=***"},
		"in capitals":                  {"https://example.com/?PASSWORD=abc", "https://example.com/?PASSWORD=***"},
		"an empty value":               {"https://example.com/?token=&x=1", "https://example.com/?token=&x=1"},
		"a header in single quotes":    {"curl -H 'Authorization: Bearer abc.def' https://x/", "curl -H 'Authorization: ***' https://x/"},
		"a header in double quotes":    {`curl -H "X-Api-Key: abc" https://x/`, `curl -H "X-Api-Key: ***" https://x/`},
		"a cookie":                     {"curl -H 'Cookie: a=1; b=2' x", "curl -H 'Cookie: ***' x"},
		"a header without quotes":      {"Authorization: Basic YTpi", "Authorization: ***"},
		"a bearer alone":               {"send bearer abc now", "send bearer *** now"},
		"an option with =":             {"mysql --password=hunter2 -h db", "mysql --password=*** -h db"},
		"an option with a blank":       {"tool --api-key abc --verbose", "tool --api-key *** --verbose"},
		"an option without a value":    {"tool --password --verbose", "tool --password --verbose"},
		"an option in quotes":          {`tool --secret "a b" x`, `tool --secret "***" x`},
		"curl's user":                  {"curl -u bob:hunter2 https://x/", "curl -u bob:*** https://x/"},
		"sort's -u":                    {"sort -u names.txt", "sort -u names.txt"},
		"a variable":                   {"GITHUB_TOKEN=abc gh pr list", "GITHUB_TOKEN=*** gh pr list"},
		"an exported variable":         {`export AWS_SECRET_ACCESS_KEY="a b c"; ls`, `export AWS_SECRET_ACCESS_KEY="***"; ls`},
		"a password without a line":    {"PGPASSWORD=x psql", "PGPASSWORD=*** psql"},
		"JSON":                         {`{"password":"hun\"ter2","n":1}`, `{"password":"***","n":1}`},
		"JSON with a blank":            {`{"client_secret": "abc"}`, `{"client_secret": "***"}`},
		"the word alone":               {"grep token main.go", "grep token main.go"},
		"many tokens":                  {"--max-tokens=5", "--max-tokens=5"},
		"a keyboard":                   {"keyboard=us monkey=1", "keyboard=us monkey=1"},
		"at the very end":              {"token=", "token="},
		"nothing":                      {"", ""},
	}
}

func TestMask(t *testing.T) {
	t.Parallel()
	for name, row := range masks() {
		if got := string(audit.Mask(nil, row[0])); got != row[1] {
			t.Errorf("%s: %q becomes %q, want %q", name, row[0], got, row[1])
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, row := range masks() {
		f.Add(row[0])
	}
	f.Add("\x1b]0;owned\x07 \u202e token=\xff")
	f.Fuzz(func(t *testing.T, text string) {
		masked := string(audit.Mask(nil, text))
		if len(masked) > 8*len(text)+8 {
			t.Fatalf("%d bytes became %d", len(text), len(masked))
		}
		line := audit.AppendJSON(nil, masked, 64)
		var back string
		if err := json.Unmarshal(line, &back); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		for _, r := range string(line) {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q holds %U", line, r)
			}
		}
		want := strings.ToValidUTF8(masked, "\uFFFD")
		if len(masked) <= 64 && utf8.ValidString(masked) && back != want {
			t.Fatalf("%q reads back as %q", masked, back)
		}
		if len(back) > 3*64+len("…") {
			t.Fatalf("%d bytes are let through", len(back))
		}
		secret := audit.Mask(nil, "x --password=s3cr3t "+text)
		if strings.Contains(string(secret[:min(len(secret), 20)]), "s3cr3t") {
			t.Fatalf("a password before %q is shown: %q", text, secret)
		}
	})
}
