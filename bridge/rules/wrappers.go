package rules

import "strings"

// plainWrapper runs the rest of its words as they are, in the same
// environment and with the same rights: it is allowed when what it runs is.
type plainWrapper struct {
	flags  string // one letter each
	valued string // letters that take a value
	long   map[string]bool
	skip   int // words between the options and the command
}

// long options: true when a value follows in the next word unless it is
// written with =.
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

var xargsLong = map[string]bool{
	"null": false, "no-run-if-empty": false, "verbose": false, "interactive": false, "exit": false, "open-tty": false,
	"max-args": true, "max-procs": true, "max-chars": true, "delimiter": true, "arg-file": true,
}

// looseWrappers run a command that stands somewhere in their words, but with
// other rights, another root or environment, or not now: what they run never
// allows them. Their options need not be known.
var looseWrappers = []string{
	"doas", "pkexec", "runas", "chroot", "unshare", "nsenter", "setarch", "linux32", "linux64", "arch", "setpriv", "capsh", "firejail",
	"bwrap", "proot", "fakeroot", "strace", "ltrace", "gdb", "perf", "valgrind", "rlwrap", "unbuffer", "setsid", "chrt", "taskset", "choom", "prlimit", "systemd-run",
	"systemd-inhibit", "xvfb-run", "dbus-run-session", "start-stop-daemon", "daemonize", "torsocks", "proxychains", "proxychains4", "busybox", "toybox",
	"repeat", "direnv", "cgexec", "chpst", "entr",
}

// textWrappers take a command as one text, too.
var textWrappers = []string{"watch", "flock", "runuser", "hyperfine", "sg"}

// foreignShells speak other languages.
var foreignShells = []string{"fish", "csh", "tcsh", "pwsh", "powershell", "cmd", "nu", "elvish", "xonsh", "oil", "osh", "ysh", "yash", "rc", "es", "scsh", "at", "batch"}

// evaluators are builtins that run or evaluate their arguments.
var evaluators = []string{
	"fc", "history", "bind", "compgen", "complete", "compopt", "compctl", "emulate", "sched", "zmodload", "zle", "zcompile", "autoload", "functions",
	"zparseopts", "zstyle", "zregexparse", "bindkey", "disable",
}

// numbers are the operators of test that compare numbers.
var numbers = setOf("-eq", "-ne", "-lt", "-le", "-gt", "-ge")

// setters are builtins that set variables whose names they are given.
var setters = []string{
	"read", "mapfile", "readarray", "getopts", "unset", "printf", "print", "test", "[", "wait", "vared",
	"export", "declare", "typeset", "local", "readonly", "nameref", "integer", "float",
}

func (o plainWrapper) open(r *reader, n *node, c context) {
	rest, _, ok := options(n.words[1:], o.flags, o.valued, o.long)
	for i := range min(o.skip, len(rest)) {
		ok = ok && rest[i].kind == known
	}
	if !ok {
		r.loose(n, c, false)
		return
	}
	r.run(n, rest[min(o.skip, len(rest)):], c)
}

// options passes over options as getopt does when the first other word ends
// them. It is false when one is not known, here or at all.
func options(words []word, flags, valued string, long map[string]bool) (rest []word, values map[string]string, ok bool) {
	values = make(map[string]string)
	for len(words) > 0 {
		w := &words[0]
		if !w.option() && w.kind != many && w.kind != each {
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
				if words, ok = value(words, nil); !ok {
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
				if words, ok = value(words, &text); !ok {
					return nil, nil, false
				}
			}
			values[letter] = text
			break
		}
	}
	return nil, values, true
}

func value(words []word, text *string) ([]word, bool) {
	if len(words) == 0 || words[0].kind != known {
		return nil, false
	}
	if text != nil {
		*text = words[0].text
	}
	return words[1:], true
}
