package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"codex-bridge.example/relay/tools"
)

// origin is the origin of a tool that the client has registered.
const origin = "bridge/tool/register"

// registeredTools are the client's own tools for every thread it starts. Their calls go to
// the client.
type registeredTools struct {
	mu       sync.Mutex
	specs    []tools.Spec
	snapshot *tools.Snapshot
}

func newRegistered() *registeredTools { return &registeredTools{snapshot: &tools.Snapshot{}} }

func (r *registeredTools) current() *tools.Snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot
}

// add registers all of specs, or none on an error.
func (r *registeredTools) add(specs []tools.Spec, host *tools.Snapshot) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := slices.Concat(r.specs, specs)
	o := tools.NewCatalogue(clientTools(all)).Refresh()
	if len(o.Omitted) > 0 {
		return errors.New("the tool " + quote(o.Omitted[0].Tool) + " can't be registered: " + o.Omitted[0].Reason)
	}
	theirs, err := o.Merge(nil)
	if err != nil {
		return err
	}
	if _, err := host.Merge(theirs); err != nil {
		return err
	}
	r.specs, r.snapshot = all, o
	return nil
}

// remove removes all of names, or none on an error.
func (r *registeredTools) remove(names []tools.Name) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := slices.Clone(r.specs)
	for _, n := range names {
		i := slices.IndexFunc(rest, func(s tools.Spec) bool { return s.Namespace == n.Namespace && s.Name == n.Name })
		if i < 0 {
			return errors.New("no tool " + quote(n.String()) + " is registered; bridge/tool/list has those that are")
		}
		rest = slices.Delete(rest, i, i+1)
	}
	r.specs, r.snapshot = rest, tools.NewCatalogue(clientTools(rest)).Refresh()
	return nil
}

// clientTools is a provider of tools that the client runs.
type clientTools []tools.Spec

func (l clientTools) Specs() []tools.Spec          { return l }
func (l clientTools) Timeout(string) time.Duration { return 0 }

func (l clientTools) Run(context.Context, tools.Call) (tools.Result, error) {
	return tools.Result{}, errors.New("the client runs this tool")
}

func quote(s string) string {
	raw, _ := json.Marshal(s) // cannot fail: a string
	return string(raw)
}
