package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge/codex"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// World returns the machine as the policy sees it: the start folder, the home folder, the temporary
// folders, Codex's folder, the files that the policy depends on, and the file system. A value that
// can't be found is empty, which the policy treats as unknown.
func World() policy.State { return WorldOf(config.Codex{}) }

// WorldOf returns the World of a Codex that is started with c.
func WorldOf(c config.Codex) policy.State {
	state := policy.State{Now: time.Now, Paths: filesystem{}, Repositories: filesystem{}, IsFile: isFile, PolicyFiles: filesystem{}}
	if dir, err := os.Getwd(); err == nil {
		state.StartFolder, _ = filesystem{}.Canonical(dir)
	}
	if home, err := config.Home(); err == nil {
		state.Home, _ = filesystem{}.Canonical(home)
	}
	env := codex.Environ(os.Environ(), c.Env, c.EnvRemove)
	state.Temps = tempFolders(env, state)
	for _, pair := range env {
		// Measured: Codex follows these links again for each command.
		if name, value, _ := strings.Cut(pair, "="); slices.Contains(tempNames(), name) && filepath.IsAbs(value) {
			state.Links = append(state.Links, linksOf(value)...)
		}
	}
	if folder := codexHome(env, state.StartFolder); folder != "" {
		state.CodexHome, state.Sensitive = followLinks(folder)
	}
	if program, err := os.Executable(); err == nil {
		AddPrograms(&state, program)
	}
	folders := pathFolders(env)
	AddPrograms(&state, folders...)
	for _, folder := range folders {
		if at, _ := followLinks(folder); at != "" {
			state.PathFolders = append(state.PathFolders, at)
		}
	}
	AddPrograms(&state, gitCandidates(folders)...)
	AddPrograms(&state, gitFiles(env)...)
	for _, place := range governing(nil, "") {
		state.Sensitive = append(state.Sensitive, place.Path)
	}
	for _, place := range databasePlaces(c, state) {
		state.Sensitive = append(state.Sensitive, place.Path)
	}
	state.Sensitive = append(state.Sensitive, linkTargets(state.CodexHome)...)
	slices.Sort(state.Sensitive)
	state.Sensitive = slices.Compact(state.Sensitive)
	return state
}

// AddPrograms adds programs that run outside the sandbox, or folders of such programs, by absolute
// path. The sandbox of each thread protects them.
func AddPrograms(state *policy.State, programs ...string) {
	for _, path := range programs {
		at, links := followLinks(path)
		if at != "" && !slices.Contains(state.Programs, at) {
			state.Programs = append(state.Programs, at)
		}
		state.Links = append(state.Links, links...)
	}
}

// maxLinks bounds the links that are followed, like Linux.
const maxLinks = 40

// linksOf returns the links of followLinks.
func linksOf(path string) []string {
	_, links := followLinks(path)
	return links
}

// pathNames returns the names in a path.
func pathNames(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), func(c rune) bool { return c == '/' })
}

// gitFiles returns the files of the user's own git configuration in the environment env. Programs
// in them run outside the sandbox, like those of a repository.
func gitFiles(env []string) []string {
	value := func(name string) (value string) {
		for _, pair := range env {
			if isVariable(pair, name) {
				_, value, _ = strings.Cut(pair, "=")
			}
		}
		return value
	}
	home, folder := value("HOME"), value("XDG_CONFIG_HOME")
	if home == "" {
		home, _ = config.Home()
	}
	if folder == "" {
		folder = filepath.Join(home, ".config")
	}
	files := []string{value("GIT_CONFIG_GLOBAL"), value("GIT_CONFIG_SYSTEM"), filepath.Join(home, ".gitconfig"), filepath.Join(folder, "git", "config")}
	return slices.DeleteFunc(files, func(file string) bool { return !filepath.IsAbs(file) })
}

// pathFolders returns the folders in which Codex, started with env, looks for programs.
//
// Measured with Codex 0.169: Codex so finds git, which it runs outside the sandbox at the start of
// each turn. MCP servers of the user can be found so, too.
func pathFolders(env []string) []string {
	var out []string
	for _, pair := range env {
		if isVariable(pair, "PATH") {
			_, path, _ := strings.Cut(pair, "=")
			out = slices.DeleteFunc(filepath.SplitList(path), func(folder string) bool { return !filepath.IsAbs(folder) })
		}
	}
	return out
}

// gitCandidates returns the files git in folders, up to the first executable one. A command could
// make an earlier one executable, or create the missing target of a link.
func gitCandidates(folders []string) []string {
	name := "git"
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	var out []string
	for _, folder := range folders {
		at := filepath.Join(folder, name)
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		out = append(out, at)
		if isExecutable(at) {
			break
		}
	}
	return out
}

// isExecutable reports whether Codex can start a program. If it can't, it takes the program in the
// next folder of PATH, like execvp.
func isExecutable(program string) bool {
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// tempNames returns the variables that name a temporary folder.
func tempNames() []string {
	if runtime.GOOS == "windows" {
		return []string{"TEMP", "TMP"}
	}
	return []string{"TMPDIR"}
}

// tempFolders returns the temporary folders that Codex, started with env, lets commands write.
//
// Measured with Codex 0.169: these are /tmp, and TMPDIR with links resolved for each command. An
// empty TMPDIR is ignored; if TMPDIR is not a folder, no command runs. A relative TMPDIR starts
// from the folder of each command.
func tempFolders(env []string, state policy.State) []policy.TempFolder {
	names := tempNames()
	var out []policy.TempFolder
	if at, err := (filesystem{}).Canonical("/tmp"); err == nil {
		out = append(out, policy.TempFolder{Name: "/tmp", Path: at})
	}
	for _, pair := range env {
		_, value, _ := strings.Cut(pair, "=")
		at := slices.IndexFunc(names, func(name string) bool { return isVariable(pair, name) })
		if value == "" || at < 0 {
			continue
		}
		name := names[at]
		folder := value
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(state.StartFolder, folder)
		}
		if resolved, err := (filesystem{}).Canonical(folder); err == nil {
			folder = resolved
		}
		out = append(out, policy.TempFolder{Name: "$" + name, Path: filepath.Clean(folder), Relative: !filepath.IsAbs(value)})
	}
	return out
}

// codexHome returns the folder in which Codex, started with env in the folder start, keeps its
// configuration, as Codex spells the path; "" if it is unknown.
//
// Measured: the folder is CODEX_HOME, relative to the folder in which Codex is started; if that is
// empty, it is .codex in the home folder, which is HOME, relative like CODEX_HOME, or else that of the
// user database.
func codexHome(env []string, start string) string {
	home, _ := config.DatabaseHome()
	folder, homeVariable := "", "HOME"
	if runtime.GOOS == "windows" {
		homeVariable = "USERPROFILE"
	}
	for _, pair := range env {
		_, value, _ := strings.Cut(pair, "=")
		switch {
		case value == "":
		case isVariable(pair, "CODEX_HOME"):
			folder = value
		case isVariable(pair, homeVariable):
			home = value
		}
	}
	if folder == "" {
		if home == "" {
			return ""
		}
		folder = filepath.Join(home, ".codex")
	}
	switch {
	case filepath.IsAbs(folder):
		return folder
	case start == "":
		return ""
	}
	return start + string(filepath.Separator) + folder // not cleaned: a link may come before ".."
}

// isFile implements policy.State.IsFile.
func isFile(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}
