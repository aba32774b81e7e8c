package codex

import (
	"slices"
	"strings"
)

// Invocation is what an argument list asks for.
type Invocation struct {
	// Proxy: `codex app-server` on stdio, which goes through the bridge. Every
	// other command becomes the real codex.
	Proxy bool
	// Command is codex's subcommand, "" when there is none.
	Command string
}

// valueFlags are codex's global flags that take the next argument as their value
// (codex 0.169.0 --help).
var valueFlags = []string{
	"-c", "--config", "--enable", "--disable", "--remote", "--remote-auth-token-env",
	"-m", "--model", "--local-provider", "-p", "--profile", "-s", "--sandbox",
	"-C", "--cd", "--add-dir", "-a", "--ask-for-approval",
}

// imageFlags take all arguments up to the next flag (measured:
// `codex -i x app-server` opens two images).
var imageFlags = []string{"-i", "--image"}

// otherCommands are codex's subcommands but app-server (codex 0.169.0 --help).
// What is not among them is a prompt, and app-server may still follow it
// (measured: `codex hello app-server` starts the app-server).
var otherCommands = []string{
	"agents", "exec", "e", "review", "login", "logout", "mcp", "plugin", "remote-control",
	"completion", "update", "doctor", "sandbox", "debug", "apply", "a", "resume", "queue",
	"archive", "delete", "migrate-rollouts", "migrate-nfs-db", "unarchive", "fork", "cloud",
	"exec-server", "features", "help",
}

// appServerOthers are the app-server's own subcommands and the flags with which
// it does not serve stdio.
var appServerOthers = []string{
	"daemon", "proxy", "generate-ts", "generate-json-schema", "help",
	"-h", "--help", "--print-startup-config",
}

// ParseArgs reads codex's argument list (without the program's name). Where codex
// could start an app-server on stdio it says Proxy: a mistake to the other side
// would be a way around the policy.
func ParseArgs(args []string) Invocation {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return Invocation{} // only a prompt may follow
		case arg == "-h" || arg == "--help" || arg == "-V" || arg == "--version":
			return Invocation{}
		case slices.Contains(valueFlags, arg):
			i++
		case slices.Contains(imageFlags, arg):
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
		case strings.HasPrefix(arg, "-") && len(arg) > 1:
			// A flag without a value, with its value attached, or of a later codex.
		case arg == "app-server":
			return Invocation{Proxy: servesStdio(args[i+1:]), Command: arg}
		case slices.Contains(otherCommands, arg):
			return Invocation{Command: arg}
		}
	}
	return Invocation{}
}

// servesStdio tells whether an app-server with these arguments speaks on stdio.
func servesStdio(args []string) bool {
	for i := 0; i < len(args); i++ {
		name, value, attached := strings.Cut(args[i], "=")
		switch {
		case name == "--listen":
			if !attached && i+1 < len(args) {
				i++
				value = args[i]
			}
			if value != "stdio://" {
				return false
			}
		case slices.Contains(appServerOthers, args[i]):
			return false
		case !attached && (slices.Contains(valueFlags, name) || slices.Contains(appServerValues, name)):
			i++
		}
	}
	return true
}

// appServerValues are the app-server's own flags with a value.
var appServerValues = []string{
	"--startup-client-info", "--cloud-skills-snapshot", "--code-mode-host", "--ws-auth",
	"--ws-token-file", "--ws-token-sha256", "--ws-shared-secret-file", "--ws-issuer",
	"--ws-audience", "--ws-max-clock-skew-seconds",
}
