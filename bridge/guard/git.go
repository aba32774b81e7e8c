package guard

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"codex-bridge.example/bridge"
	processes "codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// Codex runs git in the folder of a thread, outside the sandbox.
//
// Measured with Codex 0.169: `git status` at the start of every turn and after thread/fork,
// rev-parse and remote when a thread is opened, with -c safe.bareRepository=explicit,
// core.hooksPath=/dev/null, core.fsmonitor=false and --ignore-submodules=dirty. So hooks,
// fsmonitor and submodules run nothing. But git runs clean filters
// (filter.NAME.clean or .process) and, in a partial clone whose objects are missing, the
// programs that fetch them. The filter of git-lfs reads lfs.extension.NAME.clean itself.

// gitTimeout bounds the time to read a repository's configuration. It takes milliseconds, but a
// configuration that includes a pipe never ends.
const gitTimeout = 10 * time.Second

// maxGitFolders bounds the folders that are checked for one message. Each starts a process.
const maxGitFolders = 16

// errRelativePath reports that git may be a program in the folder of a thread.
var errRelativePath = errors.New("PATH has a relative folder before that of git")

// SetGitEnv makes the guard refuse folders whose repository names programs that git would run for
// Codex. env is the environment of Codex. Call it before the conversation starts.
func (g *Guard) SetGitEnv(env []string) { g.gitEnv = env }

// wantsGitCheck reports whether a policy forbids programs that a repository names.
func (g *Guard) wantsGitCheck(p *policy.Policy) bool {
	return g.gitEnv != nil && p.Mode() != config.Off && p.ProjectTrust() != "codex"
}

// checkGit refuses a message for which Codex runs git in a repository whose configuration names a
// program that git would run. It returns nil if the message may pass.
func (g *Guard) checkGit(ctx context.Context, policies []*policy.Policy, call *bridge.ClientMessage, d policy.Decision, state *policy.State) *rpc.Error {
	if d.Verdict == policy.Deny || d.Sent == nil && state.Thread == nil || !slices.ContainsFunc(policies, g.wantsGitCheck) {
		return nil
	}
	folders := g.gitFolders(d, state)
	// The user may trust a project's own configuration.
	if d.Sent != nil {
		return g.gitRefusal(ctx, call.Method, "params.cwd", folders, d.Sent.Project, policies[0].ProjectTrust() == "user")
	}
	return g.gitRefusal(ctx, call.Method, "params.cwd", folders, state.Thread.Project, false)
}

// checkAgentGit refuses a tool call that starts a turn of a subagent if checkGit would refuse such
// a turn.
func (g *Guard) checkAgentGit(ctx context.Context, policies []*policy.Policy, use toolcall.Call, thread *policy.Thread) *rpc.Error {
	if !startsAgentTurn(use.Name) || !slices.ContainsFunc(policies, g.wantsGitCheck) {
		return nil
	}
	folders, trusted := []string{use.Cwd}, ""
	if thread != nil {
		folders = append(append(folders, thread.Workspace), g.threads.workingFolders(thread.ID)...)
		trusted = thread.Project
	}
	return g.gitRefusal(ctx, "hook/preToolUse", "cwd", g.canonicalFolders(folders), trusted, false)
}

// startsAgentTurn reports whether a tool of Codex starts a turn of a subagent. Its name may have a
// namespace as prefix.
func startsAgentTurn(tool string) bool {
	has := func(name string) bool { return strings.HasSuffix(tool, name) }
	return !strings.HasPrefix(tool, "mcp__") && slices.ContainsFunc([]string{"spawn_agent", "resume_agent", "send_input", "followup_task"}, has)
}

