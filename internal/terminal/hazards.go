package terminal

import "strings"

// sshSafe are the keys of ssh -o that neither run a program nor read a file
// that could (ssh_config(5)), in lower case.
const sshSafe = " addressfamily batchmode bindaddress checkhostip ciphers compression connectionattempts connecttimeout " +
	"forwardx11 hashknownhosts hostkeyalgorithms identitiesonly kexalgorithms loglevel macs numberofpasswordprompts passwordauthentication " +
	"port preferredauthentications pubkeyauthentication requesttty serveralivecountmax serveraliveinterval stricthostkeychecking tcpkeepalive user visualhostkey "

// sshHazards looks at the options of ssh before the host name.
func sshHazards(c *command, h *hazard) {
	for i := 1; i < len(c.args); i++ {
		a := &c.args[i]
		if a.unknownOption() {
			h.unclear(a)
			return
		}
		if len(a.text) < 2 || a.text[0] != '-' {
			return // the host; what follows runs there
		}
		for j := 1; j < len(a.text); j++ {
			f := a.text[j]
			if strings.IndexByte("FEISPQ", f) >= 0 {
				h.add(a.String(), min(i+1, len(c.args)-1))
			}
			if strings.IndexByte("BbcDeFEIiJLlmOoPpQRSWw", f) < 0 {
				continue
			}
			value := arg{text: a.text[j+1:], known: a.known}
			if value.text == "" && i+1 < len(c.args) {
				i++
				value = c.args[i]
			}
			if f == 'o' {
				key, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(value.text), " ", "="), "=")
				if key == "" || !strings.Contains(sshSafe, " "+strings.ToLower(key)+" ") {
					h.add(value.String(), i)
				}
			}
			break
		}
	}
}

// goHazards looks at options of go that hand a program to the linker.
func goHazards(c *command, h *hazard) {
	for i := range c.args[1:] {
		a := &c.args[i+1]
		before := strings.TrimLeft(c.args[i].text, "-") == "ldflags"
		if !before && !strings.HasPrefix(strings.TrimLeft(a.text, "-"), "ldflags=") {
			continue
		}
		if strings.Contains(a.text, "-ext") || strings.Contains(a.text, "-linkmode") {
			h.add(a.String(), i+1)
		} else if !a.known {
			h.unclear(a)
		}
	}
	if len(c.args) > 2 && c.args[1].is("env") && (c.args[2].is("-w") || c.args[2].is("-u")) {
		h.add(c.args[2].text, 2)
	}
}

// makeHazards looks for a makefile on standard input, and for variables whose
// value make expands.
func makeHazards(c *command, h *hazard) {
	for i := range c.args[1:] {
		a := &c.args[i+1]
		switch {
		case strings.Contains(a.text, "=") && !strings.HasPrefix(a.text, "-") && (!a.known || strings.Contains(a.text, "$")):
			h.add(a.String(), i+1)
		case a.is("-f-"), strings.HasPrefix(a.text, "-f/dev/"):
			h.add(a.text, i+1)
		case a.is("-f") && i+2 < len(c.args):
			if file := &c.args[i+2]; !file.known {
				h.unclear(file)
			} else if isStdin(file) {
				h.add(a.text, i+2)
			}
		}
	}
}

// tarHazards looks for an archive on another host, which tar reaches by rsh.
func tarHazards(c *command, h *hazard) {
	for i := 2; i < len(c.args); i++ {
		option := c.args[i-1].text
		file := i == 2 || strings.HasPrefix(option, "-") && !strings.HasPrefix(option, "--")
		if file && strings.Contains(option, "f") && strings.Contains(c.args[i].text, ":") {
			h.add(c.args[i].String(), i)
		}
	}
}

// zipHazards looks for -TT in a cluster, where the general scan does not look.
func zipHazards(c *command, h *hazard) {
	for i := range c.args[1:] {
		a := &c.args[i+1]
		if strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--") && strings.Contains(a.text, "TT") {
			h.add(a.String(), min(i+2, len(c.args)-1))
		}
	}
}

// sqliteHazards looks for dot-commands, which run programs and write files.
func sqliteHazards(c *command, h *hazard) {
	for i := range c.args[1:] {
		a := &c.args[i+1]
		text := strings.TrimSpace(a.text)
		lower := strings.ToLower(text)
		if strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "./") && !strings.HasPrefix(text, "../") ||
			strings.Contains(lower, "load_extension") || strings.Contains(lower, "writefile") || strings.Contains(lower, "edit(") {
			h.add(a.String(), i+1)
		}
	}
}
