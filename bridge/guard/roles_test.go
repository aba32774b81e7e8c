package guard

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

// agentWorld is a guard with its own folders, whose policy limits the models of agents.
type agentWorld struct {
	t      *testing.T
	g      *Guard
	c      *bridgetest.Conversation
	root   string
	thread *policy.Thread
	asked  int
}

func newAgentWorld(t *testing.T, change func(*config.Policy)) *agentWorld {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cfg := config.Default().Policy
	cfg.Mode, cfg.Models = config.Enforce, []string{"gpt-5.5"}
	if change != nil {
		change(&cfg)
	}
	p, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	world := World()
	world.CodexHome = filepath.Join(root, "home")
	w := &agentWorld{t: t, g: New(p, world, NoRecord, slog.New(slog.DiscardHandler)), root: root}
	w.thread = &policy.Thread{ID: "t", Workspace: filepath.Join(root, "project", "folder"), Projects: []string{filepath.Join(root, "project")}}
	return w
}

func (w *agentWorld) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// start starts a conversation. Codex's responses are read after the client has sent a message.
func (w *agentWorld) start() {
	w.t.Helper()
	if w.c == nil {
		w.c = bridgetest.Start(w.t, w.g)
		const first = `{"id":1,"method":"model/list","params":{}}`
		w.c.Play("start", "editor> "+first+"\ncodex<= "+first+"\n")
	}
}

// answer waits for a request of the bridge as Codex, and answers it.
func (w *agentWorld) answer(method, params, answer string) {
	w.t.Helper()
	w.asked++
	id := `"$own` + strconv.Itoa(w.asked) + `"`
	w.c.Play(method, `codex<  {"id":`+id+`,"method":"`+method+`","params":`+params+`}
codex>  {"id":`+id+`,`+answer+`}
`)
}

// spawns returns the settings of an agent if Codex's configuration has these agents.
func (w *agentWorld) spawns(agents, input string) *policy.AgentSettings {
	w.t.Helper()
	w.start()
	use := toolcall.Call{Name: "multi_agent_v1spawn_agent", Input: value(w.t, input)}
	found := make(chan *policy.AgentSettings, 1)
	go func() { found <- w.g.agentSettings(w.t.Context(), w.g.policy.Load(), w.thread, use) }()
	cwd, err := json.Marshal(w.thread.Workspace)
	if err != nil {
		w.t.Fatal(err)
	}
	w.answer("config/read", `{"cwd":`+string(cwd)+`,"includeLayers":false}`, strings.ReplaceAll(agents, "$ROOT", filepath.ToSlash(w.root)))
	return <-found
}

func value(t *testing.T, text string) rpc.Value {
	t.Helper()
	doc, err := rpc.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc.Root()
}

func configured(agents string) string { return `"result":{"config":{"agents":` + agents + `}}` }

// A new agent gets the settings for all agents in Codex's configuration, those of its role in the
// configuration and the files, and none of another role.
func TestSpawnedAgentSettings(t *testing.T) {
	const declared = `{"max_threads":4,"other":{"description":"x"},"none":{"config_file":null},
		"reviewer":{"config_file":"$ROOT/elsewhere/r.toml"},"named":{"config_file":"$ROOT/elsewhere/named.toml"}}`
	declaredLine := configured(strings.Join(strings.Fields(declared), ""))
	for name, test := range map[string]struct {
		agents, input   string
		models, efforts []string
	}{
		"nothing is set":              {`"result":{"config":{}}`, `{}`, nil, nil},
		"defaults":                    {configured(`{"default_subagent_model":"m","default_subagent_reasoning_effort":"high"}`), `{}`, []string{"m"}, []string{"high"}},
		"a declared role":             {declaredLine, `{"agent_type":"reviewer"}`, []string{"r"}, []string{"low"}},
		"another role":                {declaredLine, `{"agent_type":"worker"}`, nil, nil},
		"the default role":            {declaredLine, `{"agent_type":null}`, nil, nil},
		"by the name of its file":     {declaredLine, `{"agent_type":"alias"}`, []string{"n"}, nil},
		"by its name, the file's too": {declaredLine, `{"agent_type":"named"}`, []string{"n"}, nil},
		"of the user":                 {configured(`{}`), `{"agent_type":"user"}`, []string{"u"}, nil},
		"of the project":              {configured(`{}`), `{"agent_type":"project"}`, []string{"p"}, nil},
		"above the project":           {configured(`{}`), `{"agent_type":"above"}`, []string{"a"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			w.write("elsewhere/r.toml", "model = \"r\"\nmodel_reasoning_effort = \"low\"\n")
			w.write("elsewhere/named.toml", "name = \" alias \"\nmodel = \"n\"\n")
			w.write("home/agents/deep/u.toml", "name = \"user\"\nmodel = \"u\"\n")
			w.write("home/agents/deep/note.txt", "no TOML")
			w.write("home/agents/folder.toml/x", "")
			w.write("project/.codex/agents/p.toml", "name = \"project\"\nmodel = \"p\"\n")
			w.write(".codex/agents/a.toml", "name = \"above\"\nmodel = \"a\"\n")
			if name == "of the user" {
				if err := os.RemoveAll(filepath.Join(w.root, "project/.codex")); err != nil {
					t.Fatal(err)
				}
				w.write("project/.codex", "a file")
			}
			found := w.spawns(test.agents, test.input)
			if found.UnknownReason != "" || !slices.Equal(found.Models, test.models) || !slices.Equal(found.Efforts, test.efforts) {
				t.Errorf("got %+v, want %q %q", found, test.models, test.efforts)
			}
		})
	}
}

