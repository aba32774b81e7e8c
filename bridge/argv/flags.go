package argv

import (
	_ "embed"
	"slices"
	"strings"
)

// Source is this file, for patches to its tables.
//
//go:embed flags.go
var Source string

// flagSpec describes one flag.
type flagSpec struct {
	name    string   // the long name
	aliases []string // its short name and aliases
	values  arity
}

type arity uint8

const (
	noValue    arity = iota
	oneValue         // the next argument, whatever it is
	manyValues       // all arguments up to the next flag (measured: `codex -i x app-server` opens two images)
)

// Flags of Codex 0.169.0: those of --help, and hidden ones from its completion script and its
// suggestions for misspelt flags. Flags can't be abbreviated: Codex refuses --conf (measured).
var (
	// commonFlags may stand before and after the command.
	commonFlags = []flagSpec{
		{"--config", []string{"-c"}, oneValue},
		{"--enable", nil, oneValue},
		{"--disable", nil, oneValue},
	}
	rootFlags = []flagSpec{
		{"--remote", nil, oneValue},
		{"--remote-auth-token-env", nil, oneValue},
		{"--strict-config", nil, noValue},
		{"--image", []string{"-i"}, manyValues},
		{"--model", []string{"-m"}, oneValue},
		{"--oss", nil, noValue},
		{"--local-provider", nil, oneValue},
		{"--profile", []string{"-p"}, oneValue},
		{"--sandbox", []string{"-s"}, oneValue},
		{"--approve-for-me", []string{"--not-so-yolo"}, noValue},
		{"--dangerously-bypass-approvals-and-sandbox", []string{"--yolo"}, noValue},
		{"--dangerously-bypass-hook-trust", nil, noValue},
		{"--cd", []string{"-C"}, oneValue},
		{"--worktree", nil, noValue},
		{"--add-dir", nil, oneValue},
		{"--ask-for-approval", []string{"-a"}, oneValue},
		{"--search", nil, noValue},
		{"--no-alt-screen", nil, noValue},
		{"--no-daemon", nil, noValue},
	}
	appServerFlags = []flagSpec{
		{"--strict-config", nil, noValue},
		{"--startup-sign-out", nil, noValue},
		{"--print-startup-config", nil, noValue},
		{"--startup-client-info", nil, oneValue},
		{"--cloud-skills-snapshot", nil, oneValue},
		{"--code-mode-host", nil, oneValue},
		{"--listen", nil, oneValue},
		{"--stdio", nil, noValue},
		{"--remote-control", nil, noValue},
		{"--managed-daemon", nil, noValue},
		{"--analytics-default-enabled", nil, noValue},
		{"--ws-auth", nil, oneValue},
		{"--ws-token-file", nil, oneValue},
		{"--ws-token-sha256", nil, oneValue},
		{"--ws-shared-secret-file", nil, oneValue},
		{"--ws-issuer", nil, oneValue},
		{"--ws-audience", nil, oneValue},
		{"--ws-max-clock-skew-seconds", nil, oneValue},
		{"--mcp-launch-cwd", nil, oneValue},
		{"--plugin-mcp-launch-cwd", nil, oneValue},
	}
	// turnFlags are those of exec and of its commands.
	turnFlags = []flagSpec{
		{"--strict-config", nil, noValue},
		{"--model", []string{"-m"}, oneValue},
		{"--dangerously-bypass-approvals-and-sandbox", []string{"--yolo"}, noValue},
		{"--dangerously-bypass-hook-trust", nil, noValue},
		{"--worktree", nil, noValue},
		{"--thread-source", nil, oneValue},
		{"--cyber-access-program", nil, oneValue},
		{"--skip-git-repo-check", nil, noValue},
		{"--trust", nil, noValue},
		{"--ephemeral", nil, noValue},
		{"--ignore-user-config", nil, noValue},
		{"--ignore-rules", nil, noValue},
		{"--output-schema", nil, oneValue},
		{"--json", []string{"--experimental-json"}, noValue},
		{"--output-last-message", []string{"-o"}, oneValue},
		{"--remote-auth-token-env", nil, oneValue},
		{"--remote", nil, oneValue},
	}
	reviewFlags = []flagSpec{
		{"--uncommitted", nil, noValue},
		{"--base", nil, oneValue},
		{"--commit", nil, oneValue},
		{"--title", nil, oneValue},
	}
	oneImage = flagSpec{"--image", []string{"-i"}, oneValue}
	// execFlags are the flags of exec, "", of its commands, and of the command review.
	execFlags = map[string][]flagSpec{
		"": slices.Concat(commonFlags, turnFlags, []flagSpec{
			{"--image", []string{"-i"}, manyValues},
			{"--oss", nil, noValue},
			{"--local-provider", nil, oneValue},
			{"--profile", []string{"-p"}, oneValue},
			{"--sandbox", []string{"-s"}, oneValue},
			{"--approve-for-me", []string{"--not-so-yolo"}, noValue},
			{"--cd", []string{"-C"}, oneValue},
			{"--add-dir", nil, oneValue},
			{"--color", nil, oneValue},
		}),
		"resume": slices.Concat(commonFlags, turnFlags, []flagSpec{oneImage, {"--last", nil, noValue}, {"--all", nil, noValue}}),
		"fork":   slices.Concat(commonFlags, turnFlags, []flagSpec{oneImage}),
		"review": slices.Concat(commonFlags, turnFlags, reviewFlags),
	}
	reviewCommandFlags = slices.Concat(commonFlags, []flagSpec{{"--strict-config", nil, noValue}, {"--trust", nil, noValue}}, reviewFlags)

	allRootFlags      = slices.Concat(commonFlags, rootFlags)
	allAppServerFlags = slices.Concat(commonFlags, appServerFlags)
)

// Override returns the override of the configuration at args[at], or an item without a name.
func Override(args []string, at int) Item {
	if item := parseFlag(commonFlags, args, at); item.State != Unknown {
		return item
	}
	return Item{}
}

func isFlag(arg string) bool { return strings.HasPrefix(arg, "-") && len(arg) > 1 }

// parseFlag parses the flag at args[at].
func parseFlag(table []flagSpec, args []string, at int) Item {
	arg := args[at]
	item := Item{At: at, Len: 1}
	name, value, attached := arg, "", false
	if strings.HasPrefix(arg, "--") {
		name, value, attached = strings.Cut(arg, "=")
	} else if len(arg) > 2 {
		// -cVALUE and -c=VALUE are equal (measured).
		name, value, attached = arg[:2], strings.TrimPrefix(arg[2:], "="), true
	}
	i := slices.IndexFunc(table, func(s flagSpec) bool { return s.name == name || slices.Contains(s.aliases, name) })
	if i < 0 {
		item.Name, item.State = arg, Unknown
		if strings.HasPrefix(arg, "--") {
			item.Name = name
		}
		return item
	}
	item.Name, item.Value = table[i].name, value
	switch {
	case table[i].values == noValue:
		if attached {
			item.State = Invalid
		}
	case attached:
	case table[i].values == manyValues:
		for next := at + 1; next < len(args) && !strings.HasPrefix(args[next], "-"); next++ {
			item.Len++
		}
	case at+1 == len(args):
		item.State = Invalid
	default:
		item.Len, item.Value = 2, args[at+1]
		if isFlag(item.Value) {
			// Codex refuses a value that starts with a dash. A Codex that accepted it would look for
			// its command after it, as this parser does.
			item.State = Invalid
		}
	}
	return item
}
