package guard

import (
	"log/slog"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	processes "codex-bridge/bridge/child"
	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
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
			g := &Guard{gitEnv: r.env}
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

// A file that the user's own configuration includes is not the user's own where commands can write
// it: in the repository, in the workspace of a thread, in a temporary folder. That of the user is
// mounted read-only.
func TestUserConfigurationThatCommandsCanWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file  string
		world func(r *gitRepository) policy.State
		found bool
	}{
		"in the repository": {file: "repository/inc", found: true},
		"protected": {file: "repository/inc", world: func(r *gitRepository) policy.State {
			return policy.State{Programs: []string{r.path("repository/inc")}}
		}},
		"in a temporary folder": {file: "temp/inc", world: func(r *gitRepository) policy.State {
			return policy.State{Temps: []policy.TempFolder{{Path: r.path("temp")}}}
		}, found: true},
		"elsewhere": {file: "elsewhere/inc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newGitRepository(t)
			r.write(test.file, "[filter \"x\"]\nclean = "+r.path("evil")+" clean\n", 0o600)
			r.write("repository/.gitattributes", "* filter=x\n", 0o600)
			r.git("config", "--global", "include.path", r.path(test.file))
			g := &Guard{gitEnv: r.env}
			if test.world != nil {
				g.world = test.world(r)
			}
			keys, err := g.repositoryPrograms(t.Context(), r.folder)
			if err != nil || (len(keys) > 0) != test.found || !r.status() {
				t.Errorf("found %q, %v", keys, err)
			}
		})
	}
}

// What a thread below the top of a repository can reach of it counts, too.
func TestUserConfigurationAboveTheFolder(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.write("repository/inc", "[filter \"x\"]\nclean = evil\n", 0o600)
	r.write("repository/sub/file", "", 0o600)
	r.git("config", "--global", "include.path", r.path("repository/inc"))
	keys, err := (&Guard{gitEnv: r.env}).repositoryPrograms(t.Context(), r.path("repository/sub"))
	if err != nil || len(keys) != 1 {
		t.Errorf("found %q, %v", keys, err)
	}
}

// Keys of git's own command line are those of Codex; those of the machine and the user are theirs
// unless commands can write the file.
func TestProgramKeysByScope(t *testing.T) {
	t.Parallel()
	for scope, want := range map[string]int{"command": 0, "system": 1, "global": 1, "local": 2, "worktree": 2} {
		list := ""
		for _, file := range []string{"own", "other"} {
			list += scope + "\x00file:" + file + "\x00filter.x.clean\nevil\x00"
		}
		keys, err := programKeys(list, func(file string) bool { return file == "own" })
		if err != nil || len(keys) != want {
			t.Errorf("%s: found %q, %v", scope, keys, err)
		}
	}
}

// The files of git's that are the user's are found as git finds them.
func TestGitFiles(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ env, want []string }{
		{nil, []string{home + "/.gitconfig", home + "/.config/git/config"}},
		{[]string{"HOME=/h"}, []string{"/h/.gitconfig", "/h/.config/git/config"}},
		{[]string{"HOME=/h", "XDG_CONFIG_HOME=/x", "GIT_CONFIG_GLOBAL=/g", "GIT_CONFIG_SYSTEM=s"}, []string{"/g", "/h/.gitconfig", "/x/git/config"}},
	} {
		var got []string
		for _, file := range gitFiles(test.env) {
			got = append(got, filepath.ToSlash(file))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%q: %q, want %q", test.env, got, test.want)
		}
	}
}

// In a partial clone the configuration of a repository names a file of the user's that git
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
	g := &Guard{gitEnv: r.env}
	keys, err := g.repositoryPrograms(t.Context(), r.folder)
	if err != nil || len(keys) != 2 || keys[0].name != "http.cookiefile" {
		t.Errorf("found %q, %v", keys, err)
	}
	r.status()
	if text, err := os.ReadFile(r.path("profile")); err != nil || !strings.Contains(string(text), "$(evil)") {
		t.Errorf("control: git left the file as it was: %q, %v", text, err)
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
		if keys, err := programKeys(output, func(string) bool { return true }); err == nil {
			t.Errorf("%q: found %q", output, keys)
		}
	}
}

// Keys that this git, or a machine without git-lfs, can't show to run a program.
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

// GIT_CONFIG does not redirect what the guard reads: git status does not heed it.
func TestRepositoryProgramsIgnoreGitConfigVariable(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.write("repository/.gitattributes", "* filter=x\n", 0o600)
	r.write("empty", "", 0o600)
	r.git("config", "filter.x.clean", r.path("evil")+" clean")
	r.env = append(r.env, "GIT_CONFIG="+r.path("empty"))
	g := &Guard{gitEnv: r.env}
	keys, err := g.repositoryPrograms(t.Context(), r.folder)
	if err != nil || len(keys) != 1 || !r.status() {
		t.Errorf("found %q, %v", keys, err)
	}
}

