package policy

// fieldRules has the rules that the table in package methods names, in the order in which they are applied:
// the workspace before trust and sandbox, trust before Codex's defaults, narrowing keys of the overlay before
// the fields that they stand for, the sandbox before the overlay, and the overlay before the model.
var fieldRules = []struct {
	name  string
	apply func(c *decider, fields []string)
}{
	{"history", (*decider).refuseHistory},
	{"prediction-mode", (*decider).dropPredictionMode},
	{"tool-output", (*decider).refuseToolOutput},
	{"disabled-plugins", (*decider).dropDisabledPlugins},
	{"folder", (*decider).decideWorkspace},
	{"turn-folder", (*decider).decideTurnCwd},
	{"trust", (*decider).decideTrust},
	{"capability-roots", (*decider).dropCapabilityRoots},
	{"workspace-roots", (*decider).decideWorkspaceRoots},
	{"environments", (*decider).decideEnvironments},
	{"narrowing-keys", (*decider).readOverlay},
	{"approval", (*decider).decideApproval},
	{"reviewer", (*decider).decideReviewer},
	{"sandbox", (*decider).decideThreadSandbox},
	{"turn-sandbox", (*decider).decideTurnSandbox},
	{"profile", (*decider).decideProfile},
	{"turn-profile", (*decider).decideTurnProfile},
	{"overlay", (*decider).decideOverlay},
	{"model", (*decider).decideModel},
	{"effort", (*decider).decideEffort},
	{"collaboration-mode", (*decider).decideCollaborationMode},

	{"review-delivery", (*decider).checkReview},
	{"injected-items", (*decider).decideInjectedItems},
	{"model-review", (*decider).checkModelReview},
	{"voice-model", (*decider).decideRealtimeModel},
	{"voice-items", (*decider).dropInitialItems},

	{"client-capabilities", (*decider).checkCapabilities},
	{"login-type", (*decider).checkLogin},
	{"exec-folder", (*decider).decideExecCwd},
	{"exec-sandbox", (*decider).decideExecSandbox},
	{"exec-environment", (*decider).decideExecEnv},
	{"config-value", (*decider).decideConfigValue},
	{"config-edits", (*decider).decideConfigEdits},
	{"config-file", (*decider).decideConfigFile},
	{"config-reload", (*decider).dropConfigReload},
	{"servers-thread", (*decider).dropServersThread},
	{"read-path", (*decider).decideReadPath},
	{"search-roots", (*decider).decideSearchRoots},
	{"read-folder", (*decider).decideReadCwd},
	{"read-folders", (*decider).decideReadCwds},
	{"marketplace", (*decider).decideMarketplace},
}