// A file that names no role applies to each role. A file of a project applies only if the project
// is trusted.
func TestFileWithoutNameIsOfEachRole(t *testing.T) {
	w := newAgentWorld(t, nil)
	w.write("home/agents/x.toml", "model = \"x\"\n")
	w.write("project/.codex/agents/p.toml", "model = \"p\"\n")
	if found := w.spawns(configured(`{}`), `{"agent_type":"any"}`); !slices.Equal(found.Models, []string{"x", "p"}) {
		t.Errorf("got %+v", found)
	}
	w.thread.Projects = nil
	if found := w.spawns(configured(`{}`), `{"agent_type":"any"}`); !slices.Equal(found.Models, []string{"x"}) {
		t.Errorf("of a project that is not trusted: %+v", found)
	}
}

// A file or response that can't be read makes the settings unknown, with the reason.
func TestUnknownAgentSettings(t *testing.T) {
	for name, test := range map[string]struct {
		set    func(w *agentWorld)
		agents string
		want   string
	}{
		"codex rejects":               {nil, `"error":{"code":-32600,"message":"no"}`, "configuration can't be read"},
		"a relative path":             {nil, configured(`{"x":{"config_file":"r.toml"}}`), "agents.x.config_file is not an absolute path"},
		"a path that is not a string": {nil, configured(`{"x":{"config_file":7}}`), "agents.x.config_file is not an absolute path"},
		"a missing file":              {nil, configured(`{"x":{"config_file":"$ROOT/none.toml"}}`), "none.toml can't be read"},
		"no TOML": {func(w *agentWorld) { w.write("home/agents/x.toml", "[") },
			configured(`{}`), "x.toml can't be read"},
		"a model that is not a string": {func(w *agentWorld) { w.write("home/agents/x.toml", "model = 1\n") },
			configured(`{}`), "model of the role in"},
		"a profile": {func(w *agentWorld) { w.write("home/agents/x.toml", "profile = \"p\"\n") },
			configured(`{}`), "names a profile"},
		"profiles": {func(w *agentWorld) { w.write("home/agents/x.toml", "[profiles.p]\n") },
			configured(`{}`), "names a profile"},
		"a loop": {func(w *agentWorld) {
			w.write("home/x", "")
			at := filepath.Join(w.root, "home", "agents")
			if err := os.Symlink(at, at); err != nil {
				w.t.Fatal(err)
			}
		}, configured(`{}`), "roles can't be read"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			if test.set != nil {
				test.set(w)
			}
			if found := w.spawns(test.agents, `{}`); !strings.Contains(found.UnknownReason, test.want) {
				t.Errorf("got %+v, want %q", found, test.want)
			}
		})
	}

	w := newAgentWorld(t, nil)
	agent := func(thread *policy.Thread, input string) *policy.AgentSettings {
		return w.g.agentSettings(t.Context(), w.g.policy.Load(), thread, toolcall.Call{Name: "spawn_agent", Input: value(t, input)})
	}
	if found := agent(nil, `{}`); !strings.Contains(found.UnknownReason, "thread is not known") {
		t.Errorf("a thread that is not known: %+v", found)
	}
	if found := agent(w.thread, `{"agent_type":7}`); !strings.Contains(found.UnknownReason, "not a string") {
		t.Errorf("a role that is not a string: %+v", found)
	}
}

