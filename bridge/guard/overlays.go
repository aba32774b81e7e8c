package guard

import (
	"context"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// overlayAnswered: Codex may have loaded the thread by a request. It changes nothing if Codex had certainly
// loaded the thread before: Codex then ignores the request's overlay, unless the client has unsubscribed
// from the thread. Only a result of Codex makes it certain. A failed request counts only for a known thread.
type overlayAnswered struct {
	addsRecord
	policies []*policy.Policy // that decided the request
	outcome  bridge.Outcome
}

func (e overlayAnswered) change(r *threadRecord) {
	if e.outcome == bridge.Failed && r.loaded == nil {
		return
	}
	one := r.loadedThread()
	if one.unsubscribed || one.uncertain || len(one.overlays.requests) == 0 {
		one.overlays.add(e.policies)
		one.uncertain = e.outcome != bridge.Succeeded
	}
}

// overlays returns the overlays that Codex may have for a thread. If another thread may have loaded
// it with its own overlay, as a parent loads its subagents, inherited is true.
func (g *Guard) overlays(id string, inherited bool) (all overlaySet) {
	all = g.threads.overlaysOf(id, false)
	if !inherited {
		return all
	}
	for range maxParents {
		one := g.child(id)
		if one == nil {
			return all
		}
		id = one.Parent
		all.addAll(g.threads.overlaysOf(id, true)) // a subagent may stay loaded longer
	}
	return all
}

// overlaysOf returns the recorded overlays of a thread, with those before Codex unloaded it if
// earlier is true.
func (t *threads) overlaysOf(id string, earlier bool) (all overlaySet) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one := t.loaded(id); one != nil {
		all.addAll(one.overlays)
		if earlier {
			all.addAll(one.earlierOverlays)
		}
	}
	return all
}

// loadedBefore returns the ids of the threads that Codex has in memory before a resume, if that may
// have been loaded with an overlay that the policies do not allow; nil otherwise.
func (g *Guard) loadedBefore(ctx context.Context, id string, policies []*policy.Policy) ([]string, *rpc.Error) {
	if !g.unenforced.Load() && g.allowsOverlays(id, true, policies) {
		return nil, nil
	}
	loaded, err := g.listLoaded(ctx)
	if err == nil && !slices.Contains(loaded, id) {
		g.threads.apply(id, foundNotLoaded{})
	}
	return loaded, err
}

// foundNotLoaded: Codex does not have the thread in memory.
type foundNotLoaded struct{}

func (foundNotLoaded) change(r *threadRecord) {
	if one := r.loaded; one != nil {
		one.earlierOverlays.addAll(one.overlays)
		one.overlays, one.uncertain = overlaySet{}, false
	}
}

// allowsOverlays reports whether the policies allow the overlays that Codex may have for a thread.
func (g *Guard) allowsOverlays(id string, inherited bool, policies []*policy.Policy) bool {
	all := g.overlays(id, inherited)
	return !slices.ContainsFunc(policies, func(p *policy.Policy) bool { return !all.allowedBy(p) })
}

// requireOverlay returns an error if Codex may have an opened thread in memory with an overlay that
// the policies do not allow. sent are the policies of the request that opened it. created reports
// that Codex did not have the thread in memory before.
func (g *Guard) requireOverlay(method, id string, sent []*policy.Policy, created bool) *rpc.Error {
	inherited := method == "thread/resume" && !created
	if g.allowsOverlays(id, inherited, append(slices.Clip(sent), g.policy.Load())) {
		return nil
	}
	g.threads.apply(id, threadRefused{})
	return openedUnenforcedError(method)
}
