package codex

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Env is the environment variable with the path of Codex. It overrides the configuration and PATH.
const Env = "CODEX_BRIDGE_CODEX"

// envDepth is the variable that counts nested bridges.
const envDepth = "CODEX_BRIDGE_DEPTH"

// maxDepth is the maximum number of nested bridges: more than people need, and few enough to
// stop a codex that is a script around the bridge.
const maxDepth = 8

// FindError means that there is no Codex to start. The program then exits with status 127.
type FindError struct{ Problem, Hint string }

func (e *FindError) Error() string { return e.Problem + "; " + e.Hint }

const installHint = "install it with \"npm install -g @openai/codex\", or name it with " + Env + " or codex.command"

// Find returns the path of Codex: from CODEX_BRIDGE_CODEX, else from configured (codex.command: a
// path, or a name to look up), else "codex" in PATH. In PATH it skips the bridge itself; a path
// to the bridge is an error. For npm's codex.cmd on Windows it returns the codex.exe that this starts:
// cmd.exe would interpret arguments, and Node would add a process.
func Find(configured string) (string, error) {
	path, err := find(configured)
	if err == nil && runtime.GOOS == "windows" {
		path = npmProgram(path, runtime.GOARCH)
	}
	return path, err
}

func find(configured string) (string, error) {
	if named := os.Getenv(Env); named != "" {
		return named, checkNamed(named, Env)
	}
	if filepath.Base(configured) != configured {
		return configured, checkNamed(configured, "codex.command")
	}
	if configured == "" {
		configured = "codex"
	}
	return lookup(configured)
}

func checkNamed(path, from string) error {
	if err := checkExecutable(path); err != nil {
		return &FindError{fmt.Sprintf("%s names %s, which can't be run: %v", from, path, err), installHint}
	}
	if isSelf(path) {
		return &FindError{fmt.Sprintf("%s names %s, which is codex-bridge itself", from, path), "name the real codex"}
	}
	return nil
}

func lookup(name string) (string, error) {
	self := false
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir == "" {
			dir = "."
		}
		for _, file := range programNames(name, runtime.GOOS) {
			path := filepath.Join(dir, file)
			if !filepath.IsAbs(path) || checkExecutable(path) != nil { // like os/exec, skip the current folder
				continue
			}
			if isSelf(path) {
				self = true
				continue
			}
			return path, nil
		}
	}
	if self {
		return "", &FindError{fmt.Sprintf("the only %q in PATH is codex-bridge itself", name), installHint}
	}
	return "", &FindError{fmt.Sprintf("no %q in PATH", name), installHint}
}

// programNames returns the names of files that may be the program. On Windows the user may leave out the
// extension.
func programNames(name, goos string) []string {
	if goos != "windows" {
		return []string{name}
	}
	extensions := []string{".exe", ".cmd", ".bat"}
	if slices.Contains(extensions, strings.ToLower(filepath.Ext(name))) {
		return []string{name}
	}
	for i, ext := range extensions {
		extensions[i] = name + ext
	}
	return extensions
}

func checkExecutable(path string) error {
	info, err := os.Stat(path)
	var perr *os.PathError
	switch {
	case errors.As(err, &perr):
		return perr.Err
	case err != nil:
		return err
	case info.IsDir():
		return errors.New("it is a folder")
	case runtime.GOOS != "windows" && info.Mode()&0o111 == 0:
		return errors.New("it is not executable")
	}
	return nil
}

// isSelf reports whether path is this program, under any name.
func isSelf(path string) bool {
	own, err := os.Executable()
	if err != nil {
		return false
	}
	a, err := os.Stat(own)
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

// childEnviron returns the environment for Codex. It is an error if bridges are nested too
// deeply: Find detects a copy or link of the program, but not a script that calls it.
func childEnviron(env []string) ([]string, error) {
	depth, _ := strconv.Atoi(os.Getenv(envDepth))
	if depth >= maxDepth {
		return nil, &FindError{fmt.Sprintf("codex-bridge was started by itself %d times: the codex that it finds starts it again", depth),
			"name the real codex with " + Env}
	}
	return append(slices.Clip(env), envDepth+"="+strconv.Itoa(depth+1)), nil
}
