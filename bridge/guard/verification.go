package guard

import (
	"slices"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
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

// beginVerification returns the pending verification of a thread, and whether it is new. It has the
// thread as it is now.
func (r *threadRecord) beginVerification() (v *verification, isNew bool) {
	if r.pending != nil {
		return r.pending, false
	}
	one := *r.verified
	r.pending = &verification{one: &one, done: make(chan struct{})}
	return r.pending, true
}

// endVerification ends a pending verification. Messages that wait for it go on.
func (r *threadRecord) endVerification() {
	if r.pending != nil {
		close(r.pending.done)
		r.pending = nil
	}
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

// tryLocked verifies a thread with the answers that the disk has given. known is false if one is missing.
func (t *threads) tryLocked(id string, record *threadRecord, answers *diskAnswers, active *policy.Policy) (checked *thread, known bool, err *rpc.Error) {
	answers.missed = false
	record.pending.one.written = t.writable.of(id)
	checked, err = record.pending.check(answers, active, record.extraPolicies, record.gateChanges)
	return checked, !answers.missed, err
}

// applyLocked lets a thread take turns after a verification.
func (t *threads) applyLocked(id string, record *threadRecord, checked *thread) {
	if len(record.pending.reported) > 0 {
		t.loadedLocked(id).setVerified(checked.Thread)
		t.writable.add(id, checked.WritableFolders())
	}
	t.allowLocked(record, checked)
}

// beginUpdate records the settings of a thread/settings/updated that a client got, unless another client
// got it before. It returns the verification that the caller must finish, nil if there is none. Until it is
// finished, the thread takes turns only if the policies allow the settings by the earlier answers of the disk.
func (t *threads) beginUpdate(active func() *policy.Policy, client *Guard, id string, settings rpc.Value) *verification {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.recordLocked(id)
	if !record.updates.isNew(client, settings.Raw()) {
		return nil
	}
	record.noteApproval(settings.Get("approvalPolicy"))
	if record.verified == nil && record.pending == nil {
		if record.loaded != nil {
			record.loaded.updateLeft(settings)
		}
		return nil
	}
	v, isNew := record.beginVerification()
	if len(v.reported) == maxUpdates {
		record.loaded.varied = true
		t.refuseLocked(id)
		return nil
	}
	v.reported = append(slices.Clip(v.reported), copyResult(settings))
	if v.opens { // the response is verified with them
		t.stopLocked(record)
		return nil
	}
	checked, known, err := t.tryLocked(id, record, v.one.known(), active())
	if known && err == nil {
		t.applyLocked(id, record, checked)
	} else {
		t.stopLocked(record)
	}
	if !isNew {
		return nil
	}
	return v
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
	t.mu.Lock()
	defer t.mu.Unlock()
	if record := t.records[id]; record != nil && record.pending == v {
		t.refuseLocked(id)
	}
	return rpc.Errorf(rpc.CodeOverloaded, "the thread's policies keep changing; resume it")
}

// tryFinish ends a verification if the answers are enough. Otherwise it returns the function that asks
// the disk.
func (t *threads) tryFinish(active func() *policy.Policy, id string, v *verification, answers *diskAnswers) (ask func(), ended bool, err *rpc.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	if record == nil || record.pending != v {
		return nil, true, nil
	}
	record = t.recordLocked(id)
	p := active()
	checked, known, err := t.tryLocked(id, record, answers, p)
	if !known {
		now, one, extra, changes := *v, *v.one, record.extraPolicies, record.gateChanges
		now.one = &one // the thread may change without the lock
		return func() { _, _ = now.check(answers, p, extra, changes) }, false, nil
	}
	if err != nil {
		if len(v.reported) > 0 {
			t.loadedLocked(id).varied = true
		}
		t.refuseLocked(id)
		return nil, true, err
	}
	t.applyLocked(id, record, checked)
	record.endVerification()
	return nil, true, nil
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
	for id, record := range t.records {
		if record.verified == nil && (record.pending == nil || record.pending.opens) {
			continue
		}
		if v := t.beginVerifyLocked(id, record, p, p); v != nil {
			unknown[id] = v
		}
	}
	return unknown
}

// beginVerifyLocked verifies a thread against a further policy, with the earlier answers of the disk. It
// returns the verification that the caller must finish; nil if there is none.
func (t *threads) beginVerifyLocked(id string, record *threadRecord, active, p *policy.Policy) *verification {
	v, isNew := record.beginVerification()
	record = t.recordLocked(id)
	if v.opens { // the response is verified against the active policy, too
		if !record.keepsUnder(p) {
			v.one = nil
		}
		t.stopLocked(record)
		return nil
	}
	v.policies = append(slices.Clip(v.policies), p)
	switch checked, known, err := t.tryLocked(id, record, v.one.known(), active); {
	case known && err != nil:
		t.refuseLocked(id)
	case known:
		t.applyLocked(id, record, checked)
		if isNew {
			record.endVerification()
		}
	default:
		t.stopLocked(record)
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
		if err := p.Verify(sent, result, world); err != nil {
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
	return p.VerifySettings(settings, state)
}

// known returns the answers that the disk has given about the thread's folders.
func (one *thread) known() *diskAnswers {
	if one.answers == nil {
		one.answers = new(diskAnswers)
	}
	return one.answers
}
