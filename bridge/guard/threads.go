package guard

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// threads has the state of all threads that the Guard knows. mu guards all fields except folders
// and writable, which are safe for concurrent use. The slices of extraPolicies, pastPolicies, starting
// and projects are replaced, never changed.
type threads struct {
	mu sync.Mutex
	// verified are the threads that may take turns: the policies allow their last reported
	// settings. Under audit these are all threads; differences were logged, and each turn is
	// checked.
	verified map[string]*thread
	// extraPolicies are the policies that a thread is checked against beside the active one.
	extraPolicies map[string][]*policy.Policy
	// pastPolicies are all policies since the bridge started that were active or in extraPolicies,
	// except the active one: at most one more than maxExtraPolicies.
	pastPolicies []*policy.Policy
	// mayRerun are the threads that had an approval policy under which an accepted command may
	// leave the sandbox. They stay in the map: a turn may go on with the policy after it was
	// changed.
	mayRerun map[string]bool
	// loaded are the threads that Codex may have in memory, by id.
	loaded map[string]*loadedThread
	// openedByClient are the threads that the client has tried to open. They never count as the
	// subagents of other threads.
	openedByClient map[string]bool
	// gateChanges are the pending requests that change a thread's gate, by the thread's id.
	gateChanges map[string][]*gateChange
	changeCount uint64 // number of gate changes so far
	// updates are the latest reports of settings, by thread.
	updates map[string]*settingsUpdates
	// opening has, for each thread that a pending request opens, a channel that is closed after the
	// response.
	opening map[string]chan struct{}
	// resuming has the clients with a pending thread/resume, by thread.
	resuming map[string]*resuming
	// starting are the channels of pending requests that create a thread.
	starting []chan struct{}
	// projects are the values of policy.Thread.Project of all requests since the bridge started that
	// have opened a thread, or may have. Codex keeps a project's configuration when it opens a thread
	// again from another folder, in its subagents, and in its internal work.
	projects []string
	// writable are the folders that commands could write, including those of unverified threads.
	writable writableFolders
	// folders are the workspaces of verified, sorted and without duplicates. The slice is replaced,
	// never changed, so any goroutine may read it.
	folders atomic.Pointer[[]string]
}

// workspaces returns the folders of the threads that may take turns.
func (t *threads) workspaces() []string {
	if folders := t.folders.Load(); folders != nil {
		return *folders
	}
	return nil
}

// updateFoldersLocked sets folders after a change of verified.
func (t *threads) updateFoldersLocked() {
	var folders []string
	for _, one := range t.verified {
		folders = append(folders, one.Workspace)
	}
	slices.Sort(folders)
	folders = slices.Compact(folders)
	t.folders.Store(&folders)
}

// thread is a verified thread, with the data to verify it against another policy.
type thread struct {
	policy.Thread
	sent         *policy.SentSettings
	changedGate  *bool    // the gate that a later request has set; nil if none has
	gateOrder    uint64   // number of that request, or of the one that opened the thread
	openResult   *rpc.Doc // Codex's result when the thread was opened
	lastSettings *rpc.Doc // Codex's last report of settings since; nil if none
	world        policy.State
}

// peek returns a thread for a message of Codex, without waiting; nil if it may take no turn.
func (t *threads) peek(id string) *policy.Thread { return t.current(id, mayBeGated) }

// registerOpened verifies a thread by Codex's result of the request that opened it, and adds it to
// verified. A thread that fails is removed, unless it was verified before and nothing has changed.
// current is called with the lock held; otherwise a concurrent SetPolicy could miss the thread.
//
// order is the number of the request among the changes of gates. A request without an approval
// policy does not change the gate.
func (t *threads) registerOpened(current func() *policy.Policy, sent *policy.SentSettings, result rpc.Value, world policy.State, order uint64, own []*policy.Policy) *rpc.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.updateFoldersLocked()
	p := current()
	id, _ := result.Get("thread").Get("id").Text()
	t.noteApproval(id, result.Get("approvalPolicy"))
	was, extra := t.verified[id], t.extraPolicies[id]
	delete(t.verified, id)
	delete(t.extraPolicies, id)
	for _, one := range own {
		t.addPolicy(id, one)
	}
	if t.openedByClient == nil {
		t.openedByClient = make(map[string]bool)
	}
	t.openedByClient[id] = true
	record := t.recordLocked(id)
	record.setProfile(sent.Profile)
	one := &thread{sent: sent, openResult: copyResult(result), world: world, gateOrder: order}
	if was != nil && (was.gateOrder > order || sent.Gated == nil) {
		gated := was.Gated
		one.changedGate, one.gateOrder = &gated, was.gateOrder
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
	if err == nil && !ok {
		err = foldersChangedError(sent.Method)
	}
	if err != nil {
		if was != nil && was.isUnchanged(result, one.world, append(slices.Clip(extra), p)) {
			t.verified[id] = was
			delete(t.extraPolicies, id)
			for _, one := range extra {
				t.addPolicy(id, one)
			}
		}
		return err
	}
	if t.verified == nil {
		t.verified = make(map[string]*thread)
	}
	t.verified[one.ID] = one
	if !slices.Contains(record.workspaces, one.Workspace) {
		record.workspaces = append(slices.Clip(record.workspaces), one.Workspace)
	}
	record.setVerified(one.Thread)
	record.unsubscribed = false
	t.writable.add("", world.DefaultRoots()) // a turn with workspace-write makes them writable
	return nil
}

