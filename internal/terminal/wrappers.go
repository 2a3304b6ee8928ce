package terminal

import "strings"

// wrapper describes a program that runs the command in its arguments, by the
// options that stand before that command. An option that is not listed makes
// the command unknown. Options end at the first operand unless permuted is set.
type wrapper struct {
	flags  string // one-letter options without a value
	values string // one-letter options with a value, attached or in the next word
	// attached are one-letter options whose value, if any, is attached.
	attached string
	long     string // long options between blanks; "name=" takes a value
	operands int    // words before the command: a duration, a lock file
	assigns  bool   // NAME=value may stand before the command
	number   bool   // -5 is an option
	// own says that it does more than run the command, so that it needs a rule
	// of its own too.
	own bool
	// traces says that its -o may name a command to pipe to.
	traces bool
	// bareOnly says that its options load code.
	bareOnly bool
	// alone says that it may stand without a command.
	alone bool
	// code is the letter of the option whose value is a script for sh.
	code     byte
	longCode string
	permuted bool // options may follow operands: su user -c code
	joined   bool // the words are joined to a script for sh
	more     bool // words that are not known follow the command
	split    byte // the option whose value is split into words: env -S
}

// wrapperNamed finds the description of a program.
func wrapperNamed(base string) *wrapper {
	if strings.HasPrefix(base, "ld-linux") || strings.HasPrefix(base, "ld-musl") || strings.HasPrefix(base, "ld-") && strings.Contains(base, ".so") {
		base = "ld.so"
	}
	return wrappers[base]
}

// wrappers are described by their manuals: POSIX.1-2024, GNU coreutils,
// findutils, util-linux, procps, sudo, busybox, strace.
//
//nolint:gochecknoglobals // a constant table
var wrappers = map[string]*wrapper{
	"builtin": {},
	"command": {flags: "p", alone: true},
	"exec":    {flags: "cl", values: "a", alone: true},

	"env": {
		flags: "i0v", values: "uCa", split: 'S', assigns: true, alone: true,
		long: " ignore-environment null debug unset= chdir= argv0= split-string= block-signal default-signal ignore-signal list-signal-handling ",
	},
	"nice":    {values: "n", number: true, long: " adjustment= ", alone: true},
	"nohup":   {},
	"timeout": {flags: "fpv", values: "ks", operands: 1, long: " foreground preserve-status verbose kill-after= signal= "},
	"setsid":  {flags: "cfw", long: " ctty fork wait "},
	"stdbuf":  {values: "ioe", long: " input= output= error= "},
	"ionice":  {flags: "t", values: "cn", long: " class= classdata= ignore "},
	"chrt":    {flags: "abdfiorRv", values: "TPD", operands: 1, long: " batch deadline fifo idle other rr all-tasks reset-on-fork verbose sched-runtime= sched-period= sched-deadline= "},
	"taskset": {flags: "ac", operands: 1, long: " all-tasks cpu-list "},
	"time":    {flags: "pvq", values: "f", long: " portability verbose quiet format= "},
	"numactl": {flags: "l", values: "NCmiP", long: " localalloc cpunodebind= physcpubind= membind= interleave= preferred= "},
	"prlimit": {attached: "cdefilmnqrstuvxy", long: " core data nice fsize memlock nofile nproc rss stack cpu as "},
	"noglob":  {}, "nocorrect": {}, // of zsh
	"catchsegv": {},
	"eatmydata": {},
	"rlwrap":    {flags: "aAcEiIrRnNpv", values: "bCDefgHlmMoOPqsSwzt", own: true},
	"unbuffer":  {flags: "p"},
	"linux32":   {flags: "vR"},
	"linux64":   {flags: "vR"},
	"setarch":   {flags: "vR3BFILSTXZ", operands: 1},
	"fakeroot":  {own: true},
	"faketime":  {flags: "m", values: "f", operands: 1},
	"tini":      {flags: "swgvl", values: "pe"},
	"dumb-init": {flags: "cvq", values: "r"},
	"cpulimit":  {flags: "izv", values: "lL", own: true},

	"sudo": {
		flags: "bBEHknNPS", values: "CDghprRtTuU", assigns: true, own: true,
		long: " background bell preserve-env set-home reset-timestamp non-interactive no-update preserve-groups stdin close-from= chdir= group= host= prompt= chroot= role= type= command-timeout= user= ",
	},
	"doas":     {flags: "Ln", values: "Cu", own: true},
	"su":       {flags: "flmpP", values: "gGw", operands: 1, code: 'c', longCode: "command", permuted: true, own: true, long: " login preserve-environment pty fast group= supp-group= whitelist-environment= "},
	"runuser":  {flags: "flmpP", values: "gGuw", operands: 1, code: 'c', longCode: "command", permuted: true, own: true, long: " login preserve-environment pty fast group= supp-group= user= "},
	"sg":       {operands: 1, code: 'c', permuted: true, own: true},
	"gosu":     {operands: 1, own: true},
	"su-exec":  {operands: 1, own: true},
	"setpriv":  {own: true},
	"pkexec":   {own: true, long: " user= disable-internal-agent "},
	"chroot":   {operands: 1, own: true, long: " groups= userspec= skip-chdir "},
	"unshare":  {flags: "cCfimnprTuU", own: true},
	"nsenter":  {flags: "aFe", values: "tGS", attached: "mnupiUCTrw", own: true},
	"bwrap":    {own: true},
	"firejail": {own: true},

	"strace":    {flags: "cCdDfFhiknNqrtTvVwxXyYz", values: "abeEIoOpPsSuU", own: true, traces: true, long: " follow-forks trace= string-limit= "},
	"ltrace":    {flags: "cCfhiLrStTV", values: "aAeFlnopsuxX", own: true},
	"valgrind":  {own: true},
	"gdbserver": {operands: 1, own: true},
	"watch":     {flags: "bcdegprtwx", values: "nqs", attached: "d", joined: true, long: " beep color differences errexit chgexit equexit= precise no-rerun no-title no-wrap interval= "},
	"script":    {flags: "aefq", values: "BEIOTmo", attached: "t", operands: 1, code: 'c', longCode: "command", permuted: true, own: true, long: " append return flush force quiet log-io= log-in= log-out= log-timing= output-limit= echo= timing "},
	"flock":     {flags: "enosuxF", values: "wE", operands: 1, code: 'c', longCode: "command", permuted: true, own: true, long: " exclusive nonblock nb no-fork close shared unlock verbose timeout= wait= conflict-exit-code= "},
	"xargs": {
		flags: "0rtxpo", values: "adEILnPs", attached: "eil", own: true, more: true, alone: true,
		long: " null no-run-if-empty verbose exit interactive open-tty arg-file= delimiter= eof max-lines max-args= max-procs= max-chars= show-limits ",
	},
	"busybox": {own: true},
	"toybox":  {own: true},
	"ld.so":   {own: true, bareOnly: true, long: " preload= library-path= inhibit-rpath= audit= argv0= inhibit-cache glibc-hwcaps-prepend= glibc-hwcaps-mask= list verify "},
}
