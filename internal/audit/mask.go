package audit

import "strings"

// mask stands for a secret.
const mask = "***"

// Mask appends text to dst with the secrets in it replaced by "***". It knows
// them by what stands before them, in URLs, commands, headers and JSON alike:
//
//   - the user information of a URL, and what looks like it where a URL lost
//     its scheme: user:password@host,
//   - the value of a name that says it is secret: ?token=…, API_KEY=…,
//     --password=…, --password …, "secret": "…", Set-Cookie: …,
//   - the credentials after Authorization:, Bearer and Basic,
//   - the password in curl's -u user:password.
//
// It reads the text once from left to right and gives a little more away for
// secret than is: a log with a hole is better than one with a password.
func Mask(dst []byte, text string) []byte {
	at := strings.IndexByte(text, '@') >= 0
	for i := 0; i < len(text); {
		if at && (i == 0 || text[i-1] == ' ') {
			if n := credentials(text[i:]); n > 0 {
				dst = append(dst, mask...)
				i += n
				continue
			}
		}
		if !isWord(text[i]) {
			if n := userinfo(text, i); n > 0 {
				dst = append(dst, "//"+mask...)
				i += n
				continue
			}
			dst = append(dst, text[i])
			i++
			continue
		}
		end := i + 1
		for end < len(text) && isWord(text[end]) {
			end++
		}
		word := text[i:end]
		dst = append(dst, word...)
		from, to := secretAfter(text, word, i, end)
		if to > from {
			dst = append(dst, text[end:from]...)
			dst = append(dst, mask...)
			end = to
		}
		i = end
	}
	return dst
}

// isWord reports whether c may be part of a name of a parameter, a variable, a
// header or an option.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// credentials returns how many bytes of text, up to an @ that is not counted,
// are user:password; 0 if that is not so. A user alone (git@host:path, an
// address) is no secret.
func credentials(text string) int {
	if end := strings.IndexAny(text, "/\\?# \t\r\n\"'<>"); end >= 0 {
		text = text[:end]
	}
	at := strings.LastIndexByte(text, '@')
	if at < 0 || strings.IndexByte(text[:at], ':') < 0 {
		return 0
	}
	return at
}

// userinfo returns how many bytes of text from i are "//" and the user
// information of a URL up to its @, which is not counted; 0 if that is not so.
func userinfo(text string, i int) int {
	if !strings.HasPrefix(text[i:], "//") {
		return 0
	}
	rest := text[i+2:]
	if end := strings.IndexAny(rest, "/\\?# \t\r\n\"'<>"); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return 0
	}
	return 2 + at
}

// secretAfter returns where the secret that word announces begins and ends. It
// is empty when word announces none.
func secretAfter(text, word string, start, end int) (from, to int) {
	if end == len(text) {
		return end, end
	}
	lower := word
	if hasUpper(word) {
		lower = strings.ToLower(word)
	}
	switch lower {
	case "bearer", "basic":
		if text[end] == ' ' {
			from = skipBlanks(text, end)
			return from, value(text, from, 0)
		}
	case "-u", "--user", "--proxy-user":
		return userOption(text, end)
	}
	if !isSecret(lower) {
		return end, end
	}
	from = end
	if from < len(text) && (text[from] == '"' || text[from] == '\'') { // a quoted name: JSON
		from++
	}
	from = skipBlanks(text, from)
	switch {
	case from < len(text) && (text[from] == '=' || text[from] == ':'):
		sep := text[from]
		from = skipBlanks(text, from+1)
		if sep == '=' && from > end+1 && text[from-1] == ' ' {
			return end, end // NAME= with nothing behind it
		}
		return assigned(text, lower, sep, start, from)
	case strings.HasPrefix(word, "-") && text[end] == ' ':
		from = skipBlanks(text, end)
		if from < len(text) && text[from] != '-' {
			return quoted(text, from)
		}
	}
	return end, end
}

// assigned returns the value that begins at from, after = or a colon.
func assigned(text, name string, sep byte, start, from int) (int, int) {
	if from < len(text) && (text[from] == '"' || text[from] == '\'') {
		return quoted(text, from)
	}
	if sep == ':' && (isHeader(name) || strings.Contains(name, "-")) {
		// A header: all of its value, up to the quote around it or the end.
		stop := byte(0)
		if start > 0 && (text[start-1] == '"' || text[start-1] == '\'') {
			stop = text[start-1]
		}
		for to := from; to < len(text); to++ {
			if text[to] == '\n' || text[to] == '\r' || stop != 0 && text[to] == stop {
				return from, to
			}
		}
		return from, len(text)
	}
	return from, value(text, from, 0)
}

// isHeader reports whether name is a header whose value has several words.
func isHeader(name string) bool {
	return name == "authorization" || name == "cookie" || name == "set-cookie"
}

// quoted returns the value that begins at from, without the quotes around it.
func quoted(text string, from int) (int, int) {
	if from < len(text) && (text[from] == '"' || text[from] == '\'') {
		return from + 1, value(text, from+1, text[from])
	}
	return from, value(text, from, 0)
}

// value returns where a value that begins at from ends: at its closing quote
// or, without one, where a parameter or a shell word ends.
func value(text string, from int, quote byte) int {
	for to := from; to < len(text); to++ {
		c := text[to]
		if quote != 0 {
			if c == quote {
				return to
			}
			if c == '\\' {
				to++
			}
			continue
		}
		if c <= ' ' || strings.IndexByte("&#;|\"'`,<>(){}[]", c) >= 0 {
			return to
		}
	}
	return len(text)
}

// userOption returns the password of user:password.
func userOption(text string, end int) (from, to int) {
	from = skipBlanks(text, end)
	if from == end {
		return end, end
	}
	first, last := quoted(text, from)
	colon := strings.IndexByte(text[first:last], ':')
	if colon < 0 {
		return end, end
	}
	return first + colon + 1, last
}

func skipBlanks(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t') {
		i++
	}
	return i
}

func hasUpper(s string) bool {
	for i := range len(s) {
		if s[i] >= 'A' && s[i] <= 'Z' {
			return true
		}
	}
	return false
}

// isSecret reports whether a name, in lower case, says that its value is
// secret. Names are known by their end, so that names with a prefix are known
// too (X-Amz-Signature, GITHUB_TOKEN, client_secret, PGPASSWORD).
func isSecret(name string) bool {
	for _, end := range [...]string{
		"token", "secret", "password", "passwd", "passphrase", "signature", "apikey", "credential", "credentials",
		"authorization", "cookie", "assertion", "pwd",
	} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	last := name
	if cut := strings.LastIndexAny(name, "_-."); cut >= 0 {
		last = name[cut+1:]
	}
	switch last {
	case "key", "auth", "sig", "pass", "jwt", "otp", "pin":
		return true
	}
	return name == "code" || name == "auth_code" || name == "authorization_code" || name == "sessionid" || name == "jsessionid" || name == "phpsessid" || name == "sid"
}
