package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/rpc"
)

// threads are the threads that may take turns: those of which what codex itself
// said last is what the policy allows. Under audit these are all threads: what is
// wrong with them has been logged, and the turns are judged for themselves.
type threads struct {
	mu    sync.Mutex
	known map[string]*thread
	// held are the policies that a thread is checked against beside the one in force.
	held map[string][]*policy.Policy
	// reran are the threads of which codex has said an approval policy under which an
	// accept may let a command out. They stay such threads: a turn may go on under it
	// when another is in force, or the thread is opened anew.
	reran map[string]bool
	// loaded are the threads that Codex may have in memory, by their ids.
	loaded map[string]*loadedThread
	// asked are the threads that the client has opened itself, well or not: none of them
	// stands as another's.
	asked map[string]bool
	// gates are the requests under way that change a thread's gate, by the thread's id.
	gates   map[string][]*gateChange
	changes uint64 // how many there were
	// underway are the requests that open a thread and wait for their answer, by
	// the thread's id.
	underway map[string]chan struct{}
	// starting are those of which the thread's id is not known yet.
	starting []chan struct{}
	// projects are the values of policy.Thread.Project of all threads since the bridge started. Codex keeps
	// what it has read of a project when a thread is opened anew from another folder, and in its subagents.
	projects []string
	// writable are the folders that commands could write, also those of threads that are not in known.
	writable writable
	// folders are the workspaces of known, sorted, each once. The slice is made anew
	// when they change, and so may be read by anyone.
	folders atomic.Pointer[[]string]
}

// workspaces are the folders of the threads that may take turns.
func (t *threads) workspaces() []string {
	if folders := t.folders.Load(); folders != nil {
		return *folders
	}
	return nil
}

// listFolders is to follow a change of known.
func (t *threads) listFolders() {
	var folders []string
	for _, one := range t.known {
		folders = append(folders, one.Workspace)
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	t.folders.Store(&folders)
}

// thread is a verified thread, and what is needed to verify it again when the
// policy changes.
type thread struct {
	policy.Thread
	sent      *policy.SentSettings
	gated     *bool    // what a request has made of it since it was opened; nil: nothing
	gateOrder uint64   // of that request, or of the one that has opened it
	opened    *rpc.Doc // what codex answered when it was opened
	settings  *rpc.Doc // what codex said since; nil: nothing
	world     policy.State
}

// get is the thread of that id as a message of the client finds it, nil when it may take no
// turn. While a request is under way that opens it, get waits until all features have seen
// the answer, or Codex has ended: of codex, a client may ask thread/resume and turn/start in
// one go.
func (t *threads) get(ctx context.Context, id string, ended <-chan struct{}) *policy.Thread {
	for {
		t.mu.Lock()
		waits := t.underway[id]
		if waits == nil {
			defer t.mu.Unlock()
			return t.preparedLocked(id, isGated)
		}
		t.mu.Unlock()
		if !await(ctx, waits, ended) {
			return nil
		}
	}
}

// await waits until a request is answered. It returns false if Codex has ended or ctx is done before.
func await(ctx context.Context, answered, ended <-chan struct{}) bool {
	select {
	case <-answered:
		return true
	case <-ended:
	case <-ctx.Done():
	}
	return false
}

// peek is the thread of that id as a message of codex finds it.
func (t *threads) peek(id string) *policy.Thread { return t.prepared(id, mayBeGated) }

// opening says that a request is under way that opens the thread; done, that it
// was answered. id is empty if it is not known yet.
func (t *threads) opening(id string) (done func()) {
	waits := make(chan struct{})
	t.mu.Lock()
	defer t.mu.Unlock()
	if id == "" {
		t.starting = append(slices.Clip(t.starting), waits)
		return func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.starting = slices.DeleteFunc(slices.Clone(t.starting), func(one chan struct{}) bool { return one == waits })
			close(waits)
		}
	}
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

// awaitAll waits for the requests under way that open the thread, or a thread whose id is not known yet.
//
// Measured with Codex 0.169: thread/loaded/list has the id of a new thread before thread/start is answered.
func (t *threads) awaitAll(ctx context.Context, id string, ended <-chan struct{}) {
	t.mu.Lock()
	starting := t.starting
	t.mu.Unlock()
	for _, waits := range starting {
		if !await(ctx, waits, ended) {
			return
		}
	}
	t.get(ctx, id, ended)
}

// opened verifies a thread by codex's answer. One that fails is forgotten, also
// when it was known before. The policy is asked for under the lock: were it read
// before, a recheck in between would miss the thread.
//
// order is that of the request among the changes of gates. One that says nothing of the
// approval policy leaves the gate as it is now.
func (t *threads) opened(current func() *policy.Policy, sent *policy.SentSettings, result rpc.Value, world policy.State, order uint64, own []*policy.Policy) *rpc.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.listFolders()
	p := current()
	id, _ := result.Get("thread").Get("id").Text()
	t.runs(id, result.Get("approvalPolicy"))
	was := t.known[id]
	delete(t.known, id)
	delete(t.held, id)
	for _, one := range own {
		t.hold(id, one)
	}
	if t.asked == nil {
		t.asked = make(map[string]bool)
	}
	t.asked[id] = true
	record := t.recordLocked(id)
	record.loadedWith(sent.Profile)
	one := &thread{sent: sent, opened: keep(result), world: world, gateOrder: order}
	if was != nil && (was.gateOrder > order || sent.Gated == nil) {
		gated := was.Gated
		one.gated, one.gateOrder = &gated, was.gateOrder
	}
	var err *rpc.Error
	ok := t.writable.reserve(func(all []string) (string, []string) {
		one.world.Writable = all
		for _, p := range append(slices.Clip(own), p) {
			if err = one.verify(p); err == nil {
				err = p.VerifyProfile(sent, result, one.world)
			}
			if err != nil {
				return "", nil
			}
		}
		return one.ID, append(one.WritableFolders(), one.otherRoots()...)
	})
	if err != nil {
		return err
	}
	if !ok {
		return errFolders(sent.Method)
	}
	if t.known == nil {
		t.known = make(map[string]*thread)
	}
	t.known[one.ID] = one
	if !slices.Contains(record.workspaces, one.Workspace) {
		record.workspaces = append(slices.Clip(record.workspaces), one.Workspace)
	}
	record.verified(one.Thread)
	record.unsubscribed = false
	t.writable.add("", world.DefaultRoots()) // they are writable as soon as a turn has workspace-write
	if one.Project != "" && !slices.Contains(t.projects, one.Project) {
		t.projects = append(slices.Clip(t.projects), one.Project)
	}
	return nil
}

