package inject

import (
	"context"
	"fmt"

	"codex-bridge/rpc"
)

// requirements are the machine's requirements for Codex. drop is why they keep Codex from running a
// thread's hooks; "" if they do not.
type requirements struct{ drop string }

// unavailable returns a reason if requirements keep Codex from running a thread's hooks,
// which Codex does silently (measured). Codex reads them at its start (see its source), so
// they are read once.
func (f *Feature) unavailable(ctx context.Context) string {
	f.mu.Lock()
	known := f.requirements
	f.mu.Unlock()
	if known == nil {
		result, err := f.peer.Call(ctx, "configRequirements/read", struct{}{})
		if err != nil {
			return fmt.Sprintf("codex's requirements can't be read: %v", err)
		}
		known = parseRequirements(result.Get("requirements"))
		f.mu.Lock()
		f.requirements = known
		f.mu.Unlock()
	}
	return known.drop
}

// parseRequirements reads the result of configRequirements/read. Measured with Codex 0.169: a
// required feature wins over a thread's configuration, and Codex lists no hooks without hooks.
func parseRequirements(v rpc.Value) *requirements {
	if only, _ := v.Get("allowManagedHooksOnly").Bool(); only {
		return &requirements{"the machine's requirements.toml allows only managed hooks; remove allow_managed_hooks_only from it if you may"}
	}
	for _, name := range []string{"hooks", "codex_hooks"} { // the second is its older name
		if on, is := v.Get("featureRequirements").Get(name).Bool(); is && !on {
			return &requirements{"the machine's requirements.toml disables hooks; remove features." + name + " from it if you may"}
		}
	}
	return &requirements{}
}
