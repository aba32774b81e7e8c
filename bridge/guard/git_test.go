package guard

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	processes "codex-bridge.example/bridge/child"
)

// gitRepository is a repository with one commit. The program evil in it creates the file $RAN.
type gitRepository struct {
	t      *testing.T
	root   string // the folder of all files
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
		r.t.Fatalf("git %q: %v %s\n%s", args, err, ended.Status, ended.Stderr)
	}
	return strings.TrimSpace(string(ended.Stdout))
}

func (r *gitRepository) run(args ...string) (processes.Result, error) {
	return processes.Run(r.t.Context(), processes.Command{Args: append([]string{"git"}, args...), Dir: r.folder, Env: r.env, MaxStdout: 1 << 20, MaxStderr: 1 << 10})
}

// status runs git like Codex at the start of a turn, and reports whether git ran the program.
func (r *gitRepository) status() bool {
	r.t.Helper()
	r.write("repository/folder/file", "text\n", 0o600) // git must read it again
	// git fails if an object is missing.
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

// A program that git runs for Codex because of the repository's own configuration is found.
// Programs of the user's own configuration do not count.
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
		"partial clone by its filter alone": {func(r *gitRepository) {
			r.partial()
			r.git("config", "--unset", "extensions.partialClone")
			r.git("config", "remote.origin.partialclonefilter", "blob:none")
			r.git("config", "remote.origin.url", r.folder)
			r.git("config", "remote.origin.uploadpack", r.path("evil"))
		}, "remote.origin.uploadpack", true},
		"partial clone, promisor of the user": {func(r *gitRepository) {
			r.partial()
			r.git("config", "--unset", "extensions.partialClone")
			r.git("config", "--global", "remote.origin.promisor", "true")
			r.git("config", "core.sshCommand", r.path("evil"))
		}, "core.sshcommand", true},
		"partial clone, address in .git/remotes": {func(r *gitRepository) {
			r.partial()
			r.git("config", "--unset", "remote.origin.url")
			r.git("config", "--global", "protocol.ext.allow", "always")
			r.write("repository/.git/remotes/origin", "URL: ext::"+r.path("evil")+"\n", 0o600)
		}, "extensions.partialclone", true},
		"partial clone, address for a name": {func(r *gitRepository) {
			r.partial()
			r.git("config", "--global", "protocol.ext.allow", "always")
			r.git("config", "extensions.partialClone", "ext::"+r.path("evil"))
		}, "extensions.partialclone", true},
		"partial clone, insteadOf": {func(r *gitRepository) {
			r.partial()
			r.git("config", "--global", "protocol.ext.allow", "always")
			r.git("config", "url.ext:.insteadOf", "ssh")
			r.git("config", "remote.origin.url", "ssh:"+r.path("evil"))
		}, "url.ext:.insteadof", true},
		"hook of the configuration": {func(r *gitRepository) { r.git("config", "hook.x.command", r.path("evil")) }, "hook.x.command", false},
		"extension of git-lfs":      {func(r *gitRepository) { r.git("config", "lfs.extension.x.clean", r.path("evil")) }, "lfs.extension.x.clean", false},
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
			g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: r.env}}}
			keys, err := g.repositoryPrograms(t.Context(), r.folder)
			if err != nil {
				t.Fatal(err)
			}
			is := func(key gitKey) bool { return key.name == test.key }
			if (test.key == "") != (len(keys) == 0) || test.key != "" && !slices.ContainsFunc(keys, is) {
				t.Errorf("found %q, want %q", keys, test.key)
			}
			if runs := r.status(); runs != test.runs {
				t.Errorf("git ran the program: %v", runs)
			}
		})
	}
}

// In a partial clone the configuration of a repository can name a file of the user that git
// overwrites with the cookies of a server.
func TestRepositoryFileForCookies(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.git("clone", "-q", "--bare", r.folder, r.path("served"))
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	backend := &cgi.Handler{Path: git, Args: []string{"http-backend"}, Dir: r.root, Env: append(r.env, "GIT_PROJECT_ROOT="+r.root, "GIT_HTTP_EXPORT_ALL=1")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "x", Value: "$(evil)", MaxAge: 1000})
		backend.ServeHTTP(w, q)
	}))
	t.Cleanup(server.Close)
	r.partial()
	r.git("config", "remote.origin.url", server.URL+"/served")
	r.git("config", "http.cookieFile", r.path("profile"))
	r.git("config", "http.saveCookies", "true")
	r.write("profile", "the user's own\n", 0o600)
	g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: r.env}}}
	keys, err := g.repositoryPrograms(t.Context(), r.folder)
	if err != nil || len(keys) != 2 || keys[0].name != "http.cookiefile" {
		t.Errorf("found %q, %v", keys, err)
	}
	r.status()
	if text, err := os.ReadFile(r.path("profile")); err != nil || !strings.Contains(string(text), "$(evil)") {
		t.Errorf("control: git left the file as it was: %q, %v", text, err)
	}
}

// A configuration that git can't read, or that never ends, is an error.
func TestRepositoryProgramsUnreadable(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.write("repository/.git/config", "[broken\n", 0o600)
	g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: r.env}}}
	if keys, err := g.repositoryPrograms(t.Context(), r.folder); err == nil {
		t.Errorf("found %q", keys)
	}
	for _, output := range []string{"local\x00file:x\x00", "local\x00"} {
		if keys, err := programKeys(output, func(string) bool { return true }); err == nil {
			t.Errorf("%q: found %q", output, keys)
		}
	}
}

