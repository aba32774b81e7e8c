package inject

import (
	"context"
	"fmt"

	"codex-bridge/rpc"
)

// requirements is what the machine demands of Codex.
type requirements struct{ managedOnly bool }

// unavailable tells why Codex would run no hook of a thread: requirements can drop
// them without a word (measured). They are read with the process (source), so once.
func (f *Feature) unavailable(ctx context.Context) string {
	f.mu.Lock()
	known := f.required
	f.mu.Unlock()
	if known == nil {
		result, err := f.peer.Call(ctx, "configRequirements/read", struct{}{})
		if err != nil {
			return fmt.Sprintf("codex's requirements can't be read: %v", err)
		}
		known = read(result.Get("requirements"))
		f.mu.Lock()
		f.required = known
		f.mu.Unlock()
	}
	if known.managedOnly {
		return "the machine's requirements let codex run managed hooks only; take allow_managed_hooks_only out of requirements.toml, where the machine is yours"
	}
	return ""
}

func read(v rpc.Value) *requirements {
	only, _ := v.Get("allowManagedHooksOnly").Bool()
	return &requirements{managedOnly: only}
}
