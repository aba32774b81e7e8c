package guard

import (
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// gitFolders returns each folder of a message, and those of the last settings that Codex reported
// for the thread.
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
	g := &Guard{shared: &shared{world: World()}}
	g.threads.setVerified(map[string]*thread{"t": {
		openResult:   parse(`{"cwd":"$old","runtimeWorkspaceRoots":["$root"]}`),
		lastSettings: parse(`{"cwd":"$now","environments":[{"environmentId":"local","cwd":"$env","runtimeWorkspaceRoots":["$envroot"]}]}`),
	}})
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
	g := &Guard{shared: &shared{sharedOptions: sharedOptions{gitEnv: []string{"PATH=" + root}}, world: World()}}
	if err := g.gitRefusal(t.Context(), "turn/start", "", g.canonicalFolders(folders), "", false); err == nil || !strings.Contains(err.Message, "more than 16 folders") {
		t.Errorf("too many: %v", err)
	}
	if err := g.gitRefusal(t.Context(), "turn/start", "", g.canonicalFolders(append(folders[:maxGitFolders], folders[0])), "", false); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
}

// A tool that starts a turn of a subagent is refused if a message that starts a turn would be.
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
			g.SetGitEnv(r.env)
			parent := &policy.Thread{ID: "t", Project: test.trusted}
			if name == "moved thread" {
				parent.Workspace = r.folder
			}
			g.threads.setVerified(map[string]*thread{"t": {Thread: *parent, openResult: new(rpc.Doc)}})
			use := toolcall.Call{Name: test.tool, Cwd: test.cwd}
			refusal := g.checkAgentGit(t.Context(), []*policy.Policy{p}, use, parent)
			if (refusal != nil) != test.refused || refusal != nil && !strings.Contains(refusal.Message, "filter.x.clean") {
				t.Errorf("refusal: %v", refusal)
			}
			if ruling := g.Tool(t.Context(), "t", "", use, []byte(`{}`)); name == "spawn" && !strings.Contains(ruling.Refusal, "filter.x.clean") {
				t.Errorf("ruling: %+v", ruling)
			}
		})
	}
}
