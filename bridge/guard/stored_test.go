package guard

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// reads has Codex answer a thread/read that f sends with this, and then a thread/loaded/list with these ids,
// if there are any.
func (w *agentWorld) reads(answer string, f func(*bridge.ClientMessage), loaded ...string) {
	w.t.Helper()
	w.start()
	m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"thread/resume","params":{"threadId":"t"}}`))
	if err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f(&bridge.ClientMessage{Message: m})
	}()
	w.answer("thread/read", `{"includeTurns":false,"threadId":"t"}`, answer)
	if len(loaded) > 0 {
		data, _ := json.Marshal(loaded)
		w.answer("thread/loaded/list", `{"limit":1000}`, `"result":{"data":`+string(data)+`}`)
	}
	<-ended
}

// Codex restores a thread from the file that it names. Without settings there it takes its
// defaults, unless it has the thread in memory. Where its record can't be read, nothing is known.
func TestStoredSettings(t *testing.T) {
	w := newAgentWorld(t, nil)
	const id = "01900000-0000-7000-8000-00000000000"
	const meta = `{"type":"session_meta","payload":{}}` + "\n"
	turn := `{"type":"turn_context","payload":{"turn_id":"u","approval_policy":"never","sandbox_policy":{"type":"workspace-write","network_access":true},"active_permission_profile":{"id":"mine"}}}` + "\n"
	write := func(n, text string) string {
		path, err := json.Marshal(w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+n+".jsonl", text))
		if err != nil {
			t.Fatal(err)
		}
		return `"result":{"thread":{"path":` + string(path) + `}}`
	}
	for _, test := range []struct {
		name, answer string
		loaded       []string
		want         policy.State
	}{
		{"a turn", write("1", meta+turn), nil, policy.State{
			Stored: &policy.StoredProfile{Name: "mine"}, StoredSandbox: &policy.SandboxSettings{Mode: "workspace-write", Network: true, Profile: "mine"}, StoredApproval: json.RawMessage(`"never"`),
		}},
		{"only a name", write("2", meta), []string{"other"}, policy.State{Stored: &policy.StoredProfile{}, StoredSandbox: &policy.SandboxSettings{}, StoredApproval: json.RawMessage("null")}},
		{"only a name, in memory", write("2", meta), []string{"t"}, policy.State{StoredProblem: errMemory.Error()}},
		{"no file", `"result":{"thread":{"path":null}}`, nil, policy.State{Stored: &policy.StoredProfile{}, StoredSandbox: &policy.SandboxSettings{}, StoredApproval: json.RawMessage("null")}},
		{"unreadable", write("3", "{}\n"+turn), nil, policy.State{StoredProblem: "its first line does not describe the thread"}},
		{"unknown", `"error":{"code":-32600,"message":"no"}`, nil, policy.State{UnknownThread: true}},
	} {
		w.reads(test.answer, func(call *bridge.ClientMessage) {
			var got policy.State
			if ok := w.g.readStored(t.Context(), call, &got); !ok || !reflect.DeepEqual(got, test.want) {
				t.Errorf("%s: %t, %+v, want %+v", test.name, ok, got, test.want)
			}
		}, test.loaded...)
	}
}

// Codex reports the folder of a thread. A thread that Codex does not know has none. Without a
// response in time, or without a folder, the thread is not opened.
func TestFolderOfStoredThread(t *testing.T) {
	w := newAgentWorld(t, nil)
	cwd, err := json.Marshal(w.root)
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	for _, test := range []struct {
		name, answer string
		ok, nowhere  bool
		folder       string
	}{
		{"a folder", `"result":{"thread":{"cwd":` + string(cwd) + `}}`, true, false, w.root},
		{"no path", `"result":{"thread":{"cwd":"relative"}}`, false, false, ""},
		{"unknown", `"error":{"code":-32600,"message":"no"}`, true, true, ""},
	} {
		w.reads(test.answer, func(call *bridge.ClientMessage) {
			state := policy.State{Paths: filesystem{}}
			if ok := w.g.readFolder(t.Context(), call, &state); ok != test.ok || state.UnknownThread != test.nowhere || state.ThreadFolder != test.folder {
				t.Errorf("%s: %t, nowhere %t, in %q", test.name, ok, state.UnknownThread, state.ThreadFolder)
			}
		})
	}
	cancel()
	m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"thread/resume","params":{"threadId":"t"}}`))
	if err != nil {
		t.Fatal(err)
	}
	var state policy.State
	if w.g.readFolder(ended, &bridge.ClientMessage{Message: m}, &state) || state.UnknownThread {
		t.Errorf("without an answer: nowhere %t", state.UnknownThread)
	}
}

