package terminal

// Mode says how scripts are judged. The zero value is ModeAllowlist, the
// strictest.
type Mode uint8

// The modes of tools.terminal.sandbox.mode.
const (
	ModeAllowlist Mode = iota // only what a rule allows runs
	ModeBlocklist             // everything runs but what a rule blocks: a seat belt, no boundary
	ModeOff                   // everything runs, and is counted
)

// String returns the mode as it is written in a configuration.
func (m Mode) String() string {
	switch m {
	case ModeAllowlist:
		return "allowlist"
	case ModeBlocklist:
		return "blocklist"
	case ModeOff:
		return "off"
	}
	return "allowlist"
}

// ParseMode returns the mode of that name; false for any other text.
func ParseMode(s string) (Mode, bool) {
	for _, m := range []Mode{ModeAllowlist, ModeBlocklist, ModeOff} {
		if m.String() == s {
			return m, true
		}
	}
	return ModeAllowlist, false
}

// Redirects says which files a script may write by redirection, in allowlist
// mode. Reading a literal file, /dev/null and the duplication of descriptors
// are always permitted, /dev/tcp and /dev/udp never. The zero value permits no
// write.
type Redirects uint8

// The values of tools.terminal.sandbox.redirects.
const (
	RedirectsNone      Redirects = iota // no file is written
	RedirectsWorkspace                  // literal relative paths that stay in the workspace and out of .git, and /tmp
	RedirectsAny                        // any literal path
)

// String returns the value as it is written in a configuration.
func (r Redirects) String() string {
	switch r {
	case RedirectsNone:
		return "none"
	case RedirectsWorkspace:
		return "workspace"
	case RedirectsAny:
		return "any"
	}
	return "none"
}

// ParseRedirects returns the value of that name; false for any other text.
func ParseRedirects(s string) (Redirects, bool) {
	for _, r := range []Redirects{RedirectsNone, RedirectsWorkspace, RedirectsAny} {
		if r.String() == s {
			return r, true
		}
	}
	return RedirectsNone, false
}
