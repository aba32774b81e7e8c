package policy

// fieldRule is a rule that the table in package methods names. apply calls one function with what the rule reads of
// the findings, and assigns what it gives. All rules read the request, and put their changes, errors and wanted
// facts there.
type fieldRule struct {
	name  string
	apply func(f *findings, fields []string)
}

// fieldRules has the rules in the order in which they are applied. A rule reads only what rules above it give;
// TestRulesReadWhatEarlierRulesGive checks that. A method that lacks a rule has the zero value of what it gives.
var fieldRules = []fieldRule{
	{"history", func(f *findings, fields []string) { f.refuseHistory(fields) }},
	{"prediction-mode", func(f *findings, fields []string) { f.dropPredictionMode(fields) }},
	{"tool-output", func(f *findings, fields []string) { f.refuseToolOutput(fields) }},
	{"disabled-plugins", func(f *findings, fields []string) { f.dropDisabledPlugins(fields) }},
	{"folder", func(f *findings, _ []string) { f.folders, f.opened = decideWorkspace(f.folders) }},
	{"turn-folder", func(f *findings, _ []string) { f.folders = decideTurnCwd(f.folders) }},
	{"trust", func(f *findings, _ []string) { f.project, f.keys = decideTrust(f.folders, f.opened) }},
	{"capability-roots", func(f *findings, fields []string) { f.dropCapabilityRoots(fields) }},
	{"workspace-roots", func(f *findings, _ []string) { f.folders = decideWorkspaceRoots(f.folders) }},
	{"environments", func(f *findings, _ []string) { f.folders = decideEnvironments(f.folders) }},
	{"narrowing-keys", func(f *findings, _ []string) { f.overlay = readOverlay(f.request) }},
	{"approval", func(f *findings, _ []string) { f.approval = decideApproval(f.request, f.project, f.overlay) }},
	{"reviewer", func(f *findings, _ []string) { f.reviewer = decideReviewer(f.request, f.overlay) }},
	{"sandbox", func(f *findings, _ []string) {
		f.sandbox, f.keys = decideThreadSandbox(f.folders, f.project, f.overlay, f.keys)
	}},
	{"turn-sandbox", func(f *findings, _ []string) { f.folders, f.turn = decideTurnSandbox(f.folders) }},
	{"profile", func(f *findings, _ []string) {
		f.sandbox, f.profile, f.keys = decideProfile(f.folders, f.project, f.overlay, f.sandbox, f.keys)
	}},
	{"turn-profile", func(f *findings, _ []string) { decideTurnProfile(f.folders, f.turn) }},
	{"overlay", func(f *findings, _ []string) {
		f.namesModel = decideOverlay(f.folders, f.overlay, f.sandbox, f.profile, f.keys)
	}},
	{"model", func(f *findings, _ []string) { decideModel(f.request, f.namesModel) }},
	{"effort", func(f *findings, _ []string) { f.decideEffort() }},
	{"collaboration-mode", func(f *findings, _ []string) { f.decideCollaborationMode() }},

	{"review-delivery", func(f *findings, _ []string) { f.checkReview() }},
	{"injected-items", func(f *findings, _ []string) { f.decideInjectedItems() }},
	{"model-review", func(f *findings, _ []string) { f.checkModelReview() }},
	{"voice-model", func(f *findings, _ []string) { f.decideRealtimeModel() }},
	{"voice-items", func(f *findings, _ []string) { f.dropInitialItems() }},

	{"client-capabilities", func(f *findings, _ []string) { f.checkCapabilities() }},
	{"login-type", func(f *findings, _ []string) { f.checkLogin() }},
	{"exec-folder", func(f *findings, _ []string) { f.folders = decideExecCwd(f.folders) }},
	{"exec-sandbox", func(f *findings, _ []string) { f.folders, f.turn = decideExecSandbox(f.folders) }},
	{"exec-environment", func(f *findings, _ []string) { f.decideExecEnv() }},
	{"config-value", func(f *findings, _ []string) { f.decideConfigValue() }},
	{"config-edits", func(f *findings, _ []string) { f.decideConfigEdits() }},
	{"config-file", func(f *findings, _ []string) { f.decideConfigFile() }},
	{"config-reload", func(f *findings, _ []string) { f.dropConfigReload() }},
	{"servers-thread", func(f *findings, fields []string) { f.dropServersThread(fields) }},
	{"read-path", func(f *findings, _ []string) { f.decideReadPath() }},
	{"search-roots", func(f *findings, fields []string) { decideSearchRoots(f.folders, fields) }},
	{"read-folder", func(f *findings, _ []string) { f.decideReadCwd() }},
	{"read-folders", func(f *findings, fields []string) { decideReadCwds(f.folders, fields) }},
	{"marketplace", func(f *findings, fields []string) { f.decideMarketplace(fields) }},
}
