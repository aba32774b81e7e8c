package configured

import (
	"os"
	"path/filepath"

	"codex-bridge.example/bridge/statefolder"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/internal/settings"
)

// TrialCodex is the value of settings.OwnCodexEnv for the bridge of fireHook.
const TrialCodex = "trial"

// TrialManagedEnv names the managed file that doctor tries. An installed one counts before it, so that the variable
// can't loosen a policy.
const TrialManagedEnv = "CODEX_BRIDGE_TRIAL_MANAGED"

// IsTrial reports whether this bridge is the one of fireHook, whose decisions are about no conversation. Its
// state and its CODEX_HOME are in one scratch folder, so a bridge with the user's Codex can't pass for it.
func IsTrial() bool {
	folder := filepath.Dir(os.Getenv(statefolder.Env))
	return os.Getenv(settings.OwnCodexEnv) == TrialCodex && filepath.Base(filepath.Dir(folder)) == store.ScratchFolder && filepath.Dir(os.Getenv("CODEX_HOME")) == folder
}

// userState returns the state folder of the user, in which the bridge of fireHook has its own.
func userState(trialState string) string {
	return filepath.Dir(filepath.Dir(filepath.Dir(trialState)))
}

// ExecCodex is the value of settings.OwnCodexEnv for the bridge of exec.
const ExecCodex = "exec"
