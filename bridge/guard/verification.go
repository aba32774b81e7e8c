package guard

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/reported"
	"codex-bridge.example/rpc"
)

// verification is a pending comparison of a thread with its policies. It asks the disk without the lock
// of threads, because a folder of the network may not answer. Its result counts only if nothing has
// ended it in the meantime.
type verification struct {
	one      *thread          // the thread as it was verified last; nil if it was not
	opens    bool             // a response opens the thread
	policies []*policy.Policy // that have become active since; the thread is to be verified against each
	reported []*rpc.Doc       // settings that are to be verified, in the order in which Codex reported them
	done     chan struct{}    // closed at the end
}

// maxVerifyTries bounds how often a verification asks the disk. Each time it learns more, unless the
// policy changes.
const maxVerifyTries = 100

// beginVerification returns the pending verification of a verified thread, or a new one.
func (r *threadRecord) beginVerification() (v *verification, isNew bool) {
	if r.pending != nil {
		return r.pending, false
	}
	one := *r.verified
	r.pending = &verification{one: &one, done: make(chan struct{})}
	return r.pending, true
}

// check returns the thread as the policies allow it. The error says why one does not.
func (v verification) check(answers *diskAnswers, active *policy.Policy, extra []*policy.Policy, changes []*gateChange) (*thread, *rpc.Error) {
	one := *v.one
	one.answers = answers
	for _, p := range v.policies {
		if err := one.verify(p); err != nil {
			return nil, err
		}
	}
	if err := one.verifyReported(v.reported, append(slices.Clip(extra), active), changes); err != nil {
		return nil, err
	}
	return &one, nil
}

// verifyReported verifies settings one after the other, because a turn may go on with each of them.
func (one *thread) verifyReported(reported []*rpc.Doc, policies []*policy.Policy, changes []*gateChange) *rpc.Error {
	for _, settings := range reported {
		for _, p := range policies {
			if err := one.verifySettings(p, settings.Root(), mayBeGated(one.Gated, changes)); err != nil {
				return err
			}
		}
		one.Update(settings.Root())
		one.lastSettings = settings
	}
	return nil
}

// try verifies the thread with the answers that the disk has given. known is false if one is missing.
func (r *threadRecord) try(answers *diskAnswers, active *policy.Policy) (checked *thread, known bool, err *rpc.Error) {
	answers.missed = false
	r.pending.one.written = r.writable
	checked, err = r.pending.check(answers, active, r.extraPolicies, r.requests.gateChanges)
	return checked, !answers.missed, err
}

// allowChecked lets the thread take turns after a verification.
func (r *threadRecord) allowChecked(checked *thread) {
	if len(r.pending.reported) > 0 {
		r.loadedThread().setVerified(checked.Thread)
		r.widened = checked.WritableFolders()
		r.addWritable(r.widened)
	}
	r.allow(checked)
}

// settingsReported: Codex has reported settings of the thread to a client. Another client may have got them
// before. Until the verification has ended, the thread takes turns only if the policies allow the settings by
// the earlier answers of the disk.
type settingsReported struct {
	addsRecord
	client   *Guard
	settings rpc.Value
	active   func() *policy.Policy
	finish   *verification // set by change: the verification that the caller must finish; nil if there is none
}

func (e *settingsReported) change(r *threadRecord) {
	if !r.updates.isNew(e.client, e.settings.Raw()) {
		return
	}
	r.noteApproval(e.settings.Get("approvalPolicy"))
	if !r.takesOrAwaitsTurns() {
		if r.loaded != nil {
			r.loaded.updateLeft(e.settings)
		}
		return
	}
	v, isNew := r.beginVerification()
	if len(v.reported) == maxUpdates {
		r.loadedThread().varied = true
		r.end(refused)
		return
	}
	v.reported = append(slices.Clip(v.reported), copyResult(e.settings))
	if v.opens { // the response is verified with them
		r.stop()
		return
	}
	checked, known, err := r.try(v.one.known(), e.active())
	if known && err == nil {
		r.allowChecked(checked)
	} else {
		r.stop()
	}
	if isNew {
		e.finish = v
	}
}

// beginUpdate applies settingsReported, and returns the verification that the caller must finish; nil if
// there is none.
func (t *threads) beginUpdate(active func() *policy.Policy, client *Guard, id string, settings rpc.Value) *verification {
	e := &settingsReported{client: client, settings: settings, active: active}
	t.apply(id, e)
	return e.finish
}

// finish verifies a thread with new answers of the disk.
func (t *threads) finish(active func() *policy.Policy, id string, v *verification) *rpc.Error {
	answers := new(diskAnswers)
	for range maxVerifyTries {
		again, ended, err := t.tryFinish(active, id, v, answers)
		if ended {
			return err
		}
		answers.asks = true
		again()
		answers.asks = false
	}
	t.apply(id, verificationFailed{v})
	return rpc.Errorf(rpc.CodeOverloaded, "the thread's policies keep changing; resume it")
}

// verificationFailed: a verification has not come to a result.
type verificationFailed struct{ v *verification }

func (e verificationFailed) change(r *threadRecord) {
	if r.pending == e.v {
		r.end(refused)
	}
}

