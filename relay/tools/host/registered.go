package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"codex-bridge/relay/tools"
)

// origin is where a tool comes from that the client has registered.
const origin = "bridge/tool/register"

// registered are the tools of the client's own that are offered with every thread it
// starts. Their calls go to the client.
type registered struct {
	mu    sync.Mutex
	specs []tools.Spec
	now   *tools.Snapshot // of specs
}

func newRegistered() *registered { return &registered{now: &tools.Snapshot{}} }

func (r *registered) offer() *tools.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// add registers all of specs, or none of them.
func (r *registered) add(specs []tools.Spec, host *tools.Snapshot) (*tools.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Concat(r.specs, specs)
	o := tools.NewCatalogue(listed(all)).Refresh()
	if len(o.Omitted) > 0 {
		return nil, errors.New("the tool " + quote(o.Omitted[0].Tool) + " can't be registered: " + o.Omitted[0].Reason)
	}
	theirs, err := o.Merge(nil)
	if err != nil {
		return nil, err
	}
	if _, err := host.Merge(theirs); err != nil {
		return nil, err
	}
	r.specs, r.now = all, o
	return o, nil
}

// remove takes out all of names, or none of them.
func (r *registered) remove(names []tools.Name) (*tools.Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := slices.Clone(r.specs)
	for _, n := range names {
		i := slices.IndexFunc(rest, func(s tools.Spec) bool { return s.Namespace == n.Namespace && s.Name == n.Name })
		if i < 0 {
			return nil, errors.New("no tool " + quote(n.String()) + " is registered; bridge/tool/list has those that are")
		}
		rest = slices.Delete(rest, i, i+1)
	}
	r.specs, r.now = rest, tools.NewCatalogue(listed(rest)).Refresh()
	return r.now, nil
}

// listed is a provider of tools that are run elsewhere.
type listed []tools.Spec

func (l listed) Specs() []tools.Spec          { return l }
func (l listed) Timeout(string) time.Duration { return 0 }

func (l listed) Run(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, errors.New("the tool is the client's, which was not asked")
}

func quote(s string) string {
	raw, _ := json.Marshal(s) // a text
	return string(raw)
}
