package policy

import (
	"strings"
	"sync"
)

// rule checks and rewrites fields of params. Fields of one rule depend on each other.
type rule struct {
	fields []string
	apply  func(c *decider, fields []string)
}

// methodSpec says which params a method may have.
type methodSpec struct {
	// opensThread: the method opens a thread, and its response echoes the settings.
	opensThread bool
	// startsThread: the method is thread/start, so that omitted fields come from Codex's
	// configuration and not from a stored thread.
	startsThread bool
	// noThread: the method names no thread.
	noThread bool
	// usesDefaults: an omitted model or effort comes from Codex's configuration. Measured with
	// Codex 0.169: so it does for a fork, but a resume restores the thread's.
	usesDefaults bool
	// confirmed: clients wait until Codex notifies them of what they sent. Measured with the TUI of
	// Codex 0.169: after a changed thread/settings/update it holds every later prompt back.
	confirmed bool
	rules     []rule
	// unchecked are members that no rule limits.
	unchecked []string
	// known are the fields of the rules and the unchecked ones. Others are removed as unknown.
	known map[string]bool
}

func fields(names ...string) []string { return names }

// methodTable returns the methods whose fields the package checks. The order of the rules matters:
// the workspace before trust and sandbox, trust before Codex's defaults, narrowing keys of the
// overlay before the fields that they stand for, the sandbox before the overlay, and the overlay
// before the model.
func methodTable() map[string]*methodSpec {
	narrow := rule{nil, (*decider).readOverlay}
	approval := rule{fields("approvalPolicy"), (*decider).decideApproval}
	reviewer := rule{fields("approvalsReviewer"), (*decider).decideReviewer}
	model := rule{fields("model"), (*decider).decideModel}
	effort := rule{fields("effort"), (*decider).decideEffort}
	roots := rule{fields("runtimeWorkspaceRoots"), (*decider).decideWorkspaceRoots}
	environments := rule{fields("environments"), (*decider).decideEnvironments}
	collaboration := rule{fields("collaborationMode"), (*decider).decideCollaborationMode}
	workspace := rule{fields("cwd"), (*decider).decideWorkspace}
	trust := rule{nil, (*decider).decideTrust}
	cwd := rule{fields("cwd"), (*decider).decideTurnCwd}
	mode := rule{fields("sandbox", "permissions"), (*decider).decideThreadSandbox}
	object := rule{fields("sandboxPolicy", "permissions"), (*decider).decideTurnSandbox}
	overlay := rule{fields("config"), (*decider).decideOverlay}
	fence := rule{nil, (*decider).decideProfile}
	fenceTurn := rule{nil, (*decider).decideTurnProfile}
	foreign := rule{fields("path", "history"), (*decider).refuseHistory}
	output := rule{fields("toolOutput"), (*decider).refuseToolOutput}
	plugins := rule{fields("disabledPluginIds"), (*decider).dropDisabledPlugins}
	capabilities := rule{fields("selectedCapabilityRoots"), (*decider).dropCapabilityRoots}

	path := rule{fields("path"), (*decider).decideReadPath}
	search := rule{fields("roots"), (*decider).decideSearchRoots}
	readCwd := rule{fields("cwd"), (*decider).decideReadCwd}
	readCwds := rule{fields("cwds"), (*decider).decideReadCwds}
	// These are the other fields of requests that open a thread, and of those with input. Codex's
	// schema lacks persistExtendedHistory, but Codex reads it and clients send it.
	opening := fields(
		"baseInstructions", "developerInstructions", "modelProvider", "personality", "serviceTier", "persistExtendedHistory",
	)
	said := fields(
		"threadId", "input", "additionalContext", "clientUserMessageId", "responsesapiClientMetadata", "responsesapiClientMetadataPatch",
	)

	table := map[string]*methodSpec{
		// Package hello removes the bridge's own capability.
		"initialize": {noThread: true, rules: []rule{{fields("capabilities"), (*decider).checkCapabilities}}, unchecked: fields("clientInfo")},
		"account/login/start": {noThread: true, rules: []rule{{fields("type"), (*decider).checkLogin}}, unchecked: fields(
			"apiKey", "accessToken", "appBrand", "chatgptAccountId", "chatgptPlanType", "codexStreamlinedLogin", "useHostedLoginSuccessPage",
			// These belong to refused kinds of login.
			"accessKeyId", "region", "secretAccessKey", "sessionToken",
		)},
		"command/exec": {noThread: true, rules: []rule{
			{fields("cwd"), (*decider).decideExecCwd},
			{fields("sandboxPolicy", "permissionProfile"), (*decider).decideExecSandbox},
			{fields("env"), (*decider).decideExecEnv},
		}, unchecked: fields(
			"command", "disableOutputCap", "disableTimeout", "outputBytesCap", "processId", "size", "streamStdin", "streamStdoutStderr",
			"timeoutMs", "tty",
		)},
		"config/value/write": {noThread: true, rules: []rule{
			{fields("keyPath", "value"), (*decider).decideConfigValue},
			{fields("filePath"), (*decider).decideConfigFile},
		}, unchecked: fields("expectedVersion", "mergeStrategy")},
		"config/batchWrite": {noThread: true, rules: []rule{
			{fields("edits"), (*decider).decideConfigEdits},
			{fields("filePath"), (*decider).decideConfigFile},
			{fields("reloadUserConfig"), (*decider).dropConfigReload},
		}, unchecked: fields("expectedVersion")},
		"mcpServerStatus/list": {noThread: true, rules: []rule{{fields("threadId"), (*decider).dropServersThread}}, unchecked: fields(
			"cursor", "detail", "limit", "serverName",
		)},
		"fs/readFile":                  {noThread: true, rules: []rule{path}},
		"fs/getMetadata":               {noThread: true, rules: []rule{path}},
		"fs/readDirectory":             {noThread: true, rules: []rule{path}},
		"fs/watch":                     {noThread: true, rules: []rule{path}, unchecked: fields("watchId")},
		"fuzzyFileSearch":              {noThread: true, rules: []rule{search}, unchecked: fields("query", "cancellationToken")},
		"skills/extraRoots/set":        {noThread: true, rules: []rule{{fields("extraRoots"), (*decider).decideSearchRoots}}},
		"fuzzyFileSearch/sessionStart": {noThread: true, rules: []rule{search}, unchecked: fields("sessionId")},

		"config/read":                {noThread: true, rules: []rule{readCwd}, unchecked: fields("includeLayers")},
		"permissionProfile/list":     {noThread: true, rules: []rule{readCwd}, unchecked: fields("cursor", "limit")},
		"skills/list":                {noThread: true, rules: []rule{readCwds}, unchecked: fields("forceReload")},
		"hooks/list":                 {noThread: true, rules: []rule{readCwds}, unchecked: fields("threadId")},
		"plugin/list":                {noThread: true, rules: []rule{readCwds}, unchecked: fields("forceRefetch", "marketplaceKinds")},
		"plugin/search":              {noThread: true, rules: []rule{readCwds}, unchecked: fields("cursor", "limit", "scope", "searchTerm")},
		"plugin/installed":           {noThread: true, rules: []rule{readCwds}, unchecked: fields("installSuggestionPluginNames")},
		"externalAgentConfig/detect": {noThread: true, rules: []rule{readCwds}, unchecked: fields("includeHome", "maxSessionAgeDays", "maxSessions", "migrationSource", "source")},
		"plugin/read": {noThread: true, rules: []rule{{fields("marketplacePath"), (*decider).decideMarketplace}}, unchecked: fields(
			"pluginName", "remoteMarketplaceName",
		)},

		"thread/start": {opensThread: true, startsThread: true, usesDefaults: true, rules: []rule{
			workspace, trust, capabilities, roots, environments, narrow, approval, reviewer, mode, fence, overlay, model,
		}, unchecked: append(fields(
			"allowProviderModelFallback", "daybreakEnabled", "dynamicTools", "ephemeral", "experimentalRawEvents", "historyMode",
			"mockExperimentalField", "multiAgentMode", "projectId", "serviceName", "sessionStartSource", "threadSource",
		), opening...)},
		"thread/resume": {opensThread: true, rules: []rule{
			foreign, workspace, trust, roots, narrow, approval, reviewer, mode, fence, overlay, model,
		}, unchecked: append(fields("threadId", "excludeTurns", "initialTurnsPage"), opening...)},
		"thread/fork": {opensThread: true, usesDefaults: true, rules: []rule{
			{fields("path"), (*decider).refuseHistory}, {fields("experimentalPredictionMode"), (*decider).dropPredictionMode}, workspace, trust, roots, narrow, approval, reviewer, mode, fence, overlay, model,
		}, unchecked: append(fields(
			"threadId", "attachToSource", "beforeTurnId", "deferGoalContinuation", "ephemeral", "excludeTurns",
			"experimentalDisablePredictionMcp", "lastTurnId", "threadSource",
		), opening...)},

		"turn/start": {rules: []rule{
			output, plugins, cwd, roots, environments, approval, reviewer, object, fenceTurn, model, effort, collaboration,
		}, unchecked: append(fields(
			"cyberAccessProgram", "multiAgentMode", "outputSchema", "parentTurnId", "personality", "rootTurnId",
			"serviceTier", "serviceTierForTurn", "summary", "turnTrigger",
		), said...)},
		"turn/steer": {unchecked: append(fields("expectedTurnId"), said...)},
		"thread/settings/update": {confirmed: true, rules: []rule{
			plugins, cwd, environments, approval, reviewer, object, fenceTurn, model, effort, collaboration,
		}, unchecked: fields("threadId", "multiAgentMode", "personality", "serviceTier", "summary")},
		"turn/settings/update": {confirmed: true, rules: []rule{
			environments, reviewer, model, effort,
		}, unchecked: fields("threadId", "turnId", "serviceTier", "summary")},

		"review/start":              {rules: []rule{{fields("delivery"), (*decider).checkReview}}, unchecked: fields("threadId", "target")},
		"thread/inject_items":       {rules: []rule{{fields("items"), (*decider).decideInjectedItems}}, unchecked: fields("threadId")},
		"thread/compact/start":      {unchecked: fields("threadId")},
		"thread/goal/set":           {unchecked: fields("threadId", "objective", "origin", "status", "tokenBudget")},
		"thread/guardianReview":     {rules: []rule{{nil, (*decider).checkModelReview}}, unchecked: fields("threadId")},
		"thread/prediction/request": {unchecked: fields("threadId", "sourceTurnId")},
		"thread/queue/add":          {unchecked: fields("threadId", "clientUserMessageId", "input", "responsesapiClientMetadata")},
		"thread/queue/reorder":      {unchecked: fields("threadId", "queuedSubmissionIds")},
		"thread/queue/start":        {unchecked: fields("threadId", "queuedSubmissionId")},
		"thread/queue/update":       {unchecked: fields("threadId", "queuedSubmissionId", "input", "responsesapiClientMetadata")},
		"thread/revert":             {unchecked: fields("threadId", "beforeTurnId")},
		"thread/sample": {rules: []rule{effort}, unchecked: fields(
			"threadId", "allowInProgressTurn", "disableMcp", "expectedTurnId", "interruptOnCancel", "prompt", "responsesapiClientMetadata",
			"threadSource", "turnTrigger",
		)},
		"thread/realtime/appendAudio":  {unchecked: fields("threadId", "audio")},
		"thread/realtime/appendSpeech": {unchecked: fields("threadId", "text")},
		"thread/realtime/appendText":   {unchecked: fields("threadId", "role", "text")},
		"thread/realtime/start": {rules: []rule{
			{fields("model"), (*decider).decideRealtimeModel},
			{fields("initialItems"), (*decider).dropInitialItems},
		}, unchecked: fields(
			"threadId", "backendReasoningStatus", "clientManagedHandoffs", "codexResponseHandoffChannelPrefixes", "codexResponseHandoffMode",
			"codexResponseItemPrefix", "codexResponsesAsItems", "delegationAckFiller", "flushTranscriptTailOnSessionEnd",
			"includeStartupContext", "outputModality", "prompt", "realtimeEndInstructions", "realtimeSessionId", "realtimeStartInstructions",
			"transport", "version", "voice", "voiceSessionId",
		)},
	}
	for _, m := range table {
		m.known = make(map[string]bool)
		for _, f := range m.unchecked {
			m.known[f] = true
		}
		for _, r := range m.rules {
			for _, f := range r.fields {
				m.known[f] = true
			}
		}
	}
	return table
}

// checkedMethods returns methodTable and checkedNames, which all policies share.
var checkedMethods = sync.OnceValues(func() (map[string]*methodSpec, map[string]string) {
	table := methodTable()
	return table, checkedNames(table)
})

// checkedNames maps the folded names of all checked fields to the names.
func checkedNames(table map[string]*methodSpec) map[string]string {
	names := make(map[string]string)
	for _, m := range table {
		for _, r := range m.rules {
			for _, f := range r.fields {
				names[foldName(f)] = f
			}
		}
	}
	return names
}

// foldName returns the same text for names that a later Codex might read as one: it removes case,
// separators, quotes and white space.
func foldName(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		plain = 'a' <= name[i] && name[i] <= 'z'
	}
	if plain {
		return name
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		switch r {
		case '_', '-', '"', '\'', ' ', '\t', '\n', '\r':
			return -1
		}
		return r
	}, name))
}
