package doctor

import (
	"fmt"
	"runtime"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/cmd/codex-bridge/internal/configured"
)

// examineSecrets says of each file with a secret of the bridge whether commands can read it. Commands without
// a sandbox can also read the environment of the bridge.
func examineSecrets(cfg *config.Config) (all []finding) {
	for _, file := range configured.Setup.SecretFiles(cfg, guard.WorldOf(cfg.Codex)) {
		one := finding{Name: "secrets", State: Warn}
		switch {
		case cfg.Policy.Mode != config.Enforce:
			one.Detail = fmt.Sprintf("commands can read %v, since no policy is enforced", file)
			one.Hint = `set policy.mode = "enforce"`
		case cfg.Policy.Sandbox == setting.DangerFullAccess:
			one.Detail = fmt.Sprintf("commands can read %v in threads with danger-full-access, which the policy allows", file)
			one.Hint = `set policy.sandbox = "workspace-write"`
		case runtime.GOOS == "windows":
			one.Detail = fmt.Sprintf("commands can read %v: on this system the bridge hides it only in threads with other protected files, and has not tested that", file)
			one.Hint = "give the bridge the secret in its environment, such as PGPASSWORD, which commands don't get"
		case cfg.Policy.Escalation != "deny":
			one.State, one.Detail = Fine, fmt.Sprintf("sandboxed commands can't read %v; those that you let leave the sandbox can", file)
		default:
			one.State, one.Detail = Fine, fmt.Sprintf("commands can't read %v", file)
		}
		all = append(all, one)
	}
	return all
}
