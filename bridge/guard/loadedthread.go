package guard

import (
	"context"
	"reflect"
	"slices"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// loadedThread is the record of a thread that Codex may have in memory, even if the thread takes no
// turns. When Codex unloads the thread, its subagents may stay loaded with their settings and
// profile.
type loadedThread struct {
	enforced        bool             // a request under an enforced policy opened it
	overlays        overlaySet       // of the requests with which Codex may have loaded it
	uncertain       bool             // no request of overlays has certainly loaded it
	earlierOverlays overlaySet       // before Codex unloaded it; a subagent of it may have one of them
	workspaces      []string         // all workspaces so far; its commands may still write them
	varied          bool             // its sandbox or approvals have changed; a subagent may have the earlier ones
	unsubscribed    bool             // the client has sent thread/unsubscribe since it opened the thread
	fence           *policy.Profile  // the profile with which Codex has loaded it; nil if it has not
	earlierProfiles []policy.Profile // the profiles before Codex unloaded it; a subagent of it may have one of them
	lastVerified    *policy.Thread   // as it was last verified, or reported after the client has left it; nil if it never was
}

// unload resets the state that ends when Codex unloads the thread.
func (l *loadedThread) unload() {
	had := l.earlierProfiles
	if l.fence != nil && !slices.ContainsFunc(had, func(f policy.Profile) bool { return reflect.DeepEqual(f, *l.fence) }) {
		had = append(slices.Clip(had), *l.fence)
	}
	earlier := l.earlierOverlays
	earlier.addAll(l.overlays)
	*l = loadedThread{earlierProfiles: had, earlierOverlays: earlier, workspaces: l.workspaces, varied: l.varied, lastVerified: l.lastVerified}
}

// loaded returns what Codex may have in memory of a thread; nil if no request has opened it. The caller
// holds mu.
func (t *threads) loaded(id string) *loadedThread {
	if record := t.records[id]; record != nil {
		return record.loaded
	}
	return nil
}

// setVerified records the settings of a thread that the policy allows.
func (l *loadedThread) setVerified(thread policy.Thread) {
	l.varied = l.varied || l.lastVerified != nil && !policy.SameSettings(l.lastVerified, &thread)
	l.lastVerified = &thread
}

// updateLeft records settings that Codex reports after the client has left the thread, which takes no turns.
func (l *loadedThread) updateLeft(settings rpc.Value) {
	l.varied = true
	if l.lastVerified != nil {
		left := *l.lastVerified
		left.Update(settings)
		l.lastVerified = &left
	}
}

// setProfile records the profile that a request has defined. Codex keeps the profile of the request
// that loaded the thread.
func (l *loadedThread) setProfile(fence policy.Profile) {
	if l.fence == nil {
		l.fence = &fence
	}
}

// workspacesOf returns the workspaces that a thread has had since Codex loaded it.
func (t *threads) workspacesOf(id string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded(id); one != nil {
		return one.workspaces
	}
	return nil
}

// isVaried reports whether the settings of the thread have changed since Codex loaded it.
func (r *threadRecord) isVaried() bool { return r.loaded != nil && r.loaded.varied }

// profile returns the profile with which Codex has loaded a thread, nil if it is unknown, and
// whether the client has unsubscribed from the thread since.
func (t *threads) profile(id string) (fence *policy.Profile, unsubscribed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded(id); one != nil {
		return one.fence, one.unsubscribed
	}
	return nil, false
}

// left returns a thread as it was verified before the client has unsubscribed from it; nil for another one.
func (t *threads) left(id string) *policy.Thread {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded(id); one != nil && one.unsubscribed {
		return one.lastVerified
	}
	return nil
}

// loadedProfile returns the profile of a thread without a recorded one. It returns nil if Codex has
// not loaded the thread, and an empty profile, which protects nothing, if the profile is unknown.
func (g *Guard) loadedProfile(ctx context.Context, id string) *policy.Profile {
	if loaded, err := g.listLoaded(ctx); err == nil && !slices.Contains(loaded, id) {
		return nil
	}
	// A subagent has the profile that its parent had when it was started.
	for range maxParents {
		agent := g.child(id)
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

// onlyProfile returns the only profile that a thread with a record has had. The profile is empty,
// which protects nothing, if there were several or none. known reports whether there is a record.
func (t *threads) onlyProfile(id string) (fence policy.Profile, known bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.loaded(id)
	if one == nil {
		return policy.Profile{}, false
	}
	had := one.earlierProfiles
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

// profileSent: Codex may have loaded the thread with a profile.
type profileSent struct {
	addsRecord
	fence policy.Profile
}

func (e profileSent) change(r *threadRecord) { r.loadedThread().setProfile(e.fence) }

// openedUnenforced: a request without an enforced policy has opened the thread. If the client had
// unsubscribed from the thread, Codex has loaded it with the configuration of that request.
type openedUnenforced struct{}

func (openedUnenforced) change(r *threadRecord) {
	if r.loaded != nil && r.loaded.unsubscribed {
		r.loaded.enforced = false
	}
}

// guardSwitchedOff: a client may make Codex load any thread with another configuration from now on.
type guardSwitchedOff struct{}

func (guardSwitchedOff) change(r *threadRecord) {
	if r.loaded != nil {
		r.loaded.enforced = false
	}
}

// openedEnforced: a request under enforced policies has opened the thread. wasLoaded reports that Codex
// had the thread in memory. If no request under an enforced policy had loaded it, the thread is refused:
// Codex has ignored the request's overlay, and its response does not show the effective one.
type openedEnforced struct {
	addsRecord
	wasLoaded bool
	isRefused bool // set by change
}

func (e *openedEnforced) change(r *threadRecord) {
	one := r.loadedThread()
	if e.isRefused = e.wasLoaded && !one.enforced; e.isRefused {
		r.end(refused)
		return
	}
	one.enforced = true
}
