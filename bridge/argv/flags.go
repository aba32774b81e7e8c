package argv

import (
	"slices"
	"strings"
)

// spec is one flag.
type spec struct {
	name  string   // the long name
	other []string // its short name and aliases
	takes arity
}

type arity uint8

const (
	nothing arity = iota
	one           // the next argument, whatever it is
	many          // all arguments up to the next flag (measured: `codex -i x app-server` opens two images)
)

// Flags of codex 0.169.0: those of --help, and the hidden ones that its own
// completion script and its suggestions for misspelt flags name. Flags are not
// abbreviated: --conf is refused (measured).
var (
	// everywhere stand before the command and after it.
	everywhere = []spec{
		{"--config", []string{"-c"}, one},
		{"--enable", nil, one},
		{"--disable", nil, one},
	}
	rootFlags = []spec{
		{"--remote", nil, one},
		{"--remote-auth-token-env", nil, one},
		{"--strict-config", nil, nothing},
		{"--image", []string{"-i"}, many},
		{"--model", []string{"-m"}, one},
		{"--oss", nil, nothing},
		{"--local-provider", nil, one},
		{"--profile", []string{"-p"}, one},
		{"--sandbox", []string{"-s"}, one},
		{"--approve-for-me", []string{"--not-so-yolo"}, nothing},
		{"--dangerously-bypass-approvals-and-sandbox", []string{"--yolo"}, nothing},
		{"--dangerously-bypass-hook-trust", nil, nothing},
		{"--cd", []string{"-C"}, one},
		{"--worktree", nil, nothing},
		{"--add-dir", nil, one},
		{"--ask-for-approval", []string{"-a"}, one},
		{"--search", nil, nothing},
		{"--no-alt-screen", nil, nothing},
		{"--no-daemon", nil, nothing},
	}
	appServerFlags = []spec{
		{"--strict-config", nil, nothing},
		{"--startup-sign-out", nil, nothing},
		{"--print-startup-config", nil, nothing},
		{"--startup-client-info", nil, one},
		{"--cloud-skills-snapshot", nil, one},
		{"--code-mode-host", nil, one},
		{"--listen", nil, one},
		{"--stdio", nil, nothing},
		{"--remote-control", nil, nothing},
		{"--managed-daemon", nil, nothing},
		{"--analytics-default-enabled", nil, nothing},
		{"--ws-auth", nil, one},
		{"--ws-token-file", nil, one},
		{"--ws-token-sha256", nil, one},
		{"--ws-shared-secret-file", nil, one},
		{"--ws-issuer", nil, one},
		{"--ws-audience", nil, one},
		{"--ws-max-clock-skew-seconds", nil, one},
	}
	rootAll      = slices.Concat(everywhere, rootFlags)
	appServerAll = slices.Concat(everywhere, appServerFlags)
)

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") && len(arg) > 1 }

// flag reads the flag at args[at].
func flag(table []spec, args []string, at int) Item {
	arg := args[at]
	item := Item{At: at, Len: 1}
	name, value, attached := arg, "", false
	if strings.HasPrefix(arg, "--") {
		name, value, attached = strings.Cut(arg, "=")
	} else if len(arg) > 2 {
		// -cVALUE and -c=VALUE are the same (measured).
		name, value, attached = arg[:2], strings.TrimPrefix(arg[2:], "="), true
	}
	i := slices.IndexFunc(table, func(s spec) bool { return s.name == name || slices.Contains(s.other, name) })
	if i < 0 {
		item.Name, item.State = arg, Unknown
		if strings.HasPrefix(arg, "--") {
			item.Name = name
		}
		return item
	}
	item.Name, item.Value = table[i].name, value
	switch {
	case table[i].takes == nothing:
		if attached {
			item.State = Broken
		}
	case attached:
	case table[i].takes == many:
		for next := at + 1; next < len(args) && !strings.HasPrefix(args[next], "-"); next++ {
			item.Len++
		}
	case at+1 == len(args):
		item.State = Broken
	default:
		item.Len, item.Value = 2, args[at+1]
		if isFlag(item.Value) {
			// Codex refuses a value that begins with a dash. One that took it would
			// find its command behind it, and so do we.
			item.State = Broken
		}
	}
	return item
}
