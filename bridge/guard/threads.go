package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// threads are the threads that may take turns: those whose settings, as codex
// itself has named them last, the policy allows.
type threads struct {
	mu    sync.Mutex
	known map[string]*thread
	// under way: requests whose answer will tell about a thread, by its id.
	underway map[string]chan struct{}
}

type thread struct {
	policy.Thread
	settings *rpc.Doc     // as codex named them last
	state    policy.State // in which the thread was opened
}

// get is the thread of that id, nil when it may take no turn. While a request is
// under way that opens it, get waits for the answer: to codex, a client may send
// thread/resume and turn/start in one go.
func (t *threads) get(ctx context.Context, id string) *policy.Thread {
	t.mu.Lock()
	waits := t.underway[id]
	t.mu.Unlock()
	if waits != nil {
		select {
		case <-waits:
		case <-ctx.Done():
			return nil
		}
	}
	return t.peek(id)
}

// peek is get without the wait.
func (t *threads) peek(id string) *policy.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.known[id]
	if one == nil {
		return nil
	}
	thread := one.Thread
	return &thread
}

// opening says that a request is under way that opens the thread; done, that it
// was answered.
func (t *threads) opening(id string) (done func()) {
	if id == "" {
		return func() {}
	}
	waits := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.underway == nil {
		t.underway = make(map[string]chan struct{})
	}
	t.underway[id] = waits
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.underway[id] == waits {
			delete(t.underway, id)
		}
		close(waits)
	}
}

// add keeps a thread that was verified. Its workspace stays what it was when the
// thread is resumed while it is loaded.
func (t *threads) add(id, workspace string, settings *rpc.Doc, state policy.State) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[string]*thread)
	}
	if workspace == "" { // a resume or fork that leaves the folder to the thread
		workspace, _ = settings.Root().Get("cwd").Text()
		if canonical, err := state.Paths.Canonical(workspace); err == nil {
			workspace = canonical
		}
	}
	state.Thread, state.Defaults = nil, nil
	t.known[id] = &thread{policy.Thread{ID: id, Workspace: workspace}, settings, state}
}

func (t *threads) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.known, id)
}

func (t *threads) verified() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.known)
}

// update keeps what codex says is in force for a thread now, or forgets the
// thread when p does not allow it.
func (t *threads) update(id string, settings rpc.Value, p *policy.Policy) *rpc.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.known[id]
	if one == nil {
		return nil
	}
	if err := one.allowed(settings, p); err != nil {
		delete(t.known, id)
		return err
	}
	one.settings = settingsOf(settings)
	return nil
}

// recheck forgets the threads that p does not allow.
func (t *threads) recheck(p *policy.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, one := range t.known {
		if one.allowed(one.settings.Root(), p) != nil {
			delete(t.known, id)
		}
	}
}

func (one *thread) allowed(settings rpc.Value, p *policy.Policy) *rpc.Error {
	state := one.state
	state.Thread = &one.Thread
	return p.VerifySettings(settings, state)
}

// settingNames are the members of an answer that VerifySettings looks at. The
// answer to a resume may hold a whole history; only these are kept.
var settingNames = []string{
	"approvalPolicy", "approvalsReviewer", "sandbox", "sandboxPolicy", "activePermissionProfile",
	"cwd", "model", "effort", "reasoningEffort",
}

// settingsOf is a small copy of what an answer or a notification says is in force,
// under the names of thread/settings/updated.
func settingsOf(v rpc.Value) *rpc.Doc {
	renamed := map[string]string{"sandbox": "sandboxPolicy", "reasoningEffort": "effort"}
	kept := make(map[string]json.RawMessage)
	for _, name := range settingNames {
		if member := v.Get(name); member.Exists() {
			as := name
			if to, ok := renamed[name]; ok {
				as = to
			}
			kept[as] = bytes.Clone(member.Raw())
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		panic(err) // raw members of a parsed text
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		panic(err)
	}
	return doc
}
