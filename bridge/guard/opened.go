package guard

import (
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// openedThread is Codex's response to a request that opened a thread, while it is verified.
type openedThread struct {
	sent   *policy.SentSettings
	result rpc.Value
	world  policy.State
	// order is the number of the request among the changes of gates. A request without an approval
	// policy does not change the gate.
	order uint64
	own   []*policy.Policy // the policies of its folders, and of the machine's requirements

	id      string
	kept    *rpc.Doc // of the result
	answers *diskAnswers
}

// openedVerdict is the result of a verification.
type openedVerdict struct {
	one       *thread
	folders   []string // that it makes writable
	defaults  []string // that a turn with workspace-write makes writable
	err       *rpc.Error
	unchanged bool // the thread before has the same settings, and may go on
}

// newOpenedThread returns a response before its verification. It does not keep the memory of result.
func newOpenedThread(o openedThread) *openedThread {
	o.id, _ = o.result.Get("thread").Get("id").Text()
	o.kept, o.answers = copyResult(o.result), new(diskAnswers)
	o.result = o.kept.Root()
	return &o
}

// finishOpened verifies a thread by Codex's result of the request that opened it, and lets it take
// turns. A thread that fails takes none, unless it was verified before and nothing has changed. active is
// called with the lock held; otherwise a concurrent SetPolicy could miss the thread.
func (t *threads) finishOpened(active func() *policy.Policy, v *verification, o *openedThread) *rpc.Error {
	for range maxVerifyTries {
		ask, ended, err := t.tryOpened(active, v, o)
		if ended {
			return err
		}
		o.answers.asks = true
		ask()
		o.answers.asks = false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[o.id]; record != nil && record.pending == v {
		t.refuseLocked(o.id)
	}
	return foldersChangedError(o.sent.Method)
}

// beginOpened records that a request has opened a thread. client gets only later reports of its settings.
// If its settings have changed, or if that is not known, the thread takes no turns until it is verified.
func (t *threads) beginOpened(active func() *policy.Policy, client *Guard, o *openedThread) *verification {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.recordLocked(o.id)
	record.noteApproval(o.result.Get("approvalPolicy"))
	record.openedByClient = true
	record.updates.gotAll(client)
	t.loadedLocked(o.id).setProfile(o.sent.Profile)
	was := record.verified
	record.endVerification()
	record.pending = &verification{opens: true, one: was, done: make(chan struct{})}
	if was != nil {
		answers := was.known()
		answers.missed = false
		if same := o.keeps(was, answers, append(slices.Clip(record.extraPolicies), active())); !same || answers.missed {
			t.stopLocked(record)
		}
	}
	return record.pending
}

// tryOpened ends the verification if the answers of the disk are enough. Otherwise it returns the
// function that asks the disk.
func (t *threads) tryOpened(active func() *policy.Policy, v *verification, o *openedThread) (ask func(), ended bool, err *rpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[o.id]
	if record == nil || record.pending != v {
		return nil, true, rpc.Errorf(rpc.CodeNotVerified, "%s: the thread was closed before its folders were found; resume it", o.sent.Method)
	}
	record = t.recordLocked(o.id)
	p, before := active(), *v
	if v.one != nil { // judge also reads it without the lock
		was := *v.one
		before.one = &was
	}
	o.answers.missed = false
	own := t.writable.of(o.id)
	var verdict openedVerdict
	ok := t.writable.reserve(func(all []string) (string, []string) {
		if verdict = o.judge(before, p, record.extraPolicies, record.gateChanges, own, all); o.answers.missed || verdict.err != nil {
			return "", nil
		}
		return o.id, verdict.folders
	})
	if o.answers.missed {
		extra, changes := record.extraPolicies, record.gateChanges
		return func() { o.judge(before, p, extra, changes, own, t.writable.ofAll()) }, false, nil
	}
	if verdict.err == nil && !ok {
		verdict.err = foldersChangedError(o.sent.Method)
	}
	t.endOpenedLocked(record, o, verdict)
	return nil, true, verdict.err
}

// endOpenedLocked applies the result of a verification.
func (t *threads) endOpenedLocked(record *threadRecord, o *openedThread, verdict openedVerdict) {
	was, reported := record.pending.one, record.pending.reported
	record.endVerification()
	if verdict.unchanged {
		t.allowLocked(record, was)
		return
	}
	record.extraPolicies, record.folderDigests = o.own, nil
	if record.loaded.varied = record.loaded.varied || len(reported) > 0; verdict.err != nil {
		t.stopLocked(record)
		return
	}
	one := verdict.one
	if !slices.Contains(record.loaded.workspaces, one.Workspace) {
		record.loaded.workspaces = append(slices.Clip(record.loaded.workspaces), one.Workspace)
	}
	record.loaded.setVerified(one.Thread)
	record.loaded.unsubscribed = false
	t.writable.add("", verdict.defaults)
	t.allowLocked(record, one)
}

// judge compares the response with the request and the policies. before is the thread until now, own has the folders that its
// commands could write, and writable those of all threads.
func (o *openedThread) judge(before verification, active *policy.Policy, extra []*policy.Policy, changes []*gateChange, own, writable []string) (verdict openedVerdict) {
	world := o.world
	world.Writable = writable
	was := before.one
	one := &thread{sent: o.sent, openResult: o.kept, world: world, gateOrder: o.order, answers: o.answers, written: own}
	if was != nil && (was.gateOrder > o.order || o.sent.Gated == nil) {
		gated := was.Gated
		one.changedGate, one.gateOrder = &gated, was.gateOrder
	}
	policies := append(slices.Clip(o.own), active)
	for _, p := range policies {
		if verdict.err == nil {
			verdict.err = one.verify(p)
		}
		if verdict.err == nil {
			verdict.err = p.VerifyProfile(o.sent, o.result, o.answers.in(world))
		}
	}
	if verdict.err == nil {
		verdict.err = one.verifyReported(before.reported, policies, changes)
	}
	if verdict.err != nil {
		verdict.unchanged = was != nil && len(before.reported) == 0 && o.keeps(was, o.answers, append(slices.Clip(extra), active))
		return verdict
	}
	verdict.one, verdict.folders, verdict.defaults = one, append(one.WritableFolders(), one.otherRoots()...), o.answers.in(world).DefaultRoots()
	return verdict
}

// keeps reports whether the response has the settings that the thread had before, and each policy still
// allows these. It does not compare the response with the request.
//
// Measured with Codex 0.169: a loaded thread ignores what thread/resume requests, and its running turn
// goes on.
func (o *openedThread) keeps(was *thread, answers *diskAnswers, policies []*policy.Policy) bool {
	before := was.Thread
	again := thread{
		sent:       &policy.SentSettings{Method: was.sent.Method, CwdWithin: before.Workspace, Profile: was.sent.Profile, Gated: &before.Gated},
		openResult: o.kept, world: o.world, answers: answers,
	}
	for _, p := range policies {
		if again.verify(p) != nil {
			return false
		}
	}
	return again.LacksProfile == before.LacksProfile && policy.SameSettings(&before, &again.Thread)
}

// otherRoots returns the canonical runtimeWorkspaceRoots of Codex's result except the workspace.
// The first turn with workspace-write makes them writable.
func (one *thread) otherRoots() (roots []string) {
	world := one.known().in(one.world)
	for root := range one.openResult.Root().Get("runtimeWorkspaceRoots").Elements() {
		text, _ := root.Text()
		if path, err := world.Paths.Canonical(text); err == nil && path != one.Workspace {
			roots = append(roots, path)
		}
	}
	return roots
}
