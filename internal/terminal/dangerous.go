package terminal

import (
	"slices"
	"strings"
)

// dangerous reports whether a variable changes what the shell or a common
// program runs, reads at start, or connects to. No list of such names is
// complete; a name for one command is therefore permitted only by env_allow,
// and this list bounds what a script may set for itself or export.
func dangerous(name string) bool {
	if slices.Contains(dangerousNames[:], name) {
		return true
	}
	for _, p := range dangerousPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	if strings.HasSuffix(name, "_proxy") {
		return true
	}
	// A convention of programs that take options, helpers or code from the
	// environment. Names with small letters are variables of scripts.
	if name != strings.ToUpper(name) {
		return false
	}
	for _, s := range dangerousSuffixes {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

// Bash Reference Manual, section 5, ld.so(8), environ(7), and the manuals of
// the programs.
//
//nolint:gochecknoglobals // a constant table
var dangerousNames = [...]string{
	"ALL_PROXY", "AR", "AS", "BASHOPTS", "BASHPID", "BROWSER", "CC", "CDPATH", "CLASSPATH", "COMPREPLY", "COPROC",
	"CPP", "CXX", "DIRSTACK", "DISPLAY", "EDITOR", "ENV", "EPOCHREALTIME", "EPOCHSECONDS", "EUID", "EXECIGNORE",
	"FC", "FCEDIT", "FIGNORE", "FTP_PROXY", "FUNCNAME", "FUNCNEST", "GLOBIGNORE", "GROUPS", "HISTCMD", "HISTCONTROL",
	"HISTFILE", "HISTFILESIZE", "HISTIGNORE", "HISTSIZE", "HISTTIMEFORMAT", "HOME", "HOSTALIASES", "HOSTFILE",
	"HTTPS_PROXY", "HTTP_PROXY", "IFS", "IGNOREEOF", "INPUTRC", "LD", "LINENO", "LOCALDOMAIN", "LOCPATH", "LOGNAME",
	"MAIL", "MAILCHECK", "MAILPATH", "MANPATH", "MAPFILE", "NLSPATH", "NO_PROXY", "OLDPWD", "OPTARG", "OPTERR",
	"OPTIND", "PAGER", "PATH", "PERLLIB", "PIPESTATUS", "POSIXLY_CORRECT", "PPID", "PROMPT_COMMAND", "PROMPT_DIRTRIM",
	"PS0", "PS1", "PS2", "PS3", "PS4", "PWD", "RANDOM", "RES_OPTIONS", "RSYNC_RSH", "SECONDS", "SHELL", "SHELLOPTS",
	"SHLVL", "SRANDOM", "SUDO_ASKPASS", "TEXTDOMAIN", "TEXTDOMAINDIR", "TIMEFORMAT", "TMOUT", "TMPDIR", "UID",
	"USER", "VISUAL", "XAUTHORITY", "ZDOTDIR", "_",
}

//nolint:gochecknoglobals // a constant table
var dangerousPrefixes = [...]string{
	"ANSIBLE_", "AWK", "BASH_", "BUN_", "BUNDLE_", "BYOBU", "CARGO_", "CGO_", "COMP_", "CONDA_", "CURL_", "DENO_", "DOCKER_",
	"DOTNET_", "DYLD_", "ELECTRON_", "EMACS", "FZF_", "GCC_", "GCONV_", "GDB", "GEM_", "GETCONF_", "GH_", "GHC", "GIT_",
	"GLIBC_", "GO", "GPG_", "GRADLE_", "GREP_", "GUILE_", "HELM_", "JAVA_", "JDK_", "JULIA_", "KRB5", "KUBE",
	"LD_", "LESS", "LUA_", "LUA5", "MAKE", "MALLOC_", "MANPAGER", "MAVEN_", "MFLAGS", "MYSQL_", "NETRC", "NODE_",
	"NPM_", "NVM_", "OPENSSL_", "PERL", "PGS", "PHP", "PIP_", "PKG_CONFIG", "PS4", "PSQL", "PYENV_", "PYTEST_",
	"PYTHON", "READLINE_", "RIPGREP_", "R_", "RUBY", "RUSTC", "RUSTDOC", "RUSTUP_", "SCREEN", "SSH_", "SSL_", "SVN_", "SYSTEMD_",
	"TAR_", "TCL", "TERMINFO", "TMUX", "UV_", "VAGRANT_", "VIM", "VIRTUAL_ENV", "WGETRC", "XDG_", "YARN_", "ZIP", "UNZIP", "_JAVA_", "npm_",
}

//nolint:gochecknoglobals // a constant table
var dangerousSuffixes = [...]string{
	"_ARGS", "_ASKPASS", "_BIN", "_CMD", "_COMMAND", "_CONFIG", "_DIR", "_EDITOR", "_EXEC", "_FILE", "_FLAGS",
	"FLAGS", "_HOME", "_HOOK", "_HOST", "_INIT", "_LIBRARY", "OPTIONS", "_OPT", "OPTS", "PAGER", "PATH", "_PRELOAD",
	"_PROGRAM", "_PROXY", "_RC", "RC", "_ROOT", "_RSH", "_SHELL", "_STARTUP", "_WRAPPER",
}