// gitRefusal returns the refusal for the first folder whose repository names a program that the
// user does not trust; nil if there is none. mayTrust adds how to trust the project to the hint.
func (g *Guard) gitRefusal(ctx context.Context, method, field string, folders []string, trusted string, mayTrust bool) *rpc.Error {
	refusal := policy.Refusal{Method: method, Rule: "policy.project_trust", Field: field}
	if len(folders) > maxGitFolders {
		refusal.Reason = fmt.Sprintf("the message names more than %d folders in which codex may run git", maxGitFolders)
		refusal.Hint = "name fewer workspace roots and environments"
		return policy.NewRefusalError(rpc.CodeRefused, refusal)
	}
	for _, folder := range folders {
		keys, err := g.repositoryPrograms(ctx, folder)
		switch {
		case errors.Is(err, errRelativePath):
			refusal.Reason = "codex runs git in " + folder + ", and could run a program of that folder: " + err.Error()
			refusal.Hint = "remove relative and empty entries from the PATH of codex"
		case err != nil:
			refusal.Reason = "the git configuration of " + folder + " can't be read: " + err.Error()
			refusal.Hint = "make \"git config --list --show-scope\" work in that folder"
		case len(keys) == 0 || g.sameRepository(folder, trusted):
			continue
		default:
			refusal.Reason = fmt.Sprintf("codex runs git in %s, outside the sandbox, and the repository's own configuration can make git run a program: %s (%s)",
				folder, keys[0].name, keys[0].origin)
			refusal.Hint = "remove the key, or move it to your own git configuration (git config --global)"
			if mayTrust {
				refusal.Hint += "; or trust the project in codex's own config.toml: [projects." + fmt.Sprintf("%q", g.repositoryOf(folder)) + "] trust_level = \"trusted\""
			}
		}
		return policy.NewRefusalError(rpc.CodeRefused, refusal)
	}
	return nil
}

// gitFolders returns the folders in which Codex may run git because of a message: the folders that
// it names, and the folders of the thread.
func (g *Guard) gitFolders(d policy.Decision, state *policy.State) []string {
	var folders []string
	if d.Sent != nil {
		folders = append(folders, d.Workspace, state.ThreadFolder)
	}
	if state.Thread != nil {
		folders = append(folders, g.threads.workingFolders(state.Thread.ID)...)
	}
	if m, err := rpc.ParseMessage(d.Message); err == nil {
		folders = append(folders, foldersIn(m.Params.Get)...)
	}
	return g.canonicalFolders(folders)
}

// canonicalFolders returns the canonical path of each folder, without duplicates, up to
// maxGitFolders + 1.
func (g *Guard) canonicalFolders(folders []string) []string {
	var canonical []string
	for _, folder := range folders {
		if at, err := g.world.Paths.Canonical(folder); err == nil && !slices.Contains(canonical, at) && len(canonical) <= maxGitFolders {
			canonical = append(canonical, at)
		}
	}
	return canonical
}

// workingFolders returns the current folders of a thread, as Codex last reported them.
func (t *threads) workingFolders(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	if record == nil || record.verified == nil {
		return nil
	}
	one := record.verified
	return foldersIn(func(member string) rpc.Value {
		if one.lastSettings != nil {
			if now := one.lastSettings.Root().Get(member); now.Exists() {
				return now
			}
		}
		return one.openResult.Root().Get(member)
	})
}

// foldersIn returns the folders that the members of a message or of a thread's settings name.
// Measured: the cwd of the first environment becomes the cwd of later turns.
func foldersIn(get func(member string) rpc.Value) []string {
	var folders []string
	add := func(get func(member string) rpc.Value) {
		cwd, _ := get("cwd").Text()
		folders = append(folders, cwd)
		for root := range get("runtimeWorkspaceRoots").Elements() {
			text, _ := root.Text()
			folders = append(folders, text)
		}
	}
	add(get)
	for environment := range get("environments").Elements() {
		add(environment.Get)
	}
	return folders
}

// sameRepository reports whether a folder belongs to the repository of a trusted project. A
// repository inside that repository does not, because commands could have created it.
func (g *Guard) sameRepository(folder, trusted string) bool {
	return trusted != "" && g.repositoryOf(folder) == g.repositoryOf(trusted)
}

// repositoryOf returns the root of a folder's repository, or the folder itself if it has none.
func (g *Guard) repositoryOf(folder string) string {
	if roots, err := g.world.Repositories.Roots(folder); err == nil && len(roots) > 0 {
		return roots[0]
	}
	return folder
}