// The files that Codex would load are searched in a folder and the folders above it, up to the root
// of its project.
func TestUnloadedFiles(t *testing.T) {
	w := newAgentWorld(t, nil)
	for _, name := range []string{"AGENTS.md", "a/.codex/config.toml", "a/b/AGENTS.override.md", "a/b/other.md", "a/b/c/AGENTS.md"} {
		w.write(name, "")
	}
	var got []string
	for _, path := range unloadedFiles(filepath.Join(w.root, "a", "b"), filepath.Join(w.root, "a")) {
		got = append(got, strings.TrimPrefix(path, w.root+"/"))
	}
	if text := strings.Join(got, " "); text != "a/b/AGENTS.override.md a/.codex" {
		t.Errorf("found %s", text)
	}
}

// The warning names up to five files that are not loaded.
func TestListOfPaths(t *testing.T) {
	for n, want := range map[int]string{1: "1 is", 2: "1, 2 are", 5: "1, 2, 3, 4, 5 are", 6: "1, 2, 3, 4, 5, 1 more are", 8: "1, 2, 3, 4, 5, 3 more are"} {
		if got := listed([]string{"1", "2", "3", "4", "5", "6", "7", "8"}[:n]); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// An explanation for a client asks Codex for its models, if the policy has only patterns.
func TestExplainAsksForModels(t *testing.T) {
	w := newAgentWorld(t, func(cfg *config.Policy) { cfg.Models = []string{"gpt-5*"} })
	w.start()
	m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"turn/start","params":{"threadId":"t","input":[],"model":"o9"}}`))
	if err != nil {
		t.Fatal(err)
	}
	explained := make(chan Explanation)
	go func() { explained <- w.g.ExplainWithModels(t.Context(), m) }()
	w.answer("model/list", `{"limit":1000}`, `"result":{"data":[{"id":"gpt-5.5","model":"gpt-5.5","isDefault":true}]}`)
	if e := <-explained; e.Decision.Err != nil || !strings.Contains(string(e.Decision.Message), `"model":"gpt-5.5"`) {
		t.Errorf("Codex gets %s, error %v", e.Decision.Message, e.Decision.Err)
	}
}

// A resume reads the thread's record once. Here it is gone when Codex names it again.
func TestResumeReadsRecordOnce(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000a"
	w := newAgentWorld(t, nil)
	path := w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl",
		`{"type":"session_meta","payload":{"id":"`+id+`","cwd":"`+w.root+`"}}`+"\n"+
			`{"type":"turn_context","payload":{"turn_id":"u","cwd":"`+w.root+`","approval_policy":"never","sandbox_policy":{"type":"read-only"}}}`+"\n")
	w.start()
	m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"thread/resume","params":{"threadId":"` + id + `"}}`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	judged := make(chan judgement, 1)
	go func() {
		judged <- w.g.judge(ctx, []*policy.Policy{w.g.policy.Load()}, &bridge.ClientMessage{Message: m}, nil)
	}()
	request, response := `"method":"thread/read","params":{"includeTurns":false,"threadId":"`+id+`"}}`, `"result":{"thread":{"cwd":"`+w.root+`","path":"`+path+`"}}}`
	w.c.Play("the first time", `codex<  {"id":"$own1",`+request+"\ncodex>  {\"id\":\"$own1\","+response+`
codex<  {"id":"$own2",`+request+"\n")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	w.c.Play("the rest", `codex>  {"id":"$own2",`+response+`
codex<  {"id":"$own3","method":"thread/loaded/list","params":{"limit":1000}}
codex>  {"id":"$own3","result":{"data":[]}}
codex<  {"id":"$own4",`+request+`
codex>  {"id":"$own4",`+response+`
codex<  {"id":"$own5","method":"config/read","params":"$any"}
`)
	cancel() // Codex answers nothing more
	if j := <-judged; j.state.StoredProblem != "" || string(j.state.StoredApproval) != `"never"` {
		t.Errorf("problem %q, approval policy %s", j.state.StoredProblem, j.state.StoredApproval)
	}
}

// A disk that does not answer keeps no message longer than its time.
func TestReadFromDiskEndsWithMessage(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("late")
	cancel(late)
	answers := make(chan struct{})
	defer close(answers)
	if _, err := readFromDisk(ctx, func() (string, error) { <-answers; return "", nil }); !errors.Is(err, late) {
		t.Error(err)
	}
}
