package terminal

// programs are what ordinary programs can be made to run, by their manuals and
// GTFOBins. No such table is complete; a kernel gate has to bound what the
// programs start.
//
//nolint:gochecknoglobals // a constant table
var programs = map[string]*program{
	"git":    {extra: gitHazards, custom: true, inner: innerGit},
	"find":   {inner: innerFind, only: true},
	"gfind":  {inner: innerFind, only: true},
	"fd":     {long: " exec exec-batch ", short: "xX", values: "deEtcSo"},
	"fdfind": {long: " exec exec-batch ", short: "xX", values: "deEtcSo"},

	"tar":     tarProgram,
	"gtar":    tarProgram,
	"bsdtar":  tarProgram,
	"cpio":    {long: " rsh-command to-stdout "},
	"zip":     {long: " unzip-command ", words: []string{"-TT*"}, extra: zipHazards},
	"rsync":   {long: " rsh rsync-path config daemon server ", safe: " rsyncable ", short: "eM", values: "fTB"},
	"scp":     {short: "oSFD", values: "cilPX"},
	"sftp":    {short: "oSFDb", values: "BcilPRX"},
	"ssh":     {extra: sshHazards, custom: true},
	"split":   {long: " filter "},
	"sort":    {long: " compress-program output ", short: "o", values: "kStT"},
	"shuf":    {long: " output ", short: "o", values: "in"},
	"install": {long: " strip-program "},
	"rg":      {long: " pre hostname-bin ", safe: " pre-glob "},
	"ag":      {long: " pager "},
	"ack":     {long: " pager output ackrc "},
	"man":     {long: " pager html preprocessor config-file browser ", short: "PHC", values: "LmMSseErRp"},
	"less":    {words: []string{"+*"}, long: " lesskey-file lesskey-src lesskey-content log-file ", short: "koO", values: "bhjpPtTxyzD"},
	"more":    {words: []string{"+*"}},
	"wget":    {long: " use-askpass execute config ", short: "e", values: "aoiBtOQTwUPADIRX"},
	"curl":    {long: " config engine libcurl ", short: "K", values: "AbCcDdEFHhmoPQrtTuUwXxYyz"},
	"dig":     {short: "f"},
	"openssl": {words: []string{"-engine=", "-provider=", "-provider-path=", "-config="}, single: true},
	"gpg":     {long: " photo-viewer agent-program dirmngr-program keyserver-options exec-path pinentry-program "},
	"pip":     {long: " config global-option build-option "},
	"npm":     {long: " script-shell node-options shell editor git viewer ", words: []string{"exec", "x"}},
	"cargo":   {long: " config "},
	"rustc":   {short: "C", values: "oLl"},
	"go":      {single: true, words: []string{"-toolexec=", "-exec=", "-vettool=", "-overlay=", "-modfile=", "-pkgdir=", "-gccgoflags=", "-compiler=", "generate", "tool", "-fix="}, extra: goHazards},

	"gcc": compilerProgram, "g++": compilerProgram, "cc": compilerProgram, "c++": compilerProgram,
	"clang": compilerProgram, "clang++": compilerProgram, "gfortran": compilerProgram, "cpp": compilerProgram, "ld": compilerProgram,
	"make": makeProgram, "gmake": makeProgram,
	"cmake": {short: "PEC", words: []string{"-E", "-P"}},
	"ninja": {short: "tf", values: "Cjkld"},

	"sed": sedProgram, "gsed": sedProgram,
	"awk": awkProgram, "gawk": awkProgram, "mawk": awkProgram, "nawk": awkProgram, "original-awk": awkProgram,

	"python": pythonProgram, "pypy": pythonProgram,
	"perl":      {code: true, stops: true, short: "eEMmxdI", attached: "CDFi", quiet: " -v --version -h "},
	"ruby":      {code: true, stops: true, short: "erxIsC", long: " require ", attached: "EFKi", quiet: " -v --version -h --help "},
	"node":      nodeProgram,
	"nodejs":    nodeProgram,
	"deno":      {words: []string{"eval", "repl"}, long: " ext config import-map require preload "},
	"bun":       {short: "epri", words: []string{"x", "exec", "repl"}, long: " eval print preload require import "},
	"php":       {code: true, stops: true, short: "rBREFdSz", long: " run process-begin process-code process-end process-file define ", values: "ct", quiet: " -v --version -i -m "},
	"lua":       {code: true, stops: true, short: "eli", quiet: " -v "},
	"luajit":    {code: true, stops: true, short: "elibj", quiet: " -v "},
	"Rscript":   {code: true, stops: true, short: "e", quiet: " --version "},
	"R":         {code: true, short: "ef", long: " file args ", quiet: " --version "},
	"julia":     {code: true, short: "eELi", long: " eval print load ", quiet: " --version -v "},
	"tclsh":     {code: true, stops: true},
	"expect":    {code: true, short: "cdb"},
	"guile":     {code: true, short: "clexL"},
	"osascript": {code: true, short: "ei"},
	"pwsh":      {code: true, words: []string{"-*"}},
	"irb":       {code: true, short: "r"},
	"ghci":      {code: true, short: "e"},
	"octave":    {code: true, long: " eval "},
	"gdb":       {code: true, feeds: true, words: []string{"-ex=", "-x=", "-iex=", "-ix=", "--ex=", "--command=", "--eval-command=", "-eval-command=", "-command="}},
	"sqlite3":   {feeds: true, single: true, words: []string{"-cmd=", "-init=", "--cmd=", "--init="}, extra: sqliteHazards},
	"psql":      {feeds: true, short: "cfo", long: " command file output log-file "},
	"mysql":     {feeds: true, short: "e", long: " execute pager tee init-command "},

	"vim": vimProgram, "vi": vimProgram, "view": vimProgram, "nvim": vimProgram, "ex": vimProgram, "gvim": vimProgram,
	"rvim": vimProgram, "vimdiff": vimProgram, "gvimdiff": vimProgram, "rview": vimProgram,
	"emacs": {long: " eval execute load funcall script batch ", short: "lfQ", words: []string{"-eval=", "-f", "-l"}},
	"ed":    {extra: alwaysCode, custom: true}, "red": {extra: alwaysCode, custom: true},
	"nano": {short: "sf", long: " speller rcfile "},

	"parallel": {extra: alwaysCode, custom: true}, "at": {extra: alwaysCode, custom: true}, "batch": {extra: alwaysCode, custom: true}, "crontab": {extra: alwaysCode, custom: true},
	"run-parts": {extra: alwaysCode, custom: true}, "start-stop-daemon": {extra: alwaysCode, custom: true}, "systemd-run": {extra: alwaysCode, custom: true},
	"entr": {extra: alwaysCode, custom: true}, "watchexec": {extra: alwaysCode, custom: true}, "dbus-run-session": {extra: alwaysCode, custom: true},
	"xvfb-run": {extra: alwaysCode, custom: true}, "screen": {extra: alwaysCode, custom: true}, "tmux": {extra: alwaysCode, custom: true}, "socat": {extra: alwaysCode, custom: true},
	"nc": {short: "ec"}, "ncat": {short: "ec", long: " exec sh-exec lua-exec "}, "netcat": {short: "ec"},
	"tcpdump":   {short: "z", values: "BcCDEFGimMrsTVwWyZ", long: " postrotate-command "},
	"logrotate": {extra: alwaysCode, custom: true}, "capsh": {extra: alwaysCode, custom: true}, "ip": {words: []string{"exec", "-b", "-batch", "-force"}},
	"npx": {extra: alwaysCode, custom: true}, "pnpx": {extra: alwaysCode, custom: true}, "bunx": {extra: alwaysCode, custom: true}, "uvx": {extra: alwaysCode, custom: true},
	"dpkg": {long: " pre-invoke post-invoke status-logger "}, "apt": aptProgram, "apt-get": aptProgram,
	"yq":       {long: " from-file "},
	"xdg-open": {extra: alwaysCode, custom: true}, "service": {extra: alwaysCode, custom: true},
}

