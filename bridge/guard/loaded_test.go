package guard

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// originalFolder returns the folder of a thread that a turn has moved and that Codex has not
// loaded. It refuses a thread whose record can't be read.
func TestOriginalFolder(t *testing.T) {
	const id = "01900000-0000-7000-8000-00000000000"
	w := newAgentWorld(t, nil)
	path := func(n string) string {
		return filepath.Join(w.root, "home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+n+".jsonl")
	}
	file := func(n, opened string) string {
		w.write("home/sessions/2024/06/10/rollout-2024-06-10T02-35-18-"+id+n+".jsonl",
			`{"type":"session_meta","payload":{"id":"`+id+n+`","cwd":"`+opened+`"}}`+"\n"+
				`{"type":"turn_context","payload":{"turn_id":"u","cwd":"`+w.root+`"}}`+"\n")
		return n
	}
	elsewhere := filepath.Dir(w.write("elsewhere/x", ""))
	w.write("home/archived_sessions/rollout-2024-06-10T02-35-18-"+id+"8.jsonl.zst", "")
	w.start()
	moved, stays, relative, unread := file("1", elsewhere), file("2", w.root), file("3", "relative"), file("4", "")
	none, closed := `"result":{"data":[],"nextCursor":null}`, `"error":{"code":-32600,"message":"no"}`
	for _, test := range []struct {
		name, thread, params string
		read, loaded         string // Codex's answers; "" no request
		unsubscribed         bool
		want                 string
		refused              bool
	}{
		{"moved", moved, "", "file", none, false, elsewhere, false},
		{"moved, unsubscribed", moved, "", "file", "", true, elsewhere, false},
		{"moved, cwd in the request", moved, `,"cwd":"/x"`, "", "", false, "", false},
		{"moved, no cwd in the request", moved, `,"cwd":null`, "file", none, false, elsewhere, false},
		{"loaded", moved, "", "file", `"result":{"data":["` + id + moved + `"],"nextCursor":null}`, false, "", false},
		{"list not answered", moved, "", "file", closed, false, "", true},
		{"not moved", stays, "", "file", "", false, "", false},
		{"relative", relative, "", "file", none, false, "", true},
		{"unread", unread, "", "file", none, false, "", true},
		{"unread, loaded", unread, "", "file", `"result":{"data":["` + id + unread + `"],"nextCursor":null}`, false, "", false},
		{"unread, unsubscribed", unread, "", "file", "", true, "", true},
		{"missing", "5", "", "file", none, false, "", false},
		{"elsewhere", "8", "", "file", none, false, "", true},
		{"missing, unsubscribed", "5", "", "file", "", true, "", false},
		{"in memory only", "6", "", `"result":{"thread":{"path":null}}`, "", false, "", false},
		{"unknown to Codex", "7", "", closed, "", false, "", false},
		{"fork", moved, "", "file", none, false, elsewhere, false},
		{"turn", moved, "", "", "", false, "", false},
	} {
		method := map[string]string{"fork": "thread/fork", "turn": "turn/start"}[test.name]
		m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"` + cmp.Or(method, "thread/resume") + `","params":{"threadId":"` + id + test.thread + `"` + test.params + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		w.g.threads.records = nil
		if test.unsubscribed {
			w.g.threads.loadedLocked(id + test.thread).unsubscribed = true
		}
		type result struct {
			folder, movedTo string
			err             *rpc.Error
		}
		got := make(chan result, 1)
		go func() {
			folder, movedTo, err := w.g.originalFolder(context.Background(), m)
			got <- result{folder, movedTo, err}
		}()
		if test.read == "file" {
			test.read = `"result":{"thread":{"path":"` + path(test.thread) + `"}}`
		}
		if test.read != "" {
			w.answer("thread/read", `{"includeTurns":false,"threadId":"`+id+test.thread+`"}`, test.read)
		}
		if test.loaded != "" {
			w.answer("thread/loaded/list", `{"limit":1000}`, test.loaded)
		}
		if r := <-got; r.folder != test.want || (r.movedTo == w.root) != (test.want != "") || (r.err != nil) != test.refused {
			t.Errorf("%s: %q, moved to %q, and %v, want %q", test.name, r.folder, r.movedTo, r.err, test.want)
		}
	}
}

// otherRoots omits the workspace and relative paths.
func TestOtherRoots(t *testing.T) {
	w := newAgentWorld(t, nil)
	lib := filepath.Dir(w.write("lib/x", ""))
	doc := value(t, `{"runtimeWorkspaceRoots":["`+w.root+`","`+lib+`","relative",1]}`)
	one := &thread{Thread: policy.Thread{Workspace: w.root}, openResult: copyResult(doc), world: w.g.world, answers: &diskAnswers{asks: true}}
	if got := one.otherRoots(); !slices.Equal(got, []string{lib}) {
		t.Errorf("got %q, want %q", got, []string{lib})
	}
}

// Under enforce, a resume is refused if the folder in which its thread was opened can't be found
// out. The folder of a verified thread is known.
func TestResumeNeedsOriginalFolder(t *testing.T) {
	const id = "01900000-0000-7000-8000-000000000001"
	for name, test := range map[string]struct {
		mode     config.Mode
		verified bool
		refused  bool
	}{
		"an unknown thread": {config.Enforce, false, true},
		"a verified thread": {config.Enforce, true, false},
		"not enforced":      {config.Audit, false, false},
	} {
		w := newAgentWorld(t, func(cfg *config.Policy) { cfg.Mode = test.mode })
		w.start()
		if test.verified {
			w.g.threads.setVerified(map[string]*thread{id: {Thread: policy.Thread{ID: id, Workspace: w.root}}})
		}
		m, err := rpc.ParseMessage([]byte(`{"id":7,"method":"thread/resume","params":{"threadId":"` + id + `"}}`))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // Codex answers nothing
		j := w.g.judge(ctx, []*policy.Policy{w.g.policy.Load()}, &bridge.ClientMessage{Message: m}, nil)
		if j.decision.Err == nil {
			t.Fatalf("%s: not refused", name)
		}
		if refused := strings.Contains(j.decision.Err.Message, "the list of threads that Codex has loaded can't be read"); refused != test.refused {
			t.Errorf("%s: %v", name, j.decision.Err)
		}
	}
}
