package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
)

// CheckScripts returns an error if a command of the configuration begins with a script, such as
// tools/check.sh in ["sh", "tools/check.sh"], that commands of the thread can write. The bridge would
// run it outside the sandbox. The thread's profile protects a script that was there when the thread
// was opened, so this finds one that appeared later, or that is a link.
func (g *Guard) CheckScripts(thread, folder string, command []string) error {
	if folder == "" || len(command) == 0 || g.policy.Load().Mode() != config.Enforce {
		return nil
	}
	i := slices.IndexFunc(command[1:], func(word string) bool { return !strings.HasPrefix(word, "-") })
	if i < 0 || filepath.IsAbs(command[1+i]) {
		return nil
	}
	one := g.threads.peek(thread)
	if one == nil {
		one = g.rootThread(g.policy.Load(), thread)
	}
	if one == nil {
		return nil
	}
	name := filepath.Join(folder, command[1+i])
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	paths, err := g.world.Paths.Readings(name)
	if err != nil || slices.ContainsFunc(paths, func(at string) bool { return one.CanWrite(g.world, at) }) {
		return fmt.Errorf("commands of the thread can write the script %s; start a new thread, which protects it unless it is a link, or put it elsewhere and name its absolute path",
			display.Quote(name))
	}
	return nil
}
