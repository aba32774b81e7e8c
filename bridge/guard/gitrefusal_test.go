package guard

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// guardWithTrust returns a guard that reads git in the environment of a repository.
func (r *gitRepository) guardWithTrust(mode config.Mode, trust string) (*Guard, []*policy.Policy) {
	r.t.Helper()
	cfg := config.Default().Policy
	cfg.Mode, cfg.ProjectTrust = mode, trust
	p, err := policy.New(cfg, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	g := New(p, World(), NoRecord, slog.New(slog.DiscardHandler))
	g.SetGitEnv(r.env)
	return g, []*policy.Policy{p}
}

// A message is refused because of a repository's programs if Codex could run them for it: in a
// folder that the message names, or in the folders of its thread. The user's trust in a project
// counts only for its repository.
func TestGitProgramsOfMessage(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.git("config", "filter.x.clean", r.path("evil"))
	r.write("repository/folder/inner/.git/HEAD", "ref: refs/heads/main\n", 0o600)
	r.write("repository/folder/inner/.git/objects/x", "", 0o600)
	r.write("repository/folder/inner/.git/refs/x", "", 0o600)
	r.write("repository/folder/inner/.git/config", "[filter \"x\"]\nclean = "+r.path("evil")+"\n", 0o600)
	r.write("plain/file", "", 0o600)
	folder, plain := r.path("repository/folder"), r.path("plain")
	message := []byte(`{"id":1,"method":"m","params":{}}`)
	for name, test := range map[string]struct {
		d       policy.Decision
		thread  *policy.Thread
		stands  string
		mode    config.Mode
		trust   string
		refused bool
		hint    string
	}{
		"new thread":                      {d: policy.Decision{Sent: &policy.SentSettings{}, Workspace: folder}, trust: "user", refused: true, hint: `[projects."` + r.folder + `"] trust_level = "trusted"`},
		"new thread, nobody may trust":    {d: policy.Decision{Sent: &policy.SentSettings{}, Workspace: folder}, trust: "never", refused: true, hint: "(git config --global)"},
		"new thread elsewhere":            {d: policy.Decision{Sent: &policy.SentSettings{}, Workspace: plain}, trust: "user"},
		"new thread, trusted":             {d: policy.Decision{Sent: &policy.SentSettings{Project: r.folder}, Workspace: folder}, trust: "user"},
		"new thread, another is trusted":  {d: policy.Decision{Sent: &policy.SentSettings{Project: plain}, Workspace: folder}, trust: "user", refused: true},
		"repository in a trusted one":     {d: policy.Decision{Sent: &policy.SentSettings{Project: r.folder}, Workspace: filepath.Join(folder, "inner")}, trust: "user", refused: true},
		"resumed thread":                  {d: policy.Decision{Sent: &policy.SentSettings{}}, stands: folder, trust: "user", refused: true},
		"turn":                            {thread: &policy.Thread{ID: "t"}, trust: "user", refused: true, hint: "(git config --global)"},
		"turn, trusted":                   {thread: &policy.Thread{ID: "t", Project: r.folder}, trust: "user"},
		"another policy is about nothing": {thread: &policy.Thread{ID: "t"}, trust: "codex"},
		"no policy":                       {thread: &policy.Thread{ID: "t"}, mode: config.Off, trust: "user"},
		"neither":                         {d: policy.Decision{Message: []byte(`{"id":1,"method":"m","params":{"cwd":"` + filepath.ToSlash(folder) + `"}}`)}, trust: "user"},
		"denied anyway":                   {d: policy.Decision{Verdict: policy.Deny}, thread: &policy.Thread{ID: "t"}, trust: "user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.mode == "" {
				test.mode = config.Enforce
			}
			if test.d.Message == nil {
				test.d.Message = message
			}
			g, policies := r.guardWithTrust(test.mode, test.trust)
			g.threads.setVerified(map[string]*thread{"t": {openResult: document(t, `{"cwd":"`+filepath.ToSlash(folder)+`"}`)}})
			state := &policy.State{Thread: test.thread, ThreadFolder: test.stands}
			call := &bridge.ClientMessage{Message: &rpc.Message{Method: "m"}}
			refusal := g.checkGit(t.Context(), policies, call, test.d, state)
			if (refusal != nil) != test.refused {
				t.Fatalf("refused: %v", refusal)
			}
			if refusal == nil {
				return
			}
			data := string(refusal.Data)
			hint, _ := value(t, data).Get("hint").Text()
			if !strings.HasPrefix(hint, "remove the key, or move it") || !strings.HasSuffix(hint, test.hint) || !strings.Contains(refusal.Message, "filter.x.clean") {
				t.Errorf("%s %s", refusal.Message, data)
			}
			g.gitEnv = nil
			if refusal := g.checkGit(t.Context(), policies, call, test.d, state); refusal != nil {
				t.Errorf("without git: %v", refusal)
			}
		})
	}
}

