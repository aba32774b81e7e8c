package guard

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/store"
)

// World is the machine as policy sees it: the folder we were started in, the
// user's home, the temporary folder, codex's folder, the places that the policy
// rests on, and the file system. What can't be found out stays empty, which policy
// takes for unknown.
func World() policy.State { return WorldOf(config.Codex{}) }

// WorldOf is World for a codex that is started with c, which may give it another
// folder of its own.
func WorldOf(c config.Codex) policy.State {
	state := policy.State{Paths: filesystem{}, Repositories: filesystem{}, PolicyFiles: filesystem{}}
	if dir, err := os.Getwd(); err == nil {
		state.Start, _ = filesystem{}.Canonical(dir)
	}
	if home, err := os.UserHomeDir(); err == nil {
		state.Home, _ = filesystem{}.Canonical(home)
	}
	if temp := os.Getenv("TMPDIR"); temp != "" {
		state.Temp, _ = filesystem{}.Canonical(temp)
	}
	state.CodexHome = codexHome(codex.Environ(os.Environ(), c.Env, c.EnvRemove), state)
	state.Kept = kept(state.CodexHome)
	return state
}

// codexHome is where codex, started with env, keeps its configuration; "" unknown.
// Measured: CODEX_HOME, seen from the folder that codex is started in; when that is
// empty or not set, .codex in the home.
func codexHome(env []string, state policy.State) string {
	home, folder := state.Home, ""
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		switch {
		case value == "":
		case name == "CODEX_HOME":
			folder = value
		case name == "HOME" && runtime.GOOS != "windows":
			home = value
		}
	}
	switch {
	case folder == "" && home == "":
		return ""
	case folder == "":
		folder = filepath.Join(home, ".codex")
	case !filepath.IsAbs(folder):
		folder = filepath.Join(state.Start, folder)
	}
	at, _ := filesystem{}.Canonical(folder)
	return at
}

// kept are the user's configuration file, there or not, the state folder, and what
// of codex's own folder is a link to elsewhere: people keep such files in a
// repository of their own.
func kept(codexHome string) []string {
	var out []string
	keep := func(place string) {
		place, err := filepath.Abs(place)
		if err != nil {
			return
		}
		// Who may write the folder of a link may turn the link.
		folder, err := filesystem{}.Canonical(filepath.Dir(place))
		if err == nil {
			out = append(out, filepath.Join(folder, filepath.Base(place)))
		}
		if at, err := (filesystem{}).Canonical(place); err == nil {
			out = append(out, at)
		}
	}
	if file := config.Discover("").User; file != "" {
		keep(file)
	}
	if folder, err := store.Folder(); err == nil {
		keep(folder)
	}
	if codexHome != "" {
		for _, name := range [...]string{"config.toml", "hooks.json", "rules"} {
			if at, err := (filesystem{}).Canonical(filepath.Join(codexHome, name)); err == nil && filepath.Dir(at) != codexHome {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

type filesystem struct{}

// PolicyFiles implements policy.PolicyFiles.
func (filesystem) PolicyFiles(folder string) []string {
	// Of a link what it leads to: Codex runs no command where it should protect a link in a
	// writable folder (measured with 0.169).
	file, err := filepath.EvalSymlinks(filepath.Join(config.WorkspaceFolder(folder), config.WorkspaceFile))
	if err != nil {
		return nil
	}
	return []string{file}
}

// Canonical implements policy.Paths.
func (filesystem) Canonical(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", errors.New("not an absolute path: " + path)
	}
	path = filepath.Clean(path)
	rest := ""
	for {
		resolved, err := filepath.EvalSymlinks(path)
		switch {
		case err == nil:
			return filepath.Join(resolved, rest), nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err // a loop, or a folder that may not be read: nobody knows where it leads
		}
		// A link whose target is missing leads where its target would be, not here.
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "", &fs.PathError{Op: "resolve", Path: path, Err: errors.New("a link to nothing")}
		}
		parent := filepath.Dir(path)
		if parent == path {
			return "", err
		}
		rest = filepath.Join(filepath.Base(path), rest)
		path = parent
	}
}
