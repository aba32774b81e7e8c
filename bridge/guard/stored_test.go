package guard

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// reads has Codex answer a thread/read that f sends with this.
func (w *agentWorld) reads(answer string, f func(*bridge.ClientMessage)) {
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
	<-ended
}

// The sandbox and the approval policy of a thread's last turn come from Codex's files. A thread without
// a file has none. If the file has no turn, the sandbox is read-only and the approval policy unknown.
func TestStoredSandbox(t *testing.T) {
	w := newAgentWorld(t, nil)
	const id = "01900000-0000-7000-8000-000000000001"
	turn := `{"type":"turn_context","payload":{"turn_id":"u","approval_policy":"never","sandbox_policy":{"type":"workspace-write","network_access":true}}}` + "\n"
	path, err := json.Marshal(w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl", turn))
	if err != nil {
		t.Fatal(err)
	}
	silent, err := json.Marshal(w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id[:len(id)-1]+"2.jsonl", "{}\n"))
	if err != nil {
		t.Fatal(err)
	}
	var approvals []string
	for answer, want := range map[string]*policy.SandboxSettings{
		`"result":{"thread":{"path":` + string(path) + `}}`:   {Mode: "workspace-write", Network: true},
		`"result":{"thread":{"path":null}}`:                   {},
		`"result":{"thread":{"path":` + string(silent) + `}}`: {Mode: "read-only"},
		`"error":{"code":-32600,"message":"no"}`:              nil,
	} {
		w.reads(answer, func(call *bridge.ClientMessage) {
			var st policy.State
			ok := w.g.readStored(t.Context(), call, &st)
			if got := st.StoredSandbox; !ok || st.UnknownThread != (want == nil) || want != nil && *got != *want {
				t.Errorf("%s: %+v, want %+v", answer, got, want)
			}
			approvals = append(approvals, string(st.StoredApproval))
		})
	}
	slices.Sort(approvals)
	if want := []string{"", `"never"`, "null", "{}"}; !slices.Equal(approvals, want) {
		t.Errorf("approval policies %q, want %q", approvals, want)
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