// repositoryPrograms returns the keys of a repository's own git configuration that name programs
// which git runs for Codex. It lets git read the configuration, with the environment and options of
// Codex, which runs nothing.
func (g *Guard) repositoryPrograms(ctx context.Context, folder string) ([]gitKey, error) {
	git, err := g.findGit()
	if err != nil || git == "" || !g.mayBeRepository(folder) {
		return nil, err
	}
	// GIT_CONFIG names the file that git config reads; other git commands ignore it.
	env := slices.DeleteFunc(slices.Clone(g.gitEnv), func(pair string) bool { return isVariable(pair, "GIT_CONFIG") })
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git has not ended within %s", gitTimeout))
	defer cancel()
	ended, err := processes.Run(ctx, processes.Command{
		Args: []string{git, "-c", "safe.bareRepository=explicit", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
			"config", "--list", "--includes", "--show-scope", "--show-origin", "-z"},
		Dir: folder, Env: env, MaxStdout: 4 << 20, MaxStderr: 1 << 10,
	})
	switch {
	case err != nil:
		return nil, err
	case ended.Code != 0:
		return nil, errors.New(strings.TrimSpace(ended.Status + ": " + string(ended.Stderr)))
	}
	return programKeys(string(ended.Stdout), func(file string) bool { return !g.isWritableByCommands(folder, file) })
}

// isWritableByCommands reports whether commands of a thread in folder may write a file of the
// user's git configuration, such as ~/code/.gitconfig, which the user's own configuration includes
// in ~/code.
func (g *Guard) isWritableByCommands(folder, file string) bool {
	if !filepath.IsAbs(file) {
		file = filepath.Join(folder, file)
	}
	at, err := filesystem{}.Canonical(file)
	if err != nil {
		return true
	}
	if slices.Contains(g.machine().Programs, at) {
		return false // the sandbox protects it
	}
	folders := append(slices.Clone(g.threads.workspaces()), folder)
	if roots, err := (filesystem{}).Roots(folder); err == nil {
		folders = append(folders, roots...)
	}
	for _, temp := range g.world.Temps {
		folders = append(folders, temp.Path)
	}
	return slices.ContainsFunc(folders, func(writable string) bool { return policy.Within(writable, at) })
}

// isVariable reports whether a pair of an environment sets a variable.
func isVariable(pair, name string) bool {
	key, _, _ := strings.Cut(pair, "=")
	return key == name || runtime.GOOS == "windows" && strings.EqualFold(key, name)
}

// findGit returns the git that Codex finds, or "" if there is none.
func (g *Guard) findGit() (string, error) {
	name, dirs := "git", []string{"/bin", "/usr/bin"} // the folders of execvp without PATH
	if runtime.GOOS == "windows" {
		name, dirs = "git.exe", nil
	}
	for _, pair := range g.gitEnv {
		if isVariable(pair, "PATH") {
			_, path, _ := strings.Cut(pair, "=")
			if dirs = filepath.SplitList(path); len(dirs) == 0 {
				dirs = []string{""}
			}
		}
	}
	for _, dir := range dirs {
		if dir == "" && runtime.GOOS == "windows" {
			continue
		}
		if !filepath.IsAbs(dir) {
			return "", fmt.Errorf("%w: %q", errRelativePath, dir)
		}
		at := filepath.Join(dir, name)
		if isExecutable(at) {
			return at, nil
		}
	}
	return "", nil
}

// mayBeRepository reports whether git could find a repository from a folder. If not, no process is
// needed.
func (g *Guard) mayBeRepository(folder string) bool {
	if _, err := os.Stat(folder); err != nil {
		return false // git can't start there
	}
	if slices.ContainsFunc(g.gitEnv, func(pair string) bool { return strings.HasPrefix(pair, "GIT_DIR=") }) {
		return true
	}
	for at := folder; ; at = filepath.Dir(at) {
		for _, name := range []string{".git", "HEAD"} { // a bare repository has HEAD
			if _, err := os.Lstat(filepath.Join(at, name)); !errors.Is(err, os.ErrNotExist) {
				return true
			}
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}