// Only calls that start or resume an agent get settings, and only if the policy limits them.
func TestAgentSettingsOnlyWhereLimited(t *testing.T) {
	limited, free := newAgentWorld(t, nil), newAgentWorld(t, func(p *config.Policy) { p.Models = nil })
	for _, test := range []struct {
		w    *agentWorld
		tool string
	}{{limited, "Bash"}, {limited, "mcp__x__spawn_agent"}, {limited, "send_input"}, {free, "spawn_agent"}, {free, "resume_agent"}} {
		use := toolcall.Call{Name: test.tool, Input: value(t, `{}`)}
		if found := test.w.g.agentSettings(t.Context(), test.w.g.policy.Load(), nil, use); found != nil {
			t.Errorf("%s: %+v", test.tool, found)
		}
	}
}

// A resumed agent has the model and the effort that Codex has recorded last.
func TestResumedAgentSettings(t *testing.T) {
	const id = "01900000-0000-7000-8000-000000000001"
	w := newAgentWorld(t, nil)
	w.start()
	turn := func(settings string) string {
		return `{"type":"session_meta","payload":{"id":"` + id + `"}}` + "\n" + `{"type":"turn_context","payload":{"turn_id":"u"` + settings + `}}` + "\n"
	}
	for text, want := range map[string]policy.AgentSettings{
		turn(`,"model":"m","effort":"high"`): {Models: []string{"m"}, Efforts: []string{"high"}},
		turn(``):                             {UnknownReason: "its last turn names no model"},
		"{}\n":                               {UnknownReason: "Codex's record of it can't be read: its first line does not describe the thread"},
	} {
		path, err := json.Marshal(w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", text))
		if err != nil {
			t.Fatal(err)
		}
		use := toolcall.Call{Name: "resume_agent", Input: value(t, `{"id":"`+id+`"}`)}
		result := make(chan *policy.AgentSettings, 1)
		go func() { result <- w.g.agentSettings(t.Context(), w.g.policy.Load(), w.thread, use) }()
		w.answer("thread/read", `{"includeTurns":false,"threadId":"`+id+`"}`, `"result":{"thread":{"path":`+string(path)+`}}`)
		found := <-result
		if found == nil || found.UnknownReason != want.UnknownReason || !slices.Equal(found.Models, want.Models) || !slices.Equal(found.Efforts, want.Efforts) {
			t.Errorf("%s: got %+v, want %+v", text, found, want)
		}
	}
}

// A folder has up to maxRoles files of roles, and a file up to maxRoleSize bytes. A link to a
// folder of roles is followed, a link in the folder is not.
func TestRoleFilesAreBounded(t *testing.T) {
	w := newAgentWorld(t, nil)
	long := w.write("elsewhere/long.toml", "name = \"long\"\n#"+strings.Repeat("x", maxRoleSize-len("name = \"long\"\n#\nmodel = \"m\""))+"\nmodel = \"m\"")
	var found policy.AgentSettings
	if err := addRole(&found, long, "long", ""); err != nil || !slices.Equal(found.Models, []string{"m"}) {
		t.Errorf("a file of the most bytes: %+v, %v", found, err)
	}
	w.write("elsewhere/long.toml", strings.Repeat("\n", maxRoleSize+1))
	if err := addRole(&found, long, "long", ""); err == nil {
		t.Error("a file of one byte more is read")
	}

	for i := range maxRoles {
		w.write(fmt.Sprintf("many/%d.toml", i), "name = \"x\"\n")
	}
	link := filepath.Join(w.root, "link")
	if err := os.Symlink(filepath.Join(w.root, "many"), link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(long, filepath.Join(w.root, "many", "linked.toml")); err != nil {
		t.Fatal(err)
	}
	if err := addRoles(&found, link, "x"); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
	w.write("many/more.toml", "name = \"x\"\n")
	if err := addRoles(&found, link, "x"); err == nil || !strings.Contains(err.Error(), "more than 256") {
		t.Errorf("one more: %v", err)
	}
}
