package inject

import (
	"context"
	"fmt"

	"codex-bridge.example/rpc"
)

// requirementsFault returns a reason if the machine's requirements keep Codex from running a
// thread's hooks, which Codex does silently (measured). Codex reads them at its start (see its
// source), so they are read once.
func (f *Feature) requirementsFault(ctx context.Context) string {
	f.mu.Lock()
	known := f.unavailable
	f.mu.Unlock()
	if known == nil {
		result, err := f.peer.CallOnce(ctx, "configRequirements/read")
		if err != nil {
			return fmt.Sprintf("codex's requirements can't be read: %v", err)
		}
		fault := parseRequirements(result.Get("requirements"))
		known = &fault
		f.mu.Lock()
		f.unavailable = known
		f.mu.Unlock()
	}
	return *known
}

// parseRequirements reads the result of configRequirements/read. Measured with Codex 0.169: a
// required feature wins over a thread's configuration, and Codex lists no hooks without hooks.
func parseRequirements(v rpc.Value) (fault string) {
	if only, _ := v.Get("allowManagedHooksOnly").Bool(); only {
		return "the machine's requirements.toml allows only managed hooks; remove allow_managed_hooks_only from it if you may"
	}
	for _, name := range []string{"hooks", "codex_hooks"} { // the second is its older name
		if on, is := v.Get("featureRequirements").Get(name).Bool(); is && !on {
			return "the machine's requirements.toml disables hooks; remove features." + name + " from it if you may"
		}
	}
	return ""
}