// recordSent records the project of a request that opens a thread, "" for none, and the policies of its
// folders. Call it before Codex gets the request: Codex may start internal work for the thread before
// it answers, and also for a thread that then takes no turn.
func (t *threads) recordSent(folder string, own []*policy.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range own {
		t.recordPolicyLocked(p)
	}
	if folder != "" && !slices.Contains(t.projects, folder) {
		t.projects = append(slices.Clip(t.projects), folder)
	}
}

// loadedProjects returns the folders whose project configuration Codex may have loaded.
func (t *threads) loadedProjects() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.projects
}

// isOpenedByClient reports whether the client has tried to open the thread.
func (t *threads) isOpenedByClient(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.openedByClient[id]
}

// noteApproval records an effective approval policy under which an accepted command may leave the
// sandbox.
func (t *threads) noteApproval(id string, approval rpc.Value) {
	if !policy.RerunsOutside(approval.Raw()) {
		return
	}
	if t.mayRerun == nil {
		t.mayRerun = make(map[string]bool)
	}
	t.mayRerun[id] = true
}

// verify verifies the thread against p and updates its settings.
func (one *thread) verify(p *policy.Policy) *rpc.Error {
	result, sent := one.openResult.Root(), one.sent
	if one.changedGate != nil {
		changed := *sent
		changed.Gated, sent = one.changedGate, &changed
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
	if one.lastSettings == nil {
		return nil
	}
	settings := one.lastSettings.Root()
	if err := one.verifySettings(p, settings, one.Gated); err != nil {
		return err
	}
	one.Update(settings)
	return nil
}

// otherRoots returns the canonical runtimeWorkspaceRoots of Codex's result except the workspace.
// The first turn with workspace-write makes them writable.
func (one *thread) otherRoots() (roots []string) {
	for root := range one.openResult.Root().Get("runtimeWorkspaceRoots").Elements() {
		text, _ := root.Text()
		if path, err := one.world.Paths.Canonical(text); err == nil && path != one.Workspace {
			roots = append(roots, path)
		}
	}
	return roots
}

// verifySettings verifies reported settings against p. gated reports whether the bridge asks in
// Codex's place, or will if a pending request succeeds.
func (one *thread) verifySettings(p *policy.Policy, settings rpc.Value, gated bool) *rpc.Error {
	if p.Mode() != config.Enforce {
		return nil
	}
	state := one.world
	thread := one.Thread
	thread.Gated = gated
	state.Thread = &thread
	return p.VerifySettings(settings, state)
}

// updateSettings applies a thread/settings/updated that a client got, unless another client got it
// before. It removes the thread from verified if a policy does not allow the settings.
func (t *threads) updateSettings(current func() *policy.Policy, got *gotUpdates, id string, settings rpc.Value) *rpc.Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.isNewUpdateLocked(got, id, settings.Raw()) {
		return nil
	}
	p := current()
	t.noteApproval(id, settings.Get("approvalPolicy"))
	one := t.verified[id]
	if one == nil {
		if record := t.loaded[id]; record != nil {
			record.varied = true
		}
		return nil
	}
	for _, p := range append(slices.Clip(t.extraPolicies[id]), p) {
		if err := one.verifySettings(p, settings, mayBeGated(one.Gated, t.gateChanges[id])); err != nil {
			delete(t.verified, id)
			t.updateFoldersLocked()
			t.recordLocked(id).varied = true
			return err
		}
	}
	one.Update(settings)
	t.recordLocked(id).setVerified(one.Thread)
	one.lastSettings = copyResult(settings)
	t.writable.add(id, one.WritableFolders())
	return nil
}

// revoke removes a thread from verified until the client opens it again. Codex may still have it in
// memory.
func (t *threads) revoke(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded[id]; one != nil {
		one.enforced, one.varied = false, true
	}
	if t.verified[id] != nil {
		delete(t.verified, id)
		t.updateFoldersLocked()
	}
}

// removeVerified removes a thread from verified. Its record stays as it is.
func (t *threads) removeVerified(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.verified[id] != nil {
		delete(t.verified, id)
		t.updateFoldersLocked()
	}
}

// unload removes a thread that Codex has unloaded. It keeps the record of earlier settings, which
// takes a few bytes.
func (t *threads) unload(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.extraPolicies, id)
	delete(t.updates, id)
	if one := t.loaded[id]; one != nil {
		one.unload()
	}
	t.writable.remove(id)
	if t.verified[id] != nil {
		delete(t.verified, id)
		t.updateFoldersLocked()
	}
}

// revokeAll removes all threads from verified.
func (t *threads) revokeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.verified)
	t.updateFoldersLocked()
}

// verifyAll removes the threads that p does not allow from verified. p is already active, so
// threads that are opened later are checked against it.
func (t *threads) verifyAll(p *policy.Policy) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.updateFoldersLocked()
	for id, one := range t.verified {
		if one.verify(p) != nil {
			delete(t.verified, id)
		}
	}
}

// count returns the number of threads that may take turns.
func (t *threads) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.verified)
}

// copyResult copies a result or the params of a notification, without the thread's history.
func copyResult(v rpc.Value) *rpc.Doc {
	kept := make(map[string]json.RawMessage)
	for name, member := range v.Members() {
		switch name {
		case "thread":
			kept[name] = json.RawMessage(`{"id":` + orNull(member.Get("id")) + `,"path":` + orNull(member.Get("path")) + `,"environments":` + orNull(member.Get("environments")) + `}`)
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

// orNull returns the JSON of v, or null if v is missing.
func orNull(v rpc.Value) string {
	if !v.Exists() {
		return "null"
	}
	return string(v.Raw())
}
