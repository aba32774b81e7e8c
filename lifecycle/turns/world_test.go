package turns_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/lifecycle/threads"
	"codex-bridge.example/lifecycle/turns"
	"codex-bridge.example/rpc"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// guard comes after the feature like a policy. It refuses one folder and changes every other model to
// "allowed".
type guard struct {
	mu      sync.Mutex
	settled []string
}

func (g *guard) Routes() []bridge.Route {
	return []bridge.Route{{From: bridge.Client, Method: bridge.Other, Why: "t", HandleClient: func(_ context.Context, call *bridge.ClientMessage) *rpc.Error {
		if call.Params.Get("cwd").Is("/forbidden") {
			return rpc.Errorf(rpc.CodeRefused, "not there")
		}
		if model := call.Params.Get("model"); model.Exists() {
			patch := rpc.NewPatch(call.Message)
			patch.Replace(model, []byte(`"allowed"`))
			call.Line = patch.Bytes()
		}
		return nil
	}}}
}

func (*guard) Stage() bridge.Stage { return bridge.Last }

// Enforces implements turns.Judge.
func (g *guard) Enforces() bool { return true }

// Settled implements turns.Judge.
func (g *guard) RecordAnswer(_ context.Context, asked *rpc.Envelope, v policy.Verdict, rule, _, _ string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.settled = append(g.settled, asked.Method+" "+string(v)+" "+rule)
	return nil
}

// voice sends the bridge's notifications to the client.
type voice struct{ peer *bridge.Conn }

func (v *voice) Attach(p *bridge.Conn)  { v.peer = p }
func (v *voice) Routes() []bridge.Route { return nil }

func (*voice) Stage() bridge.Stage { return bridge.Last }

type world struct {
	*bridgetest.Conversation
	feature *turns.Feature
	guard   *guard
	store   *store.Store
}

const record = `{"schemaVersion":1,"threadId":"T","cwd":"/w","model":"m","dynamicToolsFingerprint":"[]","createdAt":"2026-01-01T00:00:00.000Z"}`

// newWorld returns a world with a session "old" that is bound to the unloaded thread T.
func newWorld(t *testing.T, thread config.Thread) *world {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Folder: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if err := s.PutBinding(t.Context(), store.Binding{
		Session: "old", Thread: "T", Record: record, Action: "started", Reason: "notBound", Updated: noon,
	}); err != nil {
		t.Fatal(err)
	}
	log, known := slog.New(slog.DiscardHandler), func() bool { return true }
	bound := threads.New(threads.Options{
		Store:  func(context.Context) (*store.Store, error) { return s, nil },
		Thread: func() config.Thread { return thread },
		Size:   func(string) (int64, error) { return 2000, nil },
		Known:  known, Now: func() time.Time { return noon }, Log: log,
	})
	w := &world{guard: &guard{}, store: s}
	v := &voice{}
	w.feature = turns.New(turns.Options{
		Threads: bound, Steering: func() config.Steering { return config.Steering{Mode: "steer"} }, Known: known,
		Tell:  func(method string, params any) { v.peer.Notify(method, params) },
		Judge: w.guard, Log: log,
	})
	w.Conversation = bridgetest.Start(t, w.feature, bound, v, w.guard, w.feature.Last())
	t.Cleanup(w.feature.Close)
	return w
}

// hello opts out of all notifications. The client then gets only responses, whose order is fixed.
const hello = `
editor> {"id":0,"method":"initialize","params":{"capabilities":{"bridge":{"version":1,"approvals":false},"optOutNotificationMethods":["turn/started","turn/completed","x/y",5,"item/started","item/completed","item/agentMessage/delta","thread/closed","serverRequest/resolved"]}}}
codex< {"id":0,"method":"initialize","params":{"capabilities":{"bridge":{"version":1,"approvals":false},"optOutNotificationMethods":["x/y",5]}}}
codex> {"id":0,"result":{}}
editor< {"id":0,"result":{}}
`

// TestConversations runs scripted clients that know the bridge. At the end no message is left.
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, config.Default().Thread)
			w.Play(file, hello)
			w.Play(file, string(text))
			w.Play("the end", `
editor> {"id":"end","method":"x/end","params":{}}
codex< {"id":"end","method":"x/end","params":{}}
codex> {"id":"end","result":{}}
editor< {"id":"end","result":{}}
`)
		})
	}
}

// A session whose thread is too large gets a new one with the binding's settings. A cron turn has the
// configured instructions.
func TestTooLargeThreadIsReplaced(t *testing.T) {
	thread := config.Default().Thread
	thread.MaxRollout, thread.CronInstructions = 1000, "By the clock."
	w := newWorld(t, thread)
	w.Play("hello", hello)
	w.Play("too large", `
editor> {"id":1,"method":"bridge/turn/run","params":{"sessionKey":"old","input":"hi","trigger":"cron"}}
codex< {"id":"$a","method":"thread/start","params":{"approvalPolicy":"untrusted","cwd":"/w","model":"allowed","sandbox":"read-only","serviceName":"codex-bridge"}}
codex> {"id":"$a","result":{"thread":{"id":"N"},"model":"m","cwd":"/w"}}
codex< {"id":"$b","method":"turn/start","params":{"approvalPolicy":"untrusted","sandboxPolicy":{"type":"readOnly","networkAccess":false},"threadId":"N","input":[{"type":"text","text":"hi","text_elements":[]}],"clientUserMessageId":"$c","cwd":"/w","model":"allowed","collaborationMode":{"mode":"default","settings":{"model":"m","reasoning_effort":null,"developer_instructions":"By the clock."}}}}
codex> {"id":"$b","result":{"turn":{"id":"t1"}}}
codex> {"method":"turn/completed","params":{"threadId":"N","turn":{"id":"t1","status":"completed","items":[{"type":"agentMessage","id":"i","text":"hello"}]}}}
editor< {"id":1,"result":{"threadId":"N","turnId":"t1","status":"completed","text":"hello"}}
editor> {"id":2,"method":"bridge/binding/read","params":{"sessionKey":"old"}}
editor< {"id":2,"result":{"binding":{"sessionKey":"old","threadId":"N","threadBefore":"T","action":"started","reason":"rolloutTooLarge","reasonText":"<text>","cwd":"/w","model":"m","createdAt":"<text>","updatedAt":"<text>","holder":"$holder","fingerprints":"$fingerprints"}}}
`)
}