// gitFolders names every folder of a message and of the thread, as Codex has said last.
func TestGitFolders(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) *rpc.Doc {
		doc, err := rpc.ParseValue([]byte(strings.ReplaceAll(text, "$", root+"/")))
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	g := &Guard{world: World()}
	g.threads.known = map[string]*thread{"t": {
		opened:   parse(`{"cwd":"$old","runtimeWorkspaceRoots":["$root"]}`),
		settings: parse(`{"cwd":"$now","environments":[{"environmentId":"local","cwd":"$env","runtimeWorkspaceRoots":["$envroot"]}]}`),
	}}
	message := func(params string) []byte {
		return []byte(strings.ReplaceAll(`{"id":1,"method":"turn/start","params":`+params+`}`, "$", root+"/"))
	}
	for name, test := range map[string]struct {
		d    policy.Decision
		want []string
	}{
		"turn": {
			policy.Decision{Message: message(`{"threadId":"t","cwd":"$m","runtimeWorkspaceRoots":["$mroot"],"environments":[{"cwd":"$menv","runtimeWorkspaceRoots":["$mroot","$menvroot"]}]}`)},
			[]string{"now", "root", "env", "envroot", "m", "mroot", "menv", "menvroot"},
		},
		"turn that names none": {policy.Decision{Message: message(`{"threadId":"t"}`)}, []string{"now", "root", "env", "envroot"}},
	} {
		state := policy.State{Thread: &policy.Thread{ID: "t"}}
		var got []string
		for _, folder := range g.gitFolders(test.d, &state) {
			got = append(got, filepath.Base(folder))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// A message may name no more folders than maxGitFolders.
func TestGitFoldersAreBounded(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	var folders []string
	for i := range 3 * maxGitFolders {
		folders = append(folders, filepath.Join(root, strconv.Itoa(i)))
	}
	g := &Guard{gitEnv: []string{"PATH=" + root}, world: World()}
	if err := g.gitRefusal(t.Context(), "turn/start", "", g.canonicalFolders(folders), "", false); err == nil || !strings.Contains(err.Message, "more than 16 folders") {
		t.Errorf("too many: %v", err)
	}
	if err := g.gitRefusal(t.Context(), "turn/start", "", g.canonicalFolders(append(folders[:maxGitFolders], folders[0])), "", false); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
}

// Tools that give a subagent a turn are refused where a message that starts one would be.
func TestAgentPrograms(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.git("config", "filter.x.clean", r.path("evil"))
	r.write("plain/file", "", 0o600)
	for name, test := range map[string]struct {
		tool, cwd, trust, trusted string
		refused                   bool
	}{
		"spawn":            {tool: "spawn_agent", cwd: r.folder, refused: true},
		"with a namespace": {tool: "multi_agent_v1resume_agent", cwd: r.folder, refused: true},
		"input":            {tool: "send_input", cwd: r.folder, refused: true},
		"task":             {tool: "followup_task", cwd: r.folder, refused: true},
		"moved thread":     {tool: "spawn_agent", cwd: r.path("plain"), refused: true},
		"command":          {tool: "Bash", cwd: r.folder},
		"server's tool":    {tool: "mcp__x__spawn_agent", cwd: r.folder},
		"codex's trust":    {tool: "spawn_agent", cwd: r.folder, trust: "codex"},
		"trusted":          {tool: "spawn_agent", cwd: r.folder, trusted: r.folder},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.trust == "" {
				test.trust = "never"
			}
			cfg := config.Default().Policy
			cfg.Mode, cfg.ProjectTrust = config.Enforce, test.trust
			p, err := policy.New(cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			g := New(p, World(), NoRecord, slog.New(slog.DiscardHandler))
			g.ReadsGit(r.env)
			thread := &policy.Thread{ID: "t", Project: test.trusted}
			if name == "moved thread" {
				thread.Workspace = r.folder
			}
			use := policy.ToolUse{Name: test.tool, Cwd: test.cwd}
			refusal := g.agentPrograms(t.Context(), []*policy.Policy{p}, use, thread)
			if (refusal != nil) != test.refused || refusal != nil && !strings.Contains(refusal.Message, "filter.x.clean") {
				t.Errorf("refusal: %v", refusal)
			}
			if ruling := g.Tool(t.Context(), "t", "", use, []byte(`{}`)); name == "spawn" && !strings.Contains(ruling.Refusal, "filter.x.clean") {
				t.Errorf("ruling: %+v", ruling)
			}
		})
	}
}
