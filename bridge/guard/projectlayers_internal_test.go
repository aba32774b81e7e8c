package guard

import (
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// A folder counts as the client has named it, with its links and "..", which Codex reads itself. Without one,
// the folder of the last turn counts, and that which the bridge sends.
func TestFoldersOfCodexAlone(t *testing.T) {
	const id = "01900000-0000-7000-8000-000000000001"
	w := newAgentWorld(t, func(*config.Policy) {})
	w.start()
	path := w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl",
		`{"type":"session_meta","payload":{"id":"`+id+`","cwd":"/first"}}`+"\n"+`{"type":"turn_context","payload":{"turn_id":"u","cwd":"/last/../link"}}`+"\n")
	w.g.world.CodexHome = filepath.Join(w.root, "home")
	state := w.g.world
	state.Home, state.StartFolder = "/home/a", "/start"
	for _, test := range []struct {
		method, params, sent string
		want                 []string
	}{
		{"thread/start", `{"cwd":"/a/link/../b"}`, "/b", []string{"/a/link/../b"}},
		{"thread/start", `{"cwd":"a/../b"}`, "/b", []string{"/start/a/../b"}},
		{"thread/start", `{"cwd":"~"}`, "/b", []string{"/home/a"}},
		{"thread/fork", `{"cwd":"~/b","threadId":"` + id + `"}`, "/b", []string{"/home/a/b"}},
		{"thread/start", `{"cwd":"~b"}`, "/b", []string{"/start/~b"}},
		{"thread/start", `{}`, "/b", []string{"/b"}},
		{"thread/start", `{}`, "", nil},
		{"thread/resume", `{"threadId":"` + id + `"}`, "/b", []string{"/last/../link", "/b"}},
		{"thread/resume", `{"threadId":"` + id + `"}`, "/last/../link", []string{"/last/../link"}},
		{"thread/fork", `{"threadId":"` + id + `"}`, "/b", []string{"/b"}},
	} {
		m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"` + test.method + `","params":` + test.params + `}`))
		if err != nil {
			t.Fatal(err)
		}
		result := make(chan []string, 1)
		go func() {
			result <- w.g.foldersOfCodexAlone(t.Context(), &bridge.ClientMessage{Message: m}, test.sent, &state)
		}()
		if test.method == "thread/resume" {
			w.answer("thread/read", `{"includeTurns":false,"threadId":"`+id+`"}`, `"result":{"thread":{"path":`+strconv.Quote(path)+`}}`)
		}
		if got := <-result; !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.method, test.params, got, test.want)
		}
	}
	state.Home = ""
	m, err := rpc.ParseMessage([]byte(`{"id":1,"method":"thread/start","params":{"cwd":"~/b"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := w.g.foldersOfCodexAlone(t.Context(), &bridge.ClientMessage{Message: m}, "/b", &state); got != nil {
		t.Errorf("without a home folder: %q", got)
	}
}
