package guard

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// openedIn returns the folder of a thread that a turn has moved since and that Codex has not loaded.
func TestOpenedIn(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000"
	w := newAgentWorld(t, nil)
	file := func(n, opened string) string {
		w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+n+".jsonl",
			`{"type":"session_meta","payload":{"id":"`+id+n+`","cwd":"`+opened+`"}}`+"\n"+
				`{"type":"turn_context","payload":{"turn_id":"u","cwd":"`+w.root+`"}}`+"\n")
		return id + n
	}
	elsewhere := filepath.Dir(w.write("elsewhere/x", ""))
	w.start()
	moved, stays, relative := file("1", elsewhere), file("2", w.root), file("3", "relative")
	for _, test := range []struct{ name, thread, answer, want string }{
		{"moved", moved, `"result":{"data":[],"nextCursor":null}`, elsewhere},
		{"loaded", moved, `"result":{"data":["` + moved + `"],"nextCursor":null}`, ""},
		{"not told", moved, `"error":{"code":-32600,"message":"no"}`, ""},
		{"not moved", stays, "", ""},
		{"no file", id + "4", "", ""},
		{"not to be judged", relative, "", ""},
	} {
		got := make(chan string, 1)
		go func() { got <- w.g.openedIn(context.Background(), test.thread) }()
		if test.answer != "" {
			w.answer("thread/loaded/list", `{"limit":1000}`, test.answer)
		}
		if folder := <-got; folder != test.want {
			t.Errorf("%s: %q, want %q", test.name, folder, test.want)
		}
	}
}

// The folder of a moved thread is looked up for a request that opens it, if a policy is enforced and the bridge does
// not know the thread.
func TestOpenedInIsForUnknownThreads(t *testing.T) {
	const id = "01900000-0000-7000-8000-000000000001"
	w := newAgentWorld(t, nil)
	elsewhere := filepath.Dir(w.write("elsewhere/x", ""))
	w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+".jsonl",
		`{"type":"session_meta","payload":{"id":"`+id+`","cwd":"`+elsewhere+`"}}`+"\n"+`{"type":"turn_context","payload":{"turn_id":"u","cwd":"`+w.root+`"}}`+"\n")
	w.start()
	cfg := config.Default().Policy
	cfg.Mode = config.Audit
	audit, err := policy.New(cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		method string
		p      *policy.Policy
		known  bool
		want   string
	}{
		{"thread/resume", w.g.Policy(), false, elsewhere},
		{"thread/fork", w.g.Policy(), false, elsewhere},
		{"turn/start", w.g.Policy(), false, ""},
		{"thread/resume", audit, false, ""},
		{"thread/resume", w.g.Policy(), true, ""},
	} {
		w.g.threads.known = nil
		if test.known {
			w.g.threads.known = map[string]*thread{id: {Thread: policy.Thread{ID: id}}}
		}
		m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"` + test.method + `","params":{"threadId":"` + id + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string, 1)
		go func() { got <- w.g.state(context.Background(), test.p, m).Opened }()
		if test.want != "" {
			w.answer("thread/loaded/list", `{"limit":1000}`, `"result":{"data":[],"nextCursor":null}`)
		}
		select {
		case folder := <-got:
			if folder != test.want {
				t.Errorf("%+v: %q", test, folder)
			}
		case line := <-w.c.CodexReceives():
			t.Fatalf("%+v: Codex is asked %s", test, line)
		}
	}
}

// otherRoots leaves out the workspace and relative paths.
func TestOtherRoots(t *testing.T) {
	w := newAgentWorld(t, nil)
	lib := filepath.Dir(w.write("lib/x", ""))
	doc := value(t, `{"runtimeWorkspaceRoots":["`+w.root+`","`+lib+`","relative",1]}`)
	one := &thread{Thread: policy.Thread{Workspace: w.root}, opened: keep(doc), world: w.g.world}
	if got := one.otherRoots(); !slices.Equal(got, []string{lib}) {
		t.Errorf("got %q, want %q", got, []string{lib})
	}
}
