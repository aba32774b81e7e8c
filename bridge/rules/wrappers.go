package rules

import "strings"

// plainWrapper runs the rest of its words unchanged, in the same environment and with the same
// rights. It is allowed if the wrapped command is.
type plainWrapper struct {
	flags  string // one letter each
	valued string // letters that take a value
	long   map[string]bool
	skip   int // words between the options and the command
}

// plainWrappers are the plain wrappers by name. The value of a long option is true if the option
// takes a value, which is the next word unless = precedes it.
var plainWrappers = map[string]plainWrapper{
	"nohup":      {},
	"builtin":    {},
	"nice":       {flags: "0123456789", valued: "n", long: map[string]bool{"adjustment": true}},
	"ionice":     {flags: "t", valued: "cn", long: map[string]bool{"class": true, "classdata": true, "ignore": false}},
	"time":       {flags: "pv", long: map[string]bool{"portability": false, "verbose": false}},
	"timeout":    {flags: "vfp", valued: "sk", long: map[string]bool{"signal": true, "kill-after": true, "foreground": false, "preserve-status": false, "verbose": false}, skip: 1},
	"gtimeout":   {flags: "vfp", valued: "sk", long: map[string]bool{"signal": true, "kill-after": true, "foreground": false, "preserve-status": false, "verbose": false}, skip: 1},
	"stdbuf":     {valued: "ioe", long: map[string]bool{"input": true, "output": true, "error": true}},
	"caffeinate": {flags: "dimsu", valued: "tw"},
	"exec":       {},
	"noglob":     {},
	"nocorrect":  {},
	"-":          {},
}

// xargsLong are the long options of xargs, as in plainWrapper.long.
var xargsLong = map[string]bool{
	"null": false, "no-run-if-empty": false, "verbose": false, "interactive": false, "exit": false, "open-tty": false,
	"max-args": true, "max-procs": true, "max-chars": true, "delimiter": true, "arg-file": true,
}

// looseWrappers run a command in their words with other rights, in another environment, or later. A
// rule for the wrapped command never allows them, and their options need not be known.
var looseWrappers = []string{
	"doas", "pkexec", "runas", "chroot", "unshare", "nsenter", "setarch", "linux32", "linux64", "arch", "setpriv", "capsh", "firejail",
	"bwrap", "proot", "fakeroot", "strace", "ltrace", "gdb", "perf", "valgrind", "rlwrap", "unbuffer", "setsid", "chrt", "taskset", "choom", "prlimit", "systemd-run",
	"systemd-inhibit", "xvfb-run", "dbus-run-session", "start-stop-daemon", "daemonize", "torsocks", "proxychains", "proxychains4", "busybox", "toybox",
	"repeat", "direnv", "cgexec", "chpst", "entr",
	"ssh-agent", "numactl", "systemd-cat", "eatmydata", "chronic", "ifne", "logsave", "cpulimit", "dbus-launch", "pexec", "tsocks", "trickle", "catchsegv",
	"setlock", "lockf", "uclampset", "faketime", "dtach", "abduco", "sem", "schroot", "fakechroot", "setuidgid", "envdir", "envuidgid", "softlimit", "pgrphack",
	"gosu", "su-exec", "runcon", "run-one", "retry", "nsjail", "ccache", "distcc", "bear", "heaptrack", "rr", "nq", "with-lock-ex", "cage", "spawn",
	"uv", "poetry", "pipenv", "bundle", "mise", "asdf", "rye", "hatch", "pdm", "pixi", "conda", "mamba",
	"genv", "gnohup", "gnice", "gstdbuf", "gchroot",
}

// textWrappers also accept a command as one text.
var textWrappers = []string{"watch", "flock", "runuser", "hyperfine", "sg", "tmux", "screen", "xterm", "watchexec", "reflex"}

// unread are programs whose commands the package does not read.
var unread = []string{"parallel", "fish", "csh", "tcsh", "pwsh", "powershell", "cmd", "nu", "elvish", "xonsh", "oil", "osh", "ysh", "yash", "rc", "es", "scsh", "at", "batch"}

// evaluators are builtins that run or evaluate their arguments, or bind names.
var evaluators = []string{
	"hash", "enable",
	"fc", "history", "bind", "compgen", "complete", "compopt", "compctl", "emulate", "sched", "zmodload", "zle", "zcompile", "autoload", "functions",
	"zparseopts", "zstyle", "zregexparse", "bindkey", "disable",
}

// numericTests are the operators of test that compare numbers.
var numericTests = setOf("-eq", "-ne", "-lt", "-le", "-gt", "-ge")

// setters are builtins that set the variables whose names they get.
var setters = []string{
	"let", "read", "mapfile", "readarray", "getopts", "unset", "printf", "print", "test", "[", "wait", "vared",
	"export", "declare", "typeset", "local", "readonly", "nameref", "integer", "float", "private",
}

// handle adds the wrapped command. With unknown options, every suffix counts.
func (o plainWrapper) handle(r *reader, n *node, c readContext) {
	rest, _, ok := skipOptions(n.words[1:], o.flags, o.valued, o.long)
	for i := range min(o.skip, len(rest)) {
		ok = ok && rest[i].kind == known
	}
	if !ok {
		r.addSuffixCommands(n, c, false)
		return
	}
	r.addWrapped(n, rest[min(o.skip, len(rest)):], c)
}

// skipOptions skips options like getopt, up to the first other word. ok is false if an option is
// unknown. values has the values of short options.
func skipOptions(words []word, flags, valued string, long map[string]bool) (rest []word, values map[string]string, ok bool) {
	values = make(map[string]string)
	for len(words) > 0 {
		w := &words[0]
		if !w.mayBeOption() && w.kind != unknownWords && w.kind != expanded {
			return words, values, true
		}
		if w.kind != known {
			return nil, nil, false
		}
		words = words[1:]
		if w.text == "--" {
			return words, values, true
		}
		if name, isLong := strings.CutPrefix(w.text, "--"); isLong {
			name, _, joined := strings.Cut(name, "=")
			takes, there := long[name]
			if !there {
				return nil, nil, false
			}
			if takes && !joined {
				if words, ok = takeValue(words, nil); !ok {
					return nil, nil, false
				}
			}
			continue
		}
		if w.text == "-" || w.text[0] == '+' {
			return nil, nil, false
		}
		for i := 1; i < len(w.text); i++ {
			letter := w.text[i : i+1]
			if strings.Contains(flags, letter) {
				continue
			}
			if !strings.Contains(valued, letter) {
				return nil, nil, false
			}
			text := w.text[i+1:]
			if text == "" {
				if words, ok = takeValue(words, &text); !ok {
					return nil, nil, false
				}
			}
			values[letter] = text
			break
		}
	}
	return nil, values, true
}

// takeValue removes the value of an option from words, and stores it in text unless text is nil. ok
// is false if the value is missing or unknown.
func takeValue(words []word, text *string) ([]word, bool) {
	if len(words) == 0 || words[0].kind != known {
		return nil, false
	}
	if text != nil {
		*text = words[0].text
	}
	return words[1:], true
}
