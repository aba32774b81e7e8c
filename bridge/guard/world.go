package guard

import (
	"os"
	"os/exec"
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
		state.StartFolder, _ = filesystem{}.Canonical(dir)
	}
	if home, err := os.UserHomeDir(); err == nil {
		state.Home, _ = filesystem{}.Canonical(home)
	}
	env := codex.Environ(os.Environ(), c.Env, c.EnvRemove)
	state.Temps = tempFolders(env, state)
	for _, pair := range env {
		// Codex follows them for each command anew (measured).
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
	AddPrograms(&state, gitCandidates(folders)...)
	AddPrograms(&state, gitFiles(env)...)
	for _, place := range governing(nil, "") {
		state.Sensitive = append(state.Sensitive, place.Path)
	}
	state.Sensitive = append(state.Sensitive, linkTargets(state.CodexHome)...)
	slices.Sort(state.Sensitive)
	state.Sensitive = slices.Compact(state.Sensitive)
	return state
}

// AddPrograms adds programs that run outside of the sandbox, or folders of such programs, by their
// absolute paths. The sandbox of each thread protects them.
func AddPrograms(state *policy.State, programs ...string) {
	for _, path := range programs {
		at, links := followLinks(path)
		if at != "" && !slices.Contains(state.Programs, at) {
			state.Programs = append(state.Programs, at)
		}
		state.Links = append(state.Links, links...)
	}
}

// maxLinks bounds the links that are followed, as Linux does.
const maxLinks = 40

// follow returns where an absolute path leads to, and the links by which it does, each where its
// folder is. Behind a link whose target is missing it leads to that target. It is "" where it can't be
// found out, as in a loop of links.
func followLinks(path string) (end string, links []string) {
	at, rest := filepath.VolumeName(path)+string(filepath.Separator), pathNames(path)
	for len(rest) > 0 {
		if len(links) == maxLinks {
			return "", links
		}
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		target, err := os.Readlink(next)
		if err != nil { // no link, or nothing
			at = next
			continue
		}
		if folder, err := (filesystem{}).Canonical(at); err == nil {
			links = append(links, filepath.Join(folder, name))
		}
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
		}
		rest = append(pathNames(target), rest...)
	}
	end, _ = filesystem{}.Canonical(at)
	return end, links
}

// links are the links by which an absolute path leads elsewhere, as follow finds them.
func linksOf(path string) []string {
	_, links := followLinks(path)
	return links
}

// pathNames are the names in a path.
func pathNames(path string) []string {
	return strings.FieldsFunc(filepath.ToSlash(path[len(filepath.VolumeName(path)):]), func(c rune) bool { return c == '/' })
}

// gitFiles are the files of the user's own git configuration, with env. Their programs run outside of
// the sandbox, as those of a repository would.
func gitFiles(env []string) []string {
	value := func(name string) (value string) {
		for _, pair := range env {
			if isVariable(pair, name) {
				_, value, _ = strings.Cut(pair, "=")
			}
		}
		return value
	}
	home, config := value("HOME"), value("XDG_CONFIG_HOME")
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	files := []string{value("GIT_CONFIG_GLOBAL"), value("GIT_CONFIG_SYSTEM"), filepath.Join(home, ".gitconfig"), filepath.Join(config, "git", "config")}
	return slices.DeleteFunc(files, func(file string) bool { return !filepath.IsAbs(file) })
}

// pathFolders are the folders in which Codex, started with env, looks for programs. Measured with
// Codex 0.169: for git, which it runs outside of the sandbox at the start of each turn. MCP servers
// of the user's have names, too.
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

// gitCandidates returns the files git in folders, up to the first that runs. A file that does not run may
// become one that does: a command could make it executable, or make the missing target of a link.
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

// runs reports whether Codex can start a program. Where it can't, it takes that of the next folder of
// PATH, as execvp does.
func isExecutable(program string) bool {
	if info, err := os.Stat(program); err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, err := exec.LookPath(program)
	return err == nil
}

// tempNames are the variables that name a temporary folder.
func tempNames() []string {
	if runtime.GOOS == "windows" {
		return []string{"TEMP", "TMP"}
	}
	return []string{"TMPDIR"}
}

// temps are the temporary folders that Codex, started with env, lets commands write.
//
// Measured with Codex 0.169: /tmp, and TMPDIR with links resolved, for each command anew. Not set,
// TMPDIR is nothing; where it is no folder no command runs. A relative one is seen from the folder
// of each command.
func tempFolders(env []string, state policy.State) []policy.TempFolder {
	names := tempNames()
	var out []policy.TempFolder
	if at, err := (filesystem{}).Canonical("/tmp"); err == nil {
		out = append(out, policy.TempFolder{Name: "/tmp", Path: at})
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !slices.Contains(names, name) {
			continue
		}
		at := value
		if !filepath.IsAbs(at) {
			at = filepath.Join(state.StartFolder, at)
		}
		if resolved, err := (filesystem{}).Canonical(at); err == nil {
			at = resolved
		}
		out = append(out, policy.TempFolder{Name: "$" + name, Path: filepath.Clean(at), Relative: !filepath.IsAbs(value)})
	}
	return out
}

