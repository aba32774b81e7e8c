package guard

import (
	"context"
	"reflect"
	"slices"

	"codex-bridge/bridge/policy"
)

// loadedThread is what the guard remembers of a thread that Codex may have in memory, also while the thread takes no
// turn. When Codex unloads the thread, its subagents may stay loaded, with the settings and the profile that they have.
type loadedThread struct {
	enforced     bool             // a request under an enforced policy opened it
	workspaces   []string         // all that it has had; its commands may still write them
	varied       bool             // its sandbox or approvals have changed; an agent of it may have the earlier ones
	unsubscribed bool             // the client has sent thread/unsubscribe since it opened the thread
	fence        *policy.Profile  // the profile with which Codex has loaded it; nil if it has not
	earlier      []policy.Profile // the profiles before Codex unloaded it; a subagent of it may have one of them
	last         *policy.Thread   // as it was last verified; nil if it never was
}

// unload forgets what ends when Codex unloads the thread.
func (l *loadedThread) unload() {
	had := l.earlier
	if l.fence != nil && !slices.ContainsFunc(had, func(f policy.Profile) bool { return reflect.DeepEqual(f, *l.fence) }) {
		had = append(slices.Clip(had), *l.fence)
	}
	*l = loadedThread{earlier: had, workspaces: l.workspaces, varied: l.varied, last: l.last}
}

// recordLocked returns the record of a thread, a new one if there is none.
func (t *threads) recordLocked(id string) *loadedThread {
	if t.loaded == nil {
		t.loaded = make(map[string]*loadedThread)
	}
	if t.loaded[id] == nil {
		t.loaded[id] = new(loadedThread)
	}
	return t.loaded[id]
}

// verified records a thread that was found to be what the policy allows.
func (l *loadedThread) verified(thread policy.Thread) {
	l.varied = l.varied || l.last != nil && !policy.SameSettings(l.last, &thread)
	l.last = &thread
}

// loadedWith records the profile that a request has defined. Codex keeps the one of the request that loaded the thread.
func (l *loadedThread) loadedWith(fence policy.Profile) {
	if l.fence == nil {
		l.fence = &fence
	}
}

// workspacesOf returns the workspaces that a thread has had since Codex has loaded it.
func (t *threads) workspacesOf(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded[id]; one != nil {
		return one.workspaces
	}
	return nil
}

// isVariedLocked reports whether the settings of a thread have changed since Codex has loaded it.
func (t *threads) isVariedLocked(id string) bool { return t.loaded[id] != nil && t.loaded[id].varied }

// profile returns the profile with which Codex has loaded a thread, nil if that is not known, and whether the client
// has unsubscribed from the thread since.
func (t *threads) profile(id string) (fence *policy.Profile, unsubscribed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded[id]; one != nil {
		return one.fence, one.unsubscribed
	}
	return nil, false
}

// loadedProfile returns the profile of a thread that the guard has no profile of. It returns nil if Codex says that it has
// not loaded the thread, and an empty profile, which protects nothing, if the profile is not known.
func (g *Guard) loadedProfile(ctx context.Context, id string) *policy.Profile {
	if loaded, err := g.loaded(ctx); err == nil && !slices.Contains(loaded, id) {
		return nil
	}
	// A subagent has the profile that its parent had when it was started.
	for range deepest {
		agent := g.children.find(g.world.CodexHome, id)
		if agent == nil {
			break
		}
		id = agent.Parent
		if fence, known := g.threads.onlyProfile(id); known {
			return &fence
		}
	}
	return &policy.Profile{}
}

// onlyProfile returns the profile of a thread with a record: an empty one, which protects nothing, if the thread has had
// several profiles or none. known reports whether there is a record.
func (t *threads) onlyProfile(id string) (fence policy.Profile, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.loaded[id]
	if one == nil {
		return policy.Profile{}, false
	}
	had := one.earlier
	if one.fence != nil {
		had = append(slices.Clip(had), *one.fence)
	}
	for _, f := range had {
		if !reflect.DeepEqual(f, had[0]) {
			return policy.Profile{}, true
		}
	}
	if len(had) == 0 {
		return policy.Profile{}, true
	}
	return had[0], true
}

// mayHave records that Codex may have loaded a thread with a profile. It does nothing for a thread without an id.
func (t *threads) mayHave(id string, fence policy.Profile) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if id != "" {
		t.recordLocked(id).loadedWith(fence)
	}
}

// unsubscribe has a thread take no turn until the client resumes it.
//
// Measured with Codex 0.169: the client gets no notification about the thread from then on, not even
// thread/settings/updated, and Codex still takes turns and changes of settings. A resume of the idle thread opens it
// with the cwd and the sandbox of the request, as if Codex had not loaded it. opened reports whether the client has opened
// the thread, or one whose subagent it is.
func (t *threads) unsubscribe(id string, opened bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if opened {
		one := t.recordLocked(id)
		one.unsubscribed, one.varied = true, true // a request under way may change its settings
	}
	if t.known[id] != nil {
		delete(t.known, id)
		t.listFolders()
	}
}

// reloaded records that a request without an enforced policy opened a thread. If the client had unsubscribed from it, Codex
// has loaded it with the configuration of that request.
func (t *threads) reloaded(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded[id]; one != nil && one.unsubscribed {
		one.enforced = false
	}
}

// unenforced records that a client may have had Codex load any thread with another configuration.
func (t *threads) unenforced() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.loaded {
		one.enforced = false
	}
}

// registerEnforced records that a request under an enforced policy opened the thread. If Codex had
// loaded the thread before by another request, it forgets the thread and returns false: Codex has then
// ignored the request's configuration, and its answer does not show which configuration is effective.
func (t *threads) registerEnforced(id string, loaded bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.recordLocked(id)
	if loaded && !one.enforced {
		delete(t.known, id)
		t.listFolders()
		return false
	}
	one.enforced = true
	return true
}
