package guard

import (
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
)

// SetFolderDigest sets the function that returns a digest of the policy files for a folder, which is ""
// without such files. By it the guard finds that a file has changed while a thread is open. Call it before
// the conversation starts.
func (g *Guard) SetFolderDigest(digest func(folder string) string) { g.folderDigest = digest }

// tightenFor does what tighten does for the thread of a client's message, unless the message opens the
// thread or passes without a check.
func (g *Guard) tightenFor(call *bridge.ClientMessage) {
	thread := textOf(call, "threadId")
	if thread != "" && !slices.Contains(openRequests, call.Method) && g.policy.Load().NeedsState(call.Message) {
		g.tighten(thread)
	}
}

// tighten adds the policy of a thread's folder to those of the thread if its policy files have changed since
// the thread was opened. The thread keeps its earlier policies, so that a looser file changes nothing. A
// thread whose settings the policy does not allow takes no turn until the client opens it again, and
// neither does one for whose folder the disk does not answer.
func (g *Guard) tighten(thread string) {
	if g.folderPolicy == nil || g.folderDigest == nil || !g.Enforces() {
		return
	}
	id := g.Session(thread)
	folders := g.threads.workspacesOf(id)
	if len(folders) == 0 {
		return
	}
	if !g.awaitDisk(func() {
		for _, folder := range folders {
			g.tightenIn(id, folder)
		}
	}) {
		g.threads.apply(id, threadRefused{})
		g.log.Error("a thread takes no turns until the client opens it again: "+noAnswerReason, "thread", id)
	}
}

// tightenIn adds the policy of one folder of a thread.
func (g *Guard) tightenIn(id, folder string) {
	digest := g.folderDigest(folder)
	if !g.threads.isNewDigest(id, folder, digest) {
		return
	}
	p, err := g.folderPolicy(folder)
	switch {
	case p == nil && err != nil:
		g.log.Warn("the changed policy file of a thread's folder does not load; the thread keeps its policies", "thread", id, "folder", folder, "error", err)
	case err != nil:
		g.log.Warn("the changed policy file of a thread's folder counts for the thread, but opens no more threads, since it can't be enforced", "thread", id, "folder", folder, "error", err)
	}
	if p != nil && p.Mode() == config.Enforce { // it counts even if it lets commands change a file that governs
		g.addFolderPolicy(id, folder, p)
	}
	g.threads.apply(id, policyFilesRead{folder, digest})
}

// addFolderPolicy adds a policy to those of a thread, and verifies the thread against it.
func (g *Guard) addFolderPolicy(id, folder string, p *policy.Policy) {
	v, added := g.threads.addPolicy(g.policy.Load(), id, p)
	if !added {
		return
	}
	g.recordPolicyChange("the policy file of the folder " + folder + " has changed; it also counts for the open thread " + id +
		" from now on; what it no longer forbids counts when the thread is opened again")
	if v == nil {
		return
	}
	if err := g.threads.finish(g.policy.Load, id, v); err != nil {
		g.log.Error("the changed policy file of its folder does not allow the settings of a thread; it takes no turn until the client opens it again",
			"thread", id, "error", err.Message)
	}
}

// isNewDigest reports whether the digest of a folder's policy files is not the last one of a thread. That of
// a thread that was just opened is not known.
func (t *threads) isNewDigest(id, folder, digest string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	record := t.records[id]
	return record != nil && record.folderDigests[folder] != digest
}

// policyFilesRead: the thread has the policy of the policy files with a digest of one of its folders.
type policyFilesRead struct{ folder, digest string }

func (e policyFilesRead) change(r *threadRecord) {
	if r.folderDigests == nil {
		r.folderDigests = make(map[string]string)
	}
	r.folderDigests[e.folder] = e.digest
}

// addPolicy applies folderPolicyFound. added reports that the thread had not the policy. v is the
// verification that the caller must finish; nil if there is none.
func (t *threads) addPolicy(active *policy.Policy, id string, p *policy.Policy) (v *verification, added bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := &folderPolicyFound{active: active, p: p}
	if t.applyLocked(id, e); e.added {
		t.recordPolicyLocked(p)
	}
	return e.finish, e.added
}

// folderPolicyFound: the policy files of the thread's folder have another policy than before. A thread that
// can't have more takes no turn until the client opens it again.
type folderPolicyFound struct {
	active, p *policy.Policy
	added     bool          // set by change
	finish    *verification // set by change: the verification that the caller must finish; nil if there is none
}

func (e *folderPolicyFound) change(r *threadRecord) {
	if e.p.Equal(e.active) || slices.ContainsFunc(r.extraPolicies, e.p.Equal) {
		return
	}
	e.added = true
	if len(r.extraPolicies) >= maxExtraPolicies {
		r.end(refused)
		return
	}
	r.extraPolicies = append(slices.Clip(r.extraPolicies), e.p)
	if r.takesOrAwaitsTurns() {
		e.finish = r.verifyAgainst(e.active, e.p)
	}
}