// tryFinish ends a verification if the answers are enough. Otherwise it returns the function that asks
// the disk.
func (t *threads) tryFinish(active func() *policy.Policy, id string, v *verification, answers *diskAnswers) (ask func(), ended bool, err *rpc.Error) {
	e := &diskAnswered{v: v, answers: answers, active: active}
	t.apply(id, e)
	return e.ask, e.ask == nil, e.err
}

// diskAnswered: the disk has answered for a verification. The result counts only if the verification is
// still pending.
type diskAnswered struct {
	v       *verification
	answers *diskAnswers
	active  func() *policy.Policy

	ask func()     // set by change: asks the disk, if the answers are not enough
	err *rpc.Error // set by change: why the thread takes no turns
}

func (e *diskAnswered) change(r *threadRecord) {
	if r.pending != e.v {
		return
	}
	p := e.active()
	checked, known, err := r.try(e.answers, p)
	switch e.err = err; {
	case !known:
		now, one, extra, changes := *e.v, *e.v.one, r.extraPolicies, r.requests.gateChanges
		now.one = &one // the thread may change without the lock
		e.ask, e.err = func() { _, _ = now.check(e.answers, p, extra, changes) }, nil
	case err != nil:
		if len(e.v.reported) > 0 {
			r.loadedThread().varied = true
		}
		r.end(refused)
	default:
		r.allowChecked(checked)
		r.pending = nil
	}
}

// verifyAll removes the threads that the active policy does not allow from the verified ones. Threads
// that are opened later are checked against it. A thread of whose folders too little is known takes no
// turn until the disk has answered.
func (t *threads) verifyAll(active func() *policy.Policy) {
	for id, v := range t.beginVerifyAll(active()) {
		go func() { _ = t.finish(active, id, v) }()
	}
}

// beginVerifyAll verifies all threads with the earlier answers of the disk. It returns the verifications
// that the caller must finish.
func (t *threads) beginVerifyAll(p *policy.Policy) map[string]*verification {
	t.mu.Lock()
	defer t.mu.Unlock()
	unknown := make(map[string]*verification)
	for id := range t.records {
		e := &policyActive{p: p}
		if t.applyLocked(id, e); e.finish != nil {
			unknown[id] = e.finish
		}
	}
	return unknown
}

// policyActive: a policy is the active one from now on.
type policyActive struct {
	p      *policy.Policy
	finish *verification // set by change: the verification that the caller must finish; nil if there is none
}

func (e *policyActive) change(r *threadRecord) {
	if r.state == verified || r.pending != nil && !r.pending.opens {
		e.finish = r.verifyAgainst(e.p, e.p)
	}
}

// verifyAgainst verifies the thread against a further policy, with the earlier answers of the disk. It
// returns the verification that must be finished; nil if there is none.
func (r *threadRecord) verifyAgainst(active, p *policy.Policy) *verification {
	v, isNew := r.beginVerification()
	if v.opens { // the response is verified against the active policy, too
		if !r.keepsUnder(p) {
			v.one = nil
		}
		r.stop()
		return nil
	}
	v.policies = append(slices.Clip(v.policies), p)
	switch checked, known, err := r.try(v.one.known(), active); {
	case known && err != nil:
		r.end(refused)
	case known:
		r.allowChecked(checked)
		if isNew {
			r.pending = nil
		}
	default:
		r.stop()
		if isNew {
			return v
		}
	}
	return nil
}

// keepsUnder reports whether a policy allows the thread of a pending verification, by the earlier answers of
// the disk.
func (r *threadRecord) keepsUnder(p *policy.Policy) bool {
	if r.pending.one == nil {
		return false
	}
	answers := r.pending.one.known()
	answers.missed = false
	_, err := verification{one: r.pending.one, policies: []*policy.Policy{p}}.check(answers, p, nil, nil)
	return err == nil && !answers.missed
}

// verify verifies the thread against p and updates its settings.
func (one *thread) verify(p *policy.Policy) *rpc.Error {
	result, sent, world := one.openResult.Root(), one.sent, one.known().in(one.world)
	if one.changedGate != nil {
		changed := *sent
		changed.Gated, sent = one.changedGate, &changed
	}
	if p.Mode() == config.Enforce {
		if err := reported.Verify(p, sent, result, world); err != nil {
			return err
		}
	}
	thread, err := policy.NewThread(sent, result, world)
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

// verifySettings verifies reported settings against p. gated reports whether the bridge asks in
// Codex's place, or will if a pending request succeeds.
func (one *thread) verifySettings(p *policy.Policy, settings rpc.Value, gated bool) *rpc.Error {
	if p.Mode() != config.Enforce {
		return nil
	}
	state := one.known().in(one.world)
	thread := one.Thread
	thread.Gated, thread.Writable = gated, one.written
	state.Thread = &thread
	return reported.VerifySettings(p, settings, state)
}

// known returns the answers that the disk has given about the thread's folders.
func (one *thread) known() *diskAnswers {
	if one.answers == nil {
		one.answers = new(diskAnswers)
	}
	return one.answers
}
