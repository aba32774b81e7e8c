package guard

import (
	"errors"
	"slices"

	"codex-bridge.example/bridge/policy"
)

// threadState says whether a thread may take turns, and why it may not.
type threadState int

const (
	// The zero state: no client has opened the thread since its record began.
	_ threadState = iota
	// opening: the thread takes no turns until its pending verification has ended.
	opening
	// verified: the thread may take turns. A verification may be pending.
	verified
	// refused: the thread takes no turns until a client opens it again.
	refused
	// unsubscribed: as refused, because the client has left the thread.
	unsubscribed
	// unloaded: as refused, because Codex has unloaded the thread.
	unloaded
)

// threadRecord is what the guard knows of one thread. It ends when Codex has neither the thread nor one
// of its agents in memory. The mutex of threads guards it, and only apply changes it.
type threadRecord struct {
	state threadState
	// verified is the thread if its state is verified: the policies allow its last reported settings.
	// Under audit all threads are verified; differences were logged, and each turn is checked.
	verified *thread
	// pending is the verification that asks the disk; nil if there is none.
	pending *verification
	// extraPolicies are the policies that the thread is checked against beside the active one. The
	// slice is replaced, never changed.
	extraPolicies []*policy.Policy
	// folderDigests are the digests of the policy files of the thread's folders, of which the thread has the
	// policies; nil after the thread was opened.
	folderDigests map[string]string
	// mayRerun reports that the thread had an approval policy under which an accepted command may leave
	// the sandbox. A turn may go on with the policy after it was changed.
	mayRerun bool
	// openedByClient reports that the client has tried to open the thread. It never counts as the
	// subagent of another thread.
	openedByClient bool
	// requests are the pending requests of clients about the thread.
	requests threadRequests
	// writable are the folders that Codex has let commands of the thread write, canonical, each once.
	// None is removed while Codex has the thread. The slice is replaced, never changed.
	writable []string
	// widened are folders that a change makes writable. apply adds them to those of all threads.
	widened []string
	threadClients
	// child is what Codex's files have of the thread if it is a subagent's; nil if it is not, or was not
	// looked up.
	child *child
	// recordedGate is what the GateRecord has of the thread; nil if the guard has not written it.
	recordedGate *gateState
	// loaded is what Codex may have in memory; nil if no request has opened the thread.
	loaded *loadedThread
	// version is the number of the last change of the record.
	version uint64
}

// threadClients is what the clients know of a thread.
type threadClients struct {
	// shownApprovals are the approval policies that the clients see which get notifications of the thread.
	shownApprovals map[*Guard]string
	// turns are those that the clients know.
	turns map[*Guard]clientTurns
	// updates are the latest reports of its settings.
	updates settingsUpdates
}

// threadRequests are the pending requests of clients about a thread.
type threadRequests struct {
	// opening is closed after the response to the last request that opens the thread, or that ends its
	// notifications; nil if there is none.
	opening chan struct{}
	// resuming are the requests of the client that resumes the thread; nil if there are none.
	resuming *resuming
	// gateChanges are those that change the thread's gate. The slice is replaced, never changed.
	gateChanges []*gateChange
}

func (r threadRequests) any() bool {
	return r.opening != nil || r.resuming != nil || len(r.gateChanges) > 0
}

// check returns an error if the record contradicts itself. Tests check each change.
func (r *threadRecord) check() error {
	switch {
	case (r.state == verified) != (r.verified != nil):
		return errors.New("a thread may take turns only if it is verified")
	case r.state == opening && r.pending == nil:
		return errors.New("no verification ends the opening")
	case r.pending != nil && r.state != opening && r.state != verified:
		return errors.New("a verification is pending of a thread that takes no turns")
	case r.pending != nil && !r.pending.opens && r.pending.one == nil:
		return errors.New("a verification has no thread")
	case len(r.extraPolicies) > maxExtraPolicies:
		return errors.New("the thread has too many policies")
	case r.widened != nil:
		return errors.New("folders are not writable yet")
	}
	return nil
}

// copies returns the thread as it is verified, and as it is being verified.
func (r *threadRecord) copies() []*thread {
	var all []*thread
	if r.verified != nil {
		all = append(all, r.verified)
	}
	if r.pending != nil && r.pending.one != nil && r.pending.one != r.verified {
		all = append(all, r.pending.one)
	}
	return all
}

// takesOrAwaitsTurns reports whether the thread may take turns, or may after its pending verification.
func (r *threadRecord) takesOrAwaitsTurns() bool { return r.state == verified || r.state == opening }

// isIdle reports whether the thread takes no turns, and no request is about it.
func (r *threadRecord) isIdle() bool { return !r.takesOrAwaitsTurns() && !r.requests.any() }

// isEmpty reports whether nothing is known of the thread, so that its record ends.
func (r *threadRecord) isEmpty() bool {
	return r.isIdle() && !r.openedByClient && !r.mayRerun && r.loaded == nil && r.writable == nil &&
		len(r.shownApprovals) == 0 && len(r.turns) == 0 && r.child == nil && r.recordedGate == nil && r.updates.isEmpty()
}

// loadedThread returns what Codex may have in memory, to change it.
func (r *threadRecord) loadedThread() *loadedThread {
	if r.loaded == nil {
		r.loaded = new(loadedThread)
	}
	return r.loaded
}

// allow lets the thread take turns.
func (r *threadRecord) allow(one *thread) { r.state, r.verified = verified, one }

// stop lets the thread take no turns until its pending verification has ended.
func (r *threadRecord) stop() { r.state, r.verified = opening, nil }

// end lets the thread take no turns until the client opens it again. A pending verification changes that
// no more.
func (r *threadRecord) end(state threadState) { r.state, r.verified, r.pending = state, nil, nil }

// addWritable adds canonical folders to those that commands of the thread can write.
func (r *threadRecord) addWritable(folders []string) {
	r.writable = append(slices.Clip(r.writable), missing(r.writable, folders)...)
}
