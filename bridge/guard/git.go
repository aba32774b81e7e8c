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

	"codex-bridge/bridge"
	processes "codex-bridge/bridge/child"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// Codex runs git in the folder of a thread, outside of any sandbox.
//
// Measured with Codex 0.169: `git status` at the start of every turn and after thread/fork,
// rev-parse and remote when a thread is opened, with -c safe.bareRepository=explicit,
// core.hooksPath=/dev/null, core.fsmonitor=false and --ignore-submodules=dirty. So hooks,
// fsmonitor and submodules run nothing. What still runs is a clean filter
// (filter.NAME.clean or .process) and, in a partial clone whose objects are missing, the
// programs that fetch them.

// gitTimeout bounds the reading of a repository's configuration. It takes milliseconds; a
// configuration that includes a pipe never ends.
const gitTimeout = 10 * time.Second

// gitKey is a key of a repository's own git configuration.
type gitKey struct{ name, origin string }

// ReadsGit has the guard refuse folders whose repository names programs that git would run
// for Codex. env is the environment of Codex.
func (g *Guard) ReadsGit(env []string) { g.gitEnv = env }

// gitPrograms returns the refusal of a message that has Codex run git where the
// repository's own configuration names a program that git would run; nil: it may pass.
func (g *Guard) gitPrograms(ctx context.Context, policies []*policy.Policy, call *bridge.Call, d policy.Decision, state *policy.State) *rpc.Error {
	holds := func(p *policy.Policy) bool { return p.Mode() != config.Off && p.ProjectTrust() != "codex" }
	if g.gitEnv == nil || d.Verdict == policy.Deny || d.Sent == nil && state.Thread == nil || !slices.ContainsFunc(policies, holds) {
		return nil
	}
	trusted := "" // the project whose own configuration the user trusts
	switch {
	case d.Sent != nil:
		trusted = d.Sent.Project
	case state.Thread != nil:
		trusted = state.Thread.Project
	}
	for _, folder := range g.gitFolders(d, state) {
		keys, err := g.repositoryPrograms(ctx, folder)
		refusal := policy.Refusal{Method: call.Method, Rule: "policy.project_trust", Field: "params.cwd"}
		switch {
		case err != nil:
			refusal.Reason = "the git configuration of " + folder + " can't be read: " + err.Error()
			refusal.Mend = "make \"git config --list --show-scope\" work in that folder"
		case len(keys) == 0 || g.sameRepository(folder, trusted):
			continue
		default:
			refusal.Reason = fmt.Sprintf("codex runs git in %s, outside of the sandbox, and git would run the program that the repository's own configuration names in %s (%s)",
				folder, keys[0].name, keys[0].origin)
			refusal.Mend = "remove the key, or move it to your own git configuration (git config --global)"
			if d.Sent != nil && policies[0].ProjectTrust() == "user" {
				refusal.Mend += "; or trust the project in codex's own config.toml: [projects." + fmt.Sprintf("%q", g.repositoryOf(folder)) + "] trust_level = \"trusted\""
			}
		}
		return policy.Refused(rpc.CodeRefused, refusal)
	}
	return nil
}

// gitFolders are the folders in which Codex may run git because of a message: those that it
// names, and the one that the thread works in.
func (g *Guard) gitFolders(d policy.Decision, state *policy.State) []string {
	var folders []string
	add := func(folder string) {
		if at, err := g.world.Paths.Canonical(folder); err == nil && !slices.Contains(folders, at) {
			folders = append(folders, at)
		}
	}
	if d.Sent != nil {
		add(d.Workspace)
		add(state.Stands)
	}
	if state.Thread != nil {
		add(g.threads.folder(state.Thread.ID))
	}
	if m, err := rpc.ParseMessage(d.Message); err == nil {
		named := func(v rpc.Value) {
			text, _ := v.Get("cwd").Text()
			add(text)
			for root := range v.Get("runtimeWorkspaceRoots").Elements() {
				text, _ := root.Text()
				add(text)
			}
		}
		named(m.Params)
		for environment := range m.Params.Get("environments").Elements() {
			named(environment)
		}
	}
	return folders
}

// folder is the folder that a thread works in now, as Codex has said last; "" unknown.
func (t *threads) folder(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.known[id]
	if one == nil {
		return ""
	}
	cwd, _ := one.opened.Root().Get("cwd").Text()
	if one.settings != nil {
		if now, ok := one.settings.Root().Get("cwd").Text(); ok {
			cwd = now
		}
	}
	return cwd
}

// sameRepository reports whether a folder belongs to the repository of a trusted project. A
// repository inside of it does not: commands could have made it.
func (g *Guard) sameRepository(folder, trusted string) bool {
	return trusted != "" && (folder == trusted || g.repositoryOf(folder) == g.repositoryOf(trusted))
}