func document(t *testing.T, text string) *rpc.Doc {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// If it is unknown which programs git would run, the refusal has the reason and a hint.
func TestGitRefusalOfUnreadable(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	g, _ := r.guardWithTrust(config.Enforce, "user")
	refuse := func(folder string) (message, hint string) {
		t.Helper()
		refusal := g.gitRefusal(t.Context(), "turn/start", "params.cwd", []string{folder}, "", true)
		if refusal == nil {
			t.Fatal("not refused")
		}
		hint, _ = value(t, string(refusal.Data)).Get("hint").Text()
		return refusal.Message, hint
	}
	r.write("repository/.git/config", "[broken\n", 0o600)
	if message, hint := refuse(r.folder); !strings.Contains(message, "can't be read: ") || !strings.Contains(message, "bad config") || !strings.Contains(hint, "git config --list") {
		t.Errorf("a broken configuration: %s; %s", message, hint)
	}
	g.SetGitEnv(append(slices.Clone(r.env), "PATH=bin"))
	if message, hint := refuse(r.folder); !strings.Contains(message, "could run a program of that folder") || !strings.Contains(hint, "PATH") {
		t.Errorf("a relative PATH: %s; %s", message, hint)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	g.SetGitEnv(r.env)
	r.write("repository/.git/config", "", 0o600)
	if keys, err := g.repositoryPrograms(ended, r.folder); err == nil {
		t.Errorf("after the end of the conversation: %q", keys)
	}
}

// Nothing is refused if git does not start: there is no git, no repository, or no folder.
func TestNoGitProgramsWhereGitDoesNotStart(t *testing.T) {
	t.Parallel()
	r := newGitRepository(t)
	r.git("config", "filter.x.clean", r.path("evil"))
	g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: []string{"PATH=" + r.path("nowhere")}}}}
	if keys, err := g.repositoryPrograms(t.Context(), r.folder); err != nil || keys != nil {
		t.Errorf("without git: %q, %v", keys, err)
	}
	g.gitEnv = append(slices.Clone(r.env), "GIT_DIR="+r.path("repository/.git"))
	if keys, err := g.repositoryPrograms(t.Context(), r.path("nowhere")); err != nil || keys != nil {
		t.Errorf("in a folder that does not exist: %q, %v", keys, err)
	}
	if keys, err := g.repositoryPrograms(t.Context(), r.root); err != nil || len(keys) != 1 {
		t.Errorf("with GIT_DIR: %q, %v", keys, err)
	}
	g.gitEnv = r.env
	for folder, want := range map[string]bool{r.folder: true, r.path("repository/folder"): true, r.path("repository/.git/refs"): true, r.path("nowhere"): false} {
		if got := g.mayBeRepository(folder); got != want {
			t.Errorf("%s may be a repository: %v", folder, got)
		}
	}
}

// A program that can't be executed is skipped, as execvp does. Names of variables are
// case-sensitive.
func TestFindGitPassesOver(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	folder := func(name string) string { return filepath.Join(root, name) }
	for _, name := range []string{"folder/git", "plain", "program"} {
		if err := os.MkdirAll(folder(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, mode := range map[string]os.FileMode{"plain/git": 0o600, "program/git": 0o700} {
		if err := os.WriteFile(folder(name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := strings.Join([]string{folder("none"), folder("folder"), folder("plain"), folder("program")}, string(filepath.ListSeparator))
	g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: []string{"PATH=" + path, "Path=/nowhere", "OTHER=/nowhere"}}}}
	if found, err := g.findGit(); err != nil || found != folder("program/git") {
		t.Errorf("found %q, %v", found, err)
	}
}

// An unknown thread has no folders, and invalid paths are skipped.
func TestWorkingFoldersOfUnknownThread(t *testing.T) {
	t.Parallel()
	g := &Guard{shared: &shared{world: World()}}
	if got := g.threads.workingFolders("t"); got != nil {
		t.Errorf("got %q", got)
	}
	if got := g.canonicalFolders([]string{"", "relative"}); got != nil {
		t.Errorf("got %q", got)
	}
}