//nolint:gochecknoglobals // constant tables
var (
	tarProgram = &program{
		long: " to-command use-compress-program checkpoint-action info-script new-volume-script rsh-command rmt-command ",
		safe: " checkpoint to-stdout ", short: "IF", values: "bCfgHKLNTVX", bundled: true, extra: tarHazards,
	}
	compilerProgram = &program{
		single: true,
		words: []string{
			"-wrapper=", "-fplugin=", "-fplugin*", "-specs=", "-B*", "-fpass-plugin=", "-load=", "-Xclang=", "-plugin=", "--config=", "-Wl,-plugin*",
			"-Wl,--plugin*", "-fuse-ld=", "-ccc-gcc-name=", "-gcc-toolchain=", "-no-canonical-prefixes", "@*", "-dynamic-linker=",
		},
	}
	makeProgram = &program{
		long: " eval file makefile ", short: "", values: "fCIojlWO", words: []string{"SHELL=", "MAKEFLAGS=", ".SHELLFLAGS="}, extra: makeHazards,
	}
	pythonProgram = &program{code: true, stops: true, short: "ciW", values: "mXQ", module: "m", quiet: " -V --version -h --help -VV "}
	nodeProgram   = &program{
		code: true, stops: true, short: "epri", quiet: " -v --version -h --help --test ",
		flags: " test no-warnings enable-source-maps trace-warnings trace-uncaught check version help ",
		long:  " eval print require import loader experimental-loader interactive inspect inspect-brk env-file openssl-config experimental-config-file run ",
	}
	vimProgram = &program{feeds: true, short: "cSsuUwWeEi", values: "tTpPrq", long: " cmd startuptime listen remote-expr remote-send ", words: []string{"+*"}}
	sedProgram = &program{
		script: safeSed, scriptOptions: "e", scriptLong: "expression", short: "f", values: "l", attached: "i", long: " file ",
		flags: " quiet silent debug in-place in-place= line-length= posix regexp-extended separate sandbox unbuffered null-data zero-terminated follow-symlinks help version ",
	}
	awkProgram = &program{
		script: safeAwk, scriptOptions: "e", scriptLong: "source", values: "Fv", short: "fEiloDdpW", attached: "L", stops: true,
		flags: " field-separator= assign= posix traditional lint sandbox csv bignum characters-as-bytes re-interval version help ",
		long:  " file exec include load debug dump-variables profile pretty-print ",
	}
	aptProgram = &program{short: "oc", long: " option config-file "}
)

// alwaysCode is for programs whose purpose is to run something: only a rule that
// spells the whole command out permits them.
func alwaysCode(c *command, h *hazard) {
	for i := range c.args[1:] {
		if !c.args[i+1].known {
			h.unclear(&c.args[i+1])
		}
	}
	if len(c.args) == 1 { // it reads what to run
		h.unclear(&c.args[0])
	}
	h.add(c.args[len(c.args)-1].String(), len(c.args)-1)
}