// repositoryOf is the root of a folder's repository; the folder itself if it has none.
func (g *Guard) repositoryOf(folder string) string {
	if g.world.Repositories != nil {
		if roots, err := g.world.Repositories.Roots(folder); err == nil && len(roots) > 0 {
			return roots[0]
		}
	}
	return folder
}

// repositoryPrograms lists the keys of a repository's own git configuration that name
// programs which git runs for Codex. git itself reads the configuration, in the environment
// and with the options of Codex; that runs nothing.
func (g *Guard) repositoryPrograms(ctx context.Context, folder string) ([]gitKey, error) {
	git := g.findGit()
	if git == "" || !g.mayBeRepository(folder) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git has not ended within %s", gitTimeout))
	defer cancel()
	ended, err := processes.Run(ctx, processes.Command{
		Args: []string{git, "-c", "safe.bareRepository=explicit", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
			"config", "--list", "--includes", "--show-scope", "--show-origin", "-z"},
		Dir: folder, Env: g.gitEnv, Max: 4 << 20, Tail: 1 << 10,
	})
	switch {
	case err != nil:
		return nil, err
	case ended.Code != 0:
		return nil, errors.New(strings.TrimSpace(ended.How + ": " + string(ended.Stderr)))
	}
	return programKeys(string(ended.Stdout))
}

// programKeys reads the output of git config --list --show-scope --show-origin -z: scope,
// origin, and name with value, each ended by NUL.
func programKeys(list string) ([]gitKey, error) {
	fields := strings.Split(strings.TrimSuffix(list, "\x00"), "\x00")
	if list == "" {
		return nil, nil
	}
	if len(fields)%3 != 0 {
		return nil, errors.New("its output has an unknown form")
	}
	var filters, fetchers []gitKey
	partial := false
	for i := 0; i < len(fields); i += 3 {
		switch fields[i] {
		case "system", "global", "command":
			continue // the user's own
		}
		name, value, _ := strings.Cut(fields[i+2], "\n")
		key := gitKey{name, strings.TrimPrefix(fields[i+1], "file:")}
		lower := strings.ToLower(name)
		switch {
		case strings.HasPrefix(lower, "filter.") && (strings.HasSuffix(lower, ".clean") || strings.HasSuffix(lower, ".process")):
			filters = append(filters, key)
		case lower == "extensions.partialclone", strings.HasPrefix(lower, "remote.") && strings.HasSuffix(lower, ".promisor"):
			partial = true
		case fetches(lower, value):
			fetchers = append(fetchers, key)
		}
	}
	if partial {
		filters = append(filters, fetchers...)
	}
	return filters, nil
}

// fetches reports whether a key names a program that git fetch runs, or a transport that
// is one. name is in lower case.
func fetches(name, value string) bool {
	switch name {
	case "core.sshcommand", "core.gitproxy", "core.askpass", "core.alternaterefscommand":
		return true
	}
	section, rest, _ := strings.Cut(name, ".")
	last := rest[strings.LastIndexByte(rest, '.')+1:]
	switch section {
	case "remote":
		return last == "uploadpack" || last == "vcs" || last == "url" && strings.Contains(value, "::")
	case "url": // the subsection takes the place of what the value is
		return strings.Contains(rest, "::")
	case "credential":
		return last == "helper"
	case "protocol":
		return last == "allow"
	}
	return false
}

// findGit is the git that Codex finds; "" none.
func (g *Guard) findGit() string {
	name, path := "git", ""
	if runtime.GOOS == "windows" {
		name = "git.exe"
	}
	for _, pair := range g.gitEnv {
		if key, value, _ := strings.Cut(pair, "="); key == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(key, "PATH") {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		at := filepath.Join(dir, name)
		if info, err := os.Stat(at); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && (runtime.GOOS == "windows" || info.Mode()&0o111 != 0) {
			return at
		}
	}
	return ""
}

// mayBeRepository reports whether git could find a repository from a folder. It spares the
// start of a process where there is none.
func (g *Guard) mayBeRepository(folder string) bool {
	if _, err := os.Stat(folder); err != nil {
		return false // git can't start there
	}
	if slices.ContainsFunc(g.gitEnv, func(pair string) bool { return strings.HasPrefix(pair, "GIT_DIR=") }) {
		return true
	}
	for at := folder; ; at = filepath.Dir(at) {
		for _, name := range []string{".git", "HEAD"} { // a bare one has HEAD
			if _, err := os.Lstat(filepath.Join(at, name)); !errors.Is(err, os.ErrNotExist) {
				return true
			}
		}
		if filepath.Dir(at) == at {
			return false
		}
	}
}
