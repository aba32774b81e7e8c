package doctor

import (
	"context"
	"encoding/json"
	"os"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/problem"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
	"codex-bridge.example/rpc"
)

// askConfig returns Codex's configuration for a thread in the folder in which doctor was started.
func askConfig(ctx context.Context, cfg *config.Config, path string) (json.RawMessage, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	params, err := json.Marshal(map[string]any{"cwd": folder, "includeLayers": true})
	if err != nil {
		return nil, err
	}
	return askServer(ctx, cfg, path, "config/read", string(params))
}

// examineFolder names a folder whose threads, or those of them that may write, are refused because Codex would
// not enforce the bridge's profile there. It is the folder in which doctor was started.
func examineFolder(cfg *config.Config) []finding {
	p, err := policy.New(cfg.Policy, cfg.Place)
	if err != nil || cfg.Policy.Mode != config.Enforce {
		return nil
	}
	world, err := configured.Setup.CompleteWorld(cfg)
	if err != nil {
		return []finding{{"secrets", Broken, "no bridge starts: " + problem.Text(err), "make the folder readable, or keep the secret elsewhere"}}
	}
	if reason := p.Unenforceable(world, world.StartFolder); reason != "" {
		return []finding{{"folder", Broken, "threads in " + display.Quote(world.StartFolder) + " are refused: " + reason, policy.UnenforceableHint}}
	}
	if reason := p.LinkedProtected(world, world.StartFolder); reason != "" {
		return []finding{{"folder", Broken, "threads in " + display.Quote(world.StartFolder) + " that may write are refused: " + reason, policy.LinkedHint}}
	}
	return nil
}

// examineProfile says what the threads of an enforced policy keep of the user's own permissions
// profile, or why they are refused. It returns nothing if the configuration has no such profile, or
// can't be read. result is the response to config/read.
func examineProfile(result json.RawMessage, err error) []finding {
	if err != nil {
		return nil
	}
	doc, err := rpc.ParseValue(result)
	if err != nil {
		return nil
	}
	d, err := policy.ParseDefaults(doc.Root())
	if err != nil {
		return nil
	}
	u := d.UserProfile()
	if u == nil {
		return nil
	}
	f := finding{"permissions profile", Fine, u.Name + " of codex's configuration: threads keep " + strings.Join(u.Denials(), ", "), ""}
	switch {
	case u.Problem != "":
		f.State, f.Detail, f.Hint = Broken, "threads are refused, because the bridge can't keep what "+u.Name+" of codex's configuration denies: "+u.Problem,
			u.Hint()
	case !u.Writes:
		f.State, f.Hint = Warn, "have the profile extend :workspace and add no writable paths"
		f.Detail += "; a thread that names no sandbox is read-only"
	}
	return []finding{f}
}
