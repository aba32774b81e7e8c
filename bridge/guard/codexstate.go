package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/toml"
)

// maxCodexConfig bounds the bytes of a configuration file of Codex's that are read.
const maxCodexConfig = 1 << 20

// codexConfig is what a configuration file of Codex's says of the folder of its databases.
type codexConfig struct {
	SqliteHome string `toml:"sqlite_home"`
	Projects   map[string]struct {
		TrustLevel string `toml:"trust_level"`
	} `toml:"projects"`
}

// readCodexConfig returns the configuration in a file; the zero value without an error if there is no file, or a
// folder in its place. Codex may read a file that is an error here: it accepts larger and deeper ones.
func readCodexConfig(file string) (read codexConfig, err error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return codexConfig{}, nil
	case err != nil:
		return codexConfig{}, err
	case !info.Mode().IsRegular():
		return codexConfig{}, nil
	case info.Size() > maxCodexConfig:
		return codexConfig{}, fmt.Errorf("it has more than %d bytes", maxCodexConfig)
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = toml.Decode(string(text), &read)
	}
	if err != nil {
		return codexConfig{}, err
	}
	return read, nil
}

// ConfigFileError reports a file of Codex's configuration that the bridge can't read, so that it does not know where
// Codex keeps its databases.
type ConfigFileError struct {
	File string
	Err  error
}

func (e *ConfigFileError) Error() string { return e.Problem() + "; " + e.Hint() }

// Unwrap returns why the file can't be read.
func (e *ConfigFileError) Unwrap() error { return e.Err }

// Problem names the file, and why it can't be read.
func (e *ConfigFileError) Problem() string {
	return fmt.Sprintf("%s can't be read, so the policy can't protect the folder of codex's databases that it may name: %v", e.File, e.Err)
}

// Hint returns how to fix it.
func (e *ConfigFileError) Hint() string { return "correct " + e.File + ", or make it smaller" }

// CheckConfigFiles returns an error for each file that may name the folder of Codex's databases and can't be read.
func CheckConfigFiles(cfg config.Codex, world policy.State) []*ConfigFileError {
	_, problems := databaseFolders(codex.Environ(os.Environ(), cfg.Env, cfg.EnvRemove), world.StartFolder, world.CodexHome)
	return problems
}

// databaseFolders returns the folders, by the paths that name them, in which Codex may keep its
// databases instead of its own folder: threads, histories, queues and goals.
//
// Measured with Codex 0.169: CODEX_SQLITE_HOME names one, seen from the folder that Codex is
// started in, and so does the key sqlite_home, seen from the folder of its file. The file may be
// one of a trusted project around that folder.
//
// A project's file counts as one if the bridge can't read which projects the user trusts.
func databaseFolders(env []string, start, codexHome string) (folders []string, problems []*ConfigFileError) {
	add := func(from, folder string) {
		if rest, ok := strings.CutPrefix(folder, "~"); ok && (rest == "" || rest[0] == '/') {
			home, err := config.Home()
			if err != nil {
				return
			}
			folder = home + rest
		}
		switch {
		case folder == "":
		case filepath.IsAbs(folder):
			folders = append(folders, folder)
		case from != "":
			folders = append(folders, from+string(filepath.Separator)+folder)
		}
	}
	for _, pair := range env {
		if isVariable(pair, "CODEX_SQLITE_HOME") {
			_, folder, _ := strings.Cut(pair, "=")
			add(start, folder)
		}
	}
	var files []string
	if codexHome != "" {
		user := filepath.Join(codexHome, "config.toml")
		files = append(files, user, filepath.Join(codexHome, "managed_config.toml"))
		if read, err := readCodexConfig(user); err != nil || trustsAround(read, start) {
			for dir := start; ; dir = filepath.Dir(dir) {
				files = append(files, filepath.Join(dir, ".codex", "config.toml"))
				if dir == filepath.Dir(dir) {
					break
				}
			}
		}
	}
	for _, name := range []string{"config.toml", "managed_config.toml", "requirements.toml"} {
		files = append(files, filepath.Join("/etc/codex", name))
	}
	for _, file := range files {
		read, err := readCodexConfig(file)
		if err != nil {
			problems = append(problems, &ConfigFileError{File: file, Err: err})
		}
		add(filepath.Dir(file), read.SqliteHome)
	}
	return folders, problems
}

// trustsAround reports whether the user trusts a project in which the folder may be.
func trustsAround(user codexConfig, folder string) bool {
	for path, project := range user.Projects {
		if at, err := (filesystem{}).Canonical(path); err == nil && project.TrustLevel == "trusted" && policy.Within(at, folder) {
			return true
		}
	}
	return false
}

// databasePlaces are the places of databaseFolders, as governing has them. CheckConfigFiles has those that are not known.
func databasePlaces(cfg config.Codex, world policy.State) (out []policy.SensitivePath) {
	env := codex.Environ(os.Environ(), cfg.Env, cfg.EnvRemove)
	folders, _ := databaseFolders(env, world.StartFolder, world.CodexHome)
	for _, folder := range folders {
		for _, at := range placesOf(folder) {
			if !slices.ContainsFunc(out, func(p policy.SensitivePath) bool { return p.Path == at }) {
				out = append(out, policy.SensitivePath{
					Name: "the folder of codex's databases", Path: at,
					Hint: "name another folder with CODEX_SQLITE_HOME, or with sqlite_home in codex's configuration",
				})
			}
		}
	}
	return out
}

// execServer is the variable by which Codex runs commands elsewhere.
//
// Measured with Codex 0.169: with any value Codex has no environment "local". Commands and patches
// of threads go to the server that it names, whose sandbox, files and folders the bridge does not
// see; with "none" there are none.
const execServer = "CODEX_EXEC_SERVER_URL"

// ExecServerError reports that Codex would run commands on another server.
type ExecServerError struct{}

func (e *ExecServerError) Error() string { return e.Problem() + "; " + e.Hint() }

// Problem says what would happen.
func (*ExecServerError) Problem() string {
	return fmt.Sprintf("%s is set, so that codex runs commands on another server, where the policy can't see what they do", execServer)
}

// Hint returns how to fix it.
func (*ExecServerError) Hint() string {
	return fmt.Sprintf("unset it, or add %q to codex.env_remove", execServer)
}

// CheckExecServer returns an error if Codex, started with cfg, would run commands on another server.
func CheckExecServer(cfg config.Codex) *ExecServerError {
	for _, pair := range codex.Environ(os.Environ(), cfg.Env, cfg.EnvRemove) {
		if _, value, _ := strings.Cut(pair, "="); isVariable(pair, execServer) && strings.TrimSpace(value) != "" {
			return &ExecServerError{}
		}
	}
	return nil
}
