package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	processes "codex-bridge/bridge/child"
)

// gitRepository is a repository with one commit, in which $RAN is left by the program evil.
type gitRepository struct {
	t      *testing.T
	root   string // of all
	folder string
	env    []string
}

func newGitRepository(t *testing.T) *gitRepository {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &gitRepository{t: t, root: root, folder: filepath.Join(root, "repository")}
	r.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + root, "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0"}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		r.env = append(r.env, "GIT_"+who+"_NAME=a", "GIT_"+who+"_EMAIL=a@example.org")
	}
	r.write("evil", "#!/bin/sh\ntouch "+r.path("ran")+"\n[ \"$1\" != clean ] || cat\n", 0o700)
	r.write("repository/folder/file", "text\n", 0o600)
	r.git("init", "-q")
	r.git("add", ".")
	r.git("commit", "-qm", "first")
	return r
}

func (r *gitRepository) path(name string) string { return filepath.Join(r.root, name) }

func (r *gitRepository) write(name, text string, mode os.FileMode) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(name)), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(name), []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

func (r *gitRepository) git(args ...string) string {
	r.t.Helper()
	ended, err := r.run(args...)
	if err != nil || ended.Code != 0 {
		r.t.Fatalf("git %q: %v %s\n%s", args, err, ended.How, ended.Stderr)
	}
	return strings.TrimSpace(string(ended.Stdout))
}

func (r *gitRepository) run(args ...string) (processes.Result, error) {
	return processes.Run(r.t.Context(), processes.Command{Args: append([]string{"git"}, args...), Dir: r.folder, Env: r.env, Max: 1 << 20, Tail: 1 << 10})
}

// status runs git as Codex does at the start of a turn, and reports whether it ran the
// program.
func (r *gitRepository) status() bool {
	r.t.Helper()
	r.write("repository/folder/file", "text\n", 0o600) // git has to read it again
	// It fails where an object is missing.
	if _, err := r.run("-c", "safe.bareRepository=explicit", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
		"status", "--porcelain", "--ignore-submodules=dirty"); err != nil {
		r.t.Fatal(err)
	}
	_, err := os.Stat(r.path("ran"))
	_ = os.Remove(r.path("ran"))
	return err == nil
}

// partial makes the repository a partial clone in which the tree of the commit is missing.
func (r *gitRepository) partial() {
	tree := r.git("rev-parse", "HEAD^{tree}")
	if err := os.Remove(filepath.Join(r.folder, ".git", "objects", tree[:2], tree[2:])); err != nil {
		r.t.Fatal(err)
	}
	r.git("config", "core.repositoryformatversion", "1")
	r.git("config", "extensions.partialClone", "origin")
	r.git("config", "remote.origin.url", "ssh://localhost/x")
}

