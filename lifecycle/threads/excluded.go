package threads

import (
	"context"
	"fmt"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

// Excluded returns the temporary folders that workspace-write does not make writable in an open thread, for a
// turn in the folder cwd: those of Codex's configuration, and those of the request that opened the thread.
func (f *Feature) Excluded(ctx context.Context, thread, cwd string) (setting.Excluded, error) {
	p := map[string]any{}
	if cwd != "" {
		p["cwd"] = cwd
	}
	result, err := f.peer.Call(ctx, "config/read", p)
	if err != nil {
		return setting.Excluded{}, fmt.Errorf("whether commands may write temporary folders can't be read: %w", err)
	}
	return binding.Excluded(result.Get("config")).And(f.Settings(thread).Excluded), nil
}

func excludedBySandbox(sandbox rpc.Value) (e setting.Excluded) {
	e.Tmpdir, _ = sandbox.Get("excludeTmpdirEnvVar").Bool()
	e.SlashTmp, _ = sandbox.Get("excludeSlashTmp").Bool()
	return e
}
