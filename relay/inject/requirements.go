package inject

import (
	"context"
	"fmt"

	"codex-bridge/rpc"
)

// requirements are the machine's requirements for Codex.
type requirements struct{ managedOnly bool }

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
	if known.managedOnly {
		return "the machine's requirements.toml allows only managed hooks; remove allow_managed_hooks_only from it if you may"
	}
	return ""
}

func parseRequirements(v rpc.Value) *requirements {
	only, _ := v.Get("allowManagedHooksOnly").Bool()
	return &requirements{managedOnly: only}
}