// What git runs for Codex because of a repository's own configuration is found, however the
// repository says it. What the user's own configuration names is not counted.
func TestRepositoryPrograms(t *testing.T) {
	t.Parallel()
	const attributes = "repository/.gitattributes"
	for name, test := range map[string]struct {
		set  func(r *gitRepository)
		key  string // "" none
		runs bool
	}{
		"clean":   {func(r *gitRepository) { r.git("config", "filter.x.clean", r.path("evil")+" clean") }, "filter.x.clean", true},
		"process": {func(r *gitRepository) { r.git("config", "filter.x.process", r.path("evil")) }, "filter.x.process", true},
		"other case, by hand": {func(r *gitRepository) {
			r.write("repository/.git/config", "[core]\nbare = false\n[FILTER \"x\"] cLEAN = "+r.path("evil")+" clean\n", 0o600)
		}, "filter.x.clean", true},
		"a name with dots": {func(r *gitRepository) {
			r.git("config", "filter.x.y.clean", r.path("evil")+" clean")
			r.write(attributes, "* filter=x.y\n", 0o600)
		}, "filter.x.y.clean", true},
		"include": {func(r *gitRepository) {
			r.write("repository/inc", "[filter \"x\"]\nclean = "+r.path("evil")+" clean\n", 0o600)
			r.git("config", "include.path", "../inc")
		}, "filter.x.clean", true},
		"conditional include": {func(r *gitRepository) {
			r.write("repository/inc", "[filter \"x\"]\nclean = "+r.path("evil")+" clean\n", 0o600)
			r.git("config", "includeIf.gitdir:"+r.folder+"/.path", "../inc")
		}, "filter.x.clean", true},
		"config.worktree": {func(r *gitRepository) {
			r.git("config", "extensions.worktreeConfig", "true")
			r.git("config", "--worktree", "filter.x.clean", r.path("evil")+" clean")
		}, "filter.x.clean", true},
		"linked worktree": {func(r *gitRepository) {
			r.git("config", "filter.x.clean", r.path("evil")+" clean")
			r.git("worktree", "add", "-q", r.path("linked"))
			r.write("linked/.gitattributes", "* filter=x\n", 0o600)
			r.folder = r.path("linked")
			r.write("linked/folder/file", "text\n", 0o600)
		}, "filter.x.clean", true},
		".git elsewhere": {func(r *gitRepository) {
			r.git("config", "filter.x.clean", r.path("evil")+" clean")
			if err := os.Rename(filepath.Join(r.folder, ".git"), r.path("elsewhere")); err != nil {
				r.t.Fatal(err)
			}
			r.write("repository/.git", "gitdir: ../elsewhere\n", 0o600)
		}, "filter.x.clean", true},
		"a folder of it": {func(r *gitRepository) {
			r.git("config", "filter.x.clean", r.path("evil")+" clean")
			r.folder = filepath.Join(r.folder, "folder")
		}, "filter.x.clean", true},
		"partial clone, ssh": {func(r *gitRepository) {
			r.partial()
			r.git("config", "core.sshCommand", r.path("evil"))
		}, "core.sshcommand", true},
		"partial clone, uploadpack": {func(r *gitRepository) {
			r.partial()
			r.git("config", "remote.origin.url", r.folder)
			r.git("config", "remote.origin.uploadpack", r.path("evil"))
		}, "remote.origin.uploadpack", true},
		"partial clone, ext": {func(r *gitRepository) {
			r.partial()
			r.git("config", "--unset", "extensions.partialClone")
			r.git("config", "remote.origin.promisor", "true")
			r.git("config", "remote.origin.url", "ext::"+r.path("evil"))
			r.git("config", "protocol.ext.allow", "always")
		}, "remote.origin.url", true},
		"partial clone, vcs": {func(r *gitRepository) {
			r.partial()
			r.git("config", "remote.origin.vcs", "ext")
		}, "remote.origin.vcs", false},
		"partial clone, proxy": {func(r *gitRepository) {
			r.partial()
			r.git("config", "core.gitProxy", r.path("evil"))
			r.git("config", "remote.origin.url", "git://localhost/x")
		}, "core.gitproxy", true},
		// No program, or none that git runs here.
		"nothing": {set: func(*gitRepository) {}},
		"the user's filter": {set: func(r *gitRepository) {
			r.git("config", "--global", "filter.x.clean", r.path("evil")+" clean")
		}, runs: true},
		"ssh": {set: func(r *gitRepository) { r.git("config", "core.sshCommand", r.path("evil")) }},
		"partial clone": {set: func(r *gitRepository) {
			r.git("config", "core.repositoryformatversion", "1")
			r.git("config", "extensions.partialClone", "origin")
			r.git("config", "remote.origin.url", "https://localhost/x")
		}},
		"hooks, fsmonitor, pager, diff, alias": {set: func(r *gitRepository) {
			for _, key := range []string{"core.fsmonitor", "core.pager", "pager.status", "diff.external", "diff.x.textconv", "diff.x.command", "alias.status", "core.editor", "gpg.program", "merge.x.driver"} {
				r.git("config", key, r.path("evil"))
			}
			r.git("config", "core.hooksPath", r.root)
			r.write("post-index-change", "#!/bin/sh\ntouch "+r.path("ran")+"\n", 0o700)
			r.write(attributes, "* diff=x merge=x\n", 0o600)
		}},
		"no repository": {set: func(r *gitRepository) { r.folder = r.root }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitRepository(t)
			r.write(attributes, "* filter=x\n", 0o600)
			test.set(r)
			g := &Guard{gitEnv: r.env}
			keys, err := g.repositoryPrograms(t.Context(), r.folder)
			if err != nil {
				t.Fatal(err)
			}
			found := ""
			if len(keys) > 0 {
				found = keys[0].name
			}
			if found != test.key {
				t.Errorf("found %q, wanted %q", keys, test.key)
			}
			if runs := r.status(); runs != test.runs {
				t.Errorf("git ran the program: %v", runs)
			}
		})
	}
}

// A configuration that git can't read, or never ends to read, is an error.
func TestRepositoryProgramsUnreadable(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.write("repository/.git/config", "[broken\n", 0o600)
	g := &Guard{gitEnv: r.env}
	if keys, err := g.repositoryPrograms(t.Context(), r.folder); err == nil {
		t.Errorf("found %q", keys)
	}
	for _, output := range []string{"local\x00file:x\x00", "local\x00"} {
		if keys, err := programKeys(output); err == nil {
			t.Errorf("%q: found %q", output, keys)
		}
	}
}