// These keys can't be tested with this git, or on a machine without git-lfs.
func TestProgramKeys(t *testing.T) {
	t.Parallel()
	const promisor = "remote.o.promisor\ntrue"
	for name, test := range map[string]struct {
		keys []string
		want string
	}{
		"git-lfs, other case":       {[]string{"lfs.Extension.X.clean\nevil"}, "lfs.Extension.X.clean"},
		"git-lfs, smudge":           {[]string{"lfs.extension.x.smudge\nevil"}, "lfs.extension.x.smudge"},
		"git-lfs, a line as a name": {[]string{"lfs.extension.x.clean=evil.y\n1"}, "lfs.extension.x.clean=evil.y"},
		"git-lfs, a line in a value": {
			[]string{"user.name\na\n LFS.extension.x.clean=evil"}, "user.name",
		},
		"git-lfs, priority":           {[]string{"lfs.extension.x.priority\n1", "user.name\nlfs.extension.x.clean"}, ""},
		"a hook without a program":    {[]string{"hook.x.event\npre-commit"}, ""},
		"maintenance":                 {[]string{promisor, "remote.o.url\nhttps://h/x", "gc.recentObjectsHook\nevil"}, "gc.recentObjectsHook"},
		"maintenance of a full clone": {[]string{"gc.recentobjectshook\nevil"}, ""},
		"a file of cookies":           {[]string{promisor, "remote.o.url\nhttps://h/x", "http.cookieFile\n/f"}, "http.cookieFile"},
		"cookies of an address":       {[]string{promisor, "remote.o.url\nhttps://h/x", "http.https://h/.saveCookies\ntrue"}, "http.https://h/.saveCookies"},
		"cookies of a full clone":     {[]string{"http.cookiefile\n/f"}, ""},
		"a proxy":                     {[]string{promisor, "remote.o.url\nhttps://h/x", "remote.o.proxy\nhttp://p"}, "remote.o.proxy"},
		"certificates":                {[]string{promisor, "remote.o.url\nhttps://h/x", "http.sslverify\nfalse"}, "http.sslverify"},
		"a header":                    {[]string{promisor, "remote.o.url\nhttps://h/x", "http.https://h/.extraheader\nx: y"}, ""},
		"a user's name":               {[]string{promisor, "remote.o.url\nhttps://h/x", "credential.https://h.username\na"}, ""},
		"passwords of other servers":  {[]string{promisor, "remote.o.url\nhttps://h/x", "credential.protectprotocol\nfalse"}, "credential.protectprotocol"},
		"a local address":             {[]string{promisor, "remote.o.url\n/x"}, "remote.o.url"},
		"a local address, by file":    {[]string{promisor, "remote.o.url\nfile:///x"}, "remote.o.url"},
		"an unknown scheme":           {[]string{promisor, "remote.o.url\nfoo://x"}, "remote.o.url"},
		"no address":                  {[]string{promisor, "remote.O.url\nhttps://h/x"}, "remote.o.promisor"},
		"an address as a name":        {[]string{promisor, "remote.o.url\nhttps://h/x", "remote.ext::evil.fetch\nx"}, "remote.ext::evil.fetch"},
		"addresses": {[]string{
			promisor, "remote.o.url\nhttps://h/x", "remote.p.url\nssh://h/x", "remote.q.url\ngit@h:x", "remote.r.url\nhost:/x",
			"url.git@h:.insteadof\nhttps://h/", "url.https://h/.insteadof\ngh:",
		}, ""},
		"no keys": {nil, ""},
		"other keys": {[]string{
			"filter.x.required\ntrue", "interactive.clean\nx", "x.process\ny", "hook.x.enabled\ntrue", "difftool.x.command\nx", "foo.clean\nx", "foo.smudge\nx",
		}, ""},
		"other keys of a partial clone": {[]string{
			promisor, "remote.o.url\nhttps://h/x", "gc.auto\n1", "credential.username\nx", "protocol.version\n2", "core.editor\nx", "remote.o.fetch\nx",
			"url.ext::x.pushinsteadof\nx", "foo.o.url\n/x", "remote.o.prune\ntrue",
		}, ""},
		"credential helper": {[]string{promisor, "remote.o.url\nhttps://h/x", "credential.helper\nevil"}, "credential.helper"},
		"protocol":          {[]string{promisor, "remote.o.url\nhttps://h/x", "protocol.ext.allow\nalways"}, "protocol.ext.allow"},
		"vcs":               {[]string{promisor, "remote.o.url\nhttps://h/x", "remote.o.vcs\next"}, "remote.o.vcs"},
		"askpass":           {[]string{promisor, "remote.o.url\nhttps://h/x", "core.askPass\nevil"}, "core.askPass"},
		"insteadOf, scheme": {[]string{promisor, "remote.o.url\nhttps://h/x", "url.host:.insteadof\nhttps:/"}, "url.host:.insteadof"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := ""
			for _, key := range test.keys {
				list += "local\x00file:.git/config\x00" + key + "\x00"
			}
			keys, err := programKeys(list, func(string) bool { return true })
			if err != nil {
				t.Fatal(err)
			}
			if test.want == "" && len(keys) > 0 || test.want != "" && (len(keys) != 1 || keys[0].name != test.want) {
				t.Errorf("found %q, want %q", keys, test.want)
			}
		})
	}
}

// GIT_CONFIG does not redirect the check, because git status ignores it.
func TestRepositoryProgramsIgnoreGitConfigVariable(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.write("repository/.gitattributes", "* filter=x\n", 0o600)
	r.write("empty", "", 0o600)
	r.git("config", "filter.x.clean", r.path("evil")+" clean")
	r.env = append(r.env, "GIT_CONFIG="+r.path("empty"))
	g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: r.env}}}
	keys, err := g.repositoryPrograms(t.Context(), r.folder)
	if err != nil || len(keys) != 1 || !r.status() {
		t.Errorf("found %q, %v", keys, err)
	}
}