// opens tells whether the client has opened the thread.
func (t *threads) opens(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked[id]
}

// runs takes note of an approval policy in force.
func (t *threads) runs(id string, approval rpc.Value) {
	if !policy.RerunsOutside(approval.Raw()) {
		return
	}
	if t.reran == nil {
		t.reran = make(map[string]bool)
	}
	t.reran[id] = true
}

// verify finds out anew what the thread is.
func (one *thread) verify(p *policy.Policy) *rpc.Error {
	result, sent := one.opened.Root(), one.sent
	if one.gated != nil {
		changed := *sent
		changed.Gated, sent = one.gated, &changed
	}
	if p.Mode() == config.Enforce {
		if err := p.Verify(sent, result, one.world); err != nil {
			return err
		}
	}
	thread, err := policy.NewThread(sent, result, one.world)
	if err != nil {
		return rpc.Errorf(rpc.CodeNotVerified, "%s: %v; start another thread", one.sent.Method, err)
	}
	one.Thread = *thread
	if one.settings == nil {
		return nil
	}
	return one.allows(p, one.settings.Root(), one.Gated)
}

// otherRoots returns the canonical runtimeWorkspaceRoots of Codex's answer but for the workspace. They become writable
// with the first turn that has workspace-write.
func (one *thread) otherRoots() (roots []string) {
	for root := range one.opened.Root().Get("runtimeWorkspaceRoots").Elements() {
		text, _ := root.Text()
		if path, err := one.world.Paths.Canonical(text); err == nil && path != one.Workspace {
			roots = append(roots, path)
		}
	}
	return roots
}

// allows judges what codex says is in force now. gated tells whether the bridge asks in its
// place, or will when a request under way succeeds.
func (one *thread) allows(p *policy.Policy, settings rpc.Value, gated bool) *rpc.Error {
	state := one.world
	thread := one.Thread
	thread.Gated = gated
	state.Thread = &thread
	if p.Mode() == config.Enforce {
		if err := p.VerifySettings(settings, state); err != nil {
			return err
		}
	}
	one.Update(settings)
	return nil
}

// changed takes note of a thread/settings/updated, and forgets the thread when
// the policy does not allow what it says.
func (t *threads) changed(current func() *policy.Policy, id string, settings rpc.Value) *rpc.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := current()
	t.runs(id, settings.Get("approvalPolicy"))
	one := t.known[id]
	if one == nil {
		if record := t.loaded[id]; record != nil {
			record.varied = true
		}
		return nil
	}
	for _, p := range append(slices.Clip(t.held[id]), p) {
		if err := one.allows(p, settings, mayBeGated(one.Gated, t.gates[id])); err != nil {
			delete(t.known, id)
			t.listFolders()
			t.recordLocked(id).varied = true
			return err
		}
	}
	t.recordLocked(id).verified(one.Thread)
	one.settings = keep(settings)
	t.writable.add(id, one.WritableFolders())
	return nil
}

// unverified has a thread take no turn until it is opened again. Codex may still have it loaded.
func (t *threads) unverified(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded[id]; one != nil {
		one.enforced, one.varied = false, true
	}
	if t.known[id] != nil {
		delete(t.known, id)
		t.listFolders()
	}
}

// unloaded forgets a thread that Codex has unloaded. What it was opened by, and under, is not forgotten: a
// few bytes.
func (t *threads) unloaded(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, id)
	if one := t.loaded[id]; one != nil {
		one.unload()
	}
	t.writable.unloaded(id)
	if t.known[id] != nil {
		delete(t.known, id)
		t.listFolders()
	}
}

// forget forgets all threads.
func (t *threads) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.known)
	t.listFolders()
}

// recheck forgets the threads that p does not allow. p is in force already: what
// is opened from now on is held to it.
func (t *threads) recheck(p *policy.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.listFolders()
	for id, one := range t.known {
		if one.verify(p) != nil {
			delete(t.known, id)
		}
	}
}

// count is the number of threads that may take turns.
func (t *threads) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.known)
}

// keep is a copy of an answer's or notification's members but for the history
// that an answer may hold.
func keep(v rpc.Value) *rpc.Doc {
	kept := make(map[string]json.RawMessage)
	for name, member := range v.Members() {
		switch name {
		case "thread":
			kept[name] = json.RawMessage(`{"id":` + orNull(member.Get("id")) + `,"path":` + orNull(member.Get("path")) + `}`)
		case "initialTurnsPage":
		default:
			kept[name] = bytes.Clone(member.Raw())
		}
	}
	text, err := json.Marshal(kept)
	if err != nil {
		panic(err) // the members are raw JSON of a parsed text
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		panic(err)
	}
	return doc
}

func orNull(v rpc.Value) string {
	if !v.Exists() {
		return "null"
	}
	return string(v.Raw())
}
