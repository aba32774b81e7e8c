package guard

import (
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
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
	t.apply(o.id, verificationFailed{v})
	return foldersChangedError(o.sent.Method)
}

// beginOpened applies threadOpened, and returns the verification of the response.
func (t *threads) beginOpened(active func() *policy.Policy, client *Guard, o *openedThread) *verification {
	e := &threadOpened{client: client, opened: o, active: active}
	t.apply(o.id, e)
	return e.v
}

// threadOpened: a request has opened the thread. client gets only later reports of its settings. If its
// settings have changed, or if that is not known, the thread takes no turns until it is verified.
type threadOpened struct {
	addsRecord
	client *Guard
	opened *openedThread
	active func() *policy.Policy
	v      *verification // set by change
}

func (e *threadOpened) change(r *threadRecord) {
	o := e.opened
	r.noteApproval(o.result.Get("approvalPolicy"))
	r.openedByClient = true
	r.updates.gotAll(e.client)
	r.loadedThread().setProfile(o.sent.Profile)
	was := r.verified
	e.v = &verification{opens: true, one: was, done: make(chan struct{})}
	r.pending = e.v
	if was == nil {
		r.stop()
		return
	}
	answers := was.known()
	answers.missed = false
	if same := o.keeps(was, answers, append(slices.Clip(r.extraPolicies), e.active())); !same || answers.missed {
		r.stop()
	}
}

// tryOpened ends the verification if the answers of the disk are enough. Otherwise it returns the
// function that asks the disk.
func (t *threads) tryOpened(active func() *policy.Policy, v *verification, o *openedThread) (ask func(), ended bool, err *rpc.Error) {
	e := &openedAnswered{
		v: v, opened: o, active: active, writable: &t.writable,
		err: rpc.Errorf(rpc.CodeNotVerified, "%s: the thread was closed before its folders were found; resume it", o.sent.Method),
	}
	t.apply(o.id, e)
	return e.ask, e.ask == nil, e.err
}

// openedAnswered: the disk has answered for the verification of a thread that a request has opened. The
// result counts only if the verification is still pending.
type openedAnswered struct {
	v        *verification
	opened   *openedThread
	active   func() *policy.Policy
	writable *writableFolders

	ask func()     // set by change: asks the disk, if the answers are not enough
	err *rpc.Error // set by change: why the thread takes no turns
}

func (e *openedAnswered) change(r *threadRecord) {
	if r.pending != e.v {
		return
	}
	o, p, before := e.opened, e.active(), *e.v
	if e.v.one != nil { // judge also reads it without the lock
		was := *e.v.one
		before.one = &was
	}
	own, extra, changes := r.writable, r.extraPolicies, r.requests.gateChanges
	o.answers.missed = false
	var verdict openedVerdict
	ok := e.writable.reserve(func(all []string) []string {
		if verdict = o.judge(before, p, extra, changes, own, all); o.answers.missed || verdict.err != nil {
			return nil
		}
		return verdict.folders
	})
	if o.answers.missed {
		e.ask, e.err = func() { o.judge(before, p, extra, changes, own, e.writable.ofAll()) }, nil
		return
	}
	if verdict.err == nil && !ok {
		verdict.err = foldersChangedError(o.sent.Method)
	}
	e.err = verdict.err
	r.endOpened(o, verdict)
}

// endOpened applies the result of a verification.
func (r *threadRecord) endOpened(o *openedThread, verdict openedVerdict) {
	was, reported := r.pending.one, r.pending.reported
	if verdict.unchanged {
		r.pending = nil
		r.allow(was)
		return
	}
	r.extraPolicies, r.folderDigests = o.own, nil
	r.loaded.varied = r.loaded.varied || len(reported) > 0
	if verdict.err != nil {
		r.end(refused)
		return
	}
	one := verdict.one
	if !slices.Contains(r.loaded.workspaces, one.Workspace) {
		r.loaded.workspaces = append(slices.Clip(r.loaded.workspaces), one.Workspace)
	}
	r.loaded.setVerified(one.Thread)
	r.loaded.unsubscribed = false
	r.addWritable(verdict.folders) // the list of all threads has them
	r.widened = verdict.defaults
	r.pending = nil
	r.allow(one)
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
			verdict.err = reported.VerifyProfile(p, o.sent, o.result, o.answers.in(world))
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
