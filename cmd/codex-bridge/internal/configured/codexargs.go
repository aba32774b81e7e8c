package configured

import (
	"slices"

	"codex-bridge.example/bridge/argv"
)

// Overrides returns the overrides of Codex's configuration before the command, which its app-server
// would get without --remote. The first fromConfig arguments are those of every app-server.
func Overrides(line argv.Line, fromConfig int) (args []string) {
	for _, item := range line.Items {
		if item.At >= fromConfig && slices.Contains([]string{"--config", "--enable", "--disable"}, item.Name) {
			args = append(args, item.Name, item.Value)
		}
	}
	return args
}