// codexHome returns the folder where Codex, started with env in the folder start, keeps its
// configuration, by the path that Codex takes; "" unknown.
// Measured: CODEX_HOME, seen from the folder that Codex is started in; when that is
// empty or not set, .codex in the home.
func codexHome(env []string, start string) string {
	home, _ := os.UserHomeDir()
	folder := ""
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
	return start + string(filepath.Separator) + folder // not cleaned: a link may be before ".."
}

// Governing are the places on which a policy of cfg rests, and how to move each: the files of the
// configuration, the state folder and Codex's own folder.
func Governing(cfg *config.Config, world policy.State) []policy.SensitivePath {
	places := governing(cfg.Files(), world.CodexHome)
	// The sandbox of each thread protects a folder of PATH that is in a temporary folder, but no
	// link there.
	found := slices.Clone(world.Links)
	for _, folder := range world.Programs {
		if slices.ContainsFunc(world.Temps, func(t policy.TempFolder) bool { return policy.Within(folder, t.Path) }) {
			found = append(found, folder)
		}
	}
	for _, path := range world.Sensitive {
		if !slices.ContainsFunc(places, func(p policy.SensitivePath) bool { return p.Path == path }) {
			places = append(places, policy.SensitivePath{Name: "the link to codex's own folder", Path: path, Hint: "have CODEX_HOME name what it leads to"})
		}
	}
	for _, path := range found {
		places = append(places, policy.SensitivePath{Name: "the folder of programs", Path: path, Hint: "remove it from PATH, or have TMPDIR name what it leads to"})
	}
	return places
}

// governing are the configuration files, the user's whether it exists or not, the state folder, and
// codexHome with what it has links to. A file of a workspace is not among them: a thread's sandbox
// protects it.
func governing(files []string, codexHome string) []policy.SensitivePath {
	var out []policy.SensitivePath
	keep := func(name, path, hint string) {
		for _, at := range placesOf(path) {
			if !slices.ContainsFunc(out, func(p policy.SensitivePath) bool { return p.Path == at }) {
				out = append(out, policy.SensitivePath{Name: name, Path: at, Hint: hint})
			}
		}
	}
	if file := config.Discover("").User; file != "" {
		files = append(files, file)
	}
	for _, file := range files {
		if filepath.Base(file) != config.WorkspaceFile {
			keep("the configuration file", file, "move it, and name it with "+config.EnvConfig)
		}
	}
	if folder, err := store.Folder(); err == nil {
		keep("the state folder", folder, "name another folder with "+store.EnvFolder)
	}
	if codexHome != "" {
		keep("codex's own folder", codexHome, "name another folder with CODEX_HOME")
		for _, at := range linkTargets(codexHome) {
			keep("codex's own file", at, "move it")
		}
	}
	return out
}

// places are where a path is and where it leads, and the links by which it does. The folder of a link
// counts: a process that can write it can turn the link.
func placesOf(path string) []string {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil
	}
	var out []string
	if folder, err := (filesystem{}).Canonical(filepath.Dir(path)); err == nil {
		out = append(out, filepath.Join(folder, filepath.Base(path)))
	}
	at, links := followLinks(path)
	if at != "" {
		out = append(out, at)
	}
	return append(out, links...)
}

// linked returns where the links in Codex's own folder, and in its folder of rules, lead to, and the
// links behind them: people keep such files in a repository of their own.
func linkTargets(codexHome string) []string {
	if codexHome == "" {
		return nil
	}
	var out []string
	for _, folder := range []string{codexHome, filepath.Join(codexHome, "rules")} {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			if entry.IsDir() || entry.Type().IsRegular() {
				continue
			}
			at, links := followLinks(filepath.Join(folder, entry.Name()))
			for _, path := range append(links, at) {
				if path != "" && !policy.Within(codexHome, path) && !slices.Contains(out, path) {
					out = append(out, path)
				}
			}
		}
	}
	return out
}

type filesystem struct{}

// PolicyFiles implements policy.PolicyFiles.
func (filesystem) PolicyFiles(folder string) []string {
	var files []string
	for _, file := range config.WorkspaceFiles(folder) {
		// The target of a link: Codex runs no command where it should protect a link in a writable folder
		// (measured with 0.169).
		if at, err := (filesystem{}).Canonical(file); err == nil {
			files = append(files, at)
		}
	}
	return files
}

// Canonical implements policy.Paths.
func (filesystem) Canonical(path string) (string, error) { return canonical(systemDisk{}, path) }
