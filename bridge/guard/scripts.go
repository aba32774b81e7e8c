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

// CheckScripts returns an error if commands of the thread can write the program that a command of the
// configuration starts, or its script, such as tools/check.sh in ["sh", "tools/check.sh"] in folder. The
// bridge would run it outside the sandbox. A thread's profile protects those files that the configuration
// named when the thread was opened, and that were there. So this finds one that came later, or is a link.
func (g *Guard) CheckScripts(thread, folder string, command []string) error {
	p := g.policies(thread)[0]
	if p.Mode() != config.Enforce {
		return nil
	}
	one := g.threads.peek(thread)
	if one == nil {
		one = g.rootThread(p, thread)
	}
	if one == nil {
		return nil
	}
	for _, name := range programsOf(folder, command) {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		paths, err := g.world.Paths.Readings(name)
		if err != nil || slices.ContainsFunc(paths, func(at string) bool { return one.CanWrite(g.world, at) }) {
			return fmt.Errorf("commands of the thread can write %s, which would run outside the sandbox; start a new thread, which protects the file unless it is a link, or name a file that they can't write",
				display.Quote(name))
		}
	}
	return nil
}

// programsOf returns the absolute paths of a command's program, unless it is found on PATH, and of its
// first word that is no option.
func programsOf(folder string, command []string) (names []string) {
	if len(command) == 0 {
		return nil
	}
	if filepath.IsAbs(command[0]) {
		names = append(names, command[0])
	}
	i := slices.IndexFunc(command[1:], func(word string) bool { return !strings.HasPrefix(word, "-") })
	switch {
	case i < 0:
	case filepath.IsAbs(command[1+i]):
		names = append(names, command[1+i])
	case folder != "":
		names = append(names, filepath.Join(folder, command[1+i]))
	}
	return names
}
