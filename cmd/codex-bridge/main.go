// Command codex-bridge is a program that an editor starts in place of codex. It runs the
// real `codex app-server` behind a policy, and becomes the real codex for all other
// commands. See the README and docs/.
package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/cmd/codex-bridge/internal/cli"
	"codex-bridge.example/cmd/codex-bridge/internal/headless"
	"codex-bridge.example/cmd/codex-bridge/internal/launch"
	"codex-bridge.example/relay/hook"
)

func main() {
	args := os.Args[1:]
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	// Hooks come first, because Codex waits for one before each tool call. Most hook
	// processes end earlier, in relay/hook/ask. A copy of the bridge that is named codex
	// also runs its hooks: the real Codex has no command with --socket.
	if len(args) > 0 && args[0] == "hook" && (name != "codex" || slices.Contains(args, "--socket")) {
		os.Exit(hook.Run(args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if name != "codex" && len(args) > 0 {
		if cli.IsOwn(args) {
			os.Exit(cli.Run(args))
		}
		if slices.Equal(args, []string{"--", "--help"}) { // Codex's own help
			args = args[1:]
		} else if err := cli.CheckWord(args); err != nil {
			os.Exit(cli.Report(err))
		}
	}
	if err := launch.RunAsCodex(args); err != nil {
		headless.ReportEvent(os.Stdout, args, err)
		os.Exit(cli.Report(err))
	}
}
