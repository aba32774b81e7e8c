package policy

import "strings"

// rule judges some fields of params. The fields of a rule belong together: it
// reads and rewrites all of them.
type rule struct {
	fields []string
	apply  func(c *call, fields []string)
}

// method is one row: what its params may carry.
type method struct {
	// opens: it opens a thread, and its answer echoes the policy.
	opens bool
	// starts: it is thread/start, for which left-out fields come from codex's
	// configuration and not from the thread's past.
	starts bool
	// free: it speaks of no thread.
	free bool
	// configured: model and effort, left out, come from codex's configuration
	// too. Measured: so they do for a fork; a resume brings the thread's back.
	configured bool
	rules      []rule
	// plain are the members that the policy has no word about.
	plain []string
	// known are the fields of the rules and the plain ones. What is not among them is
	// a field that nobody has judged.
	known map[string]bool
}

func fields(names ...string) []string { return names }

// methodTable is the whole of what is judged. The order of the rules matters:
// the workspace is known before trust and the sandbox are decided, trust before
// what codex's defaults are, the sandbox before the
// overlay, the overlay before the default of the model.
func methodTable() map[string]*method {
	approval := rule{fields("approvalPolicy"), (*call).approval}
	reviewer := rule{fields("approvalsReviewer"), (*call).reviewer}
	model := rule{fields("model"), (*call).model}
	effort := rule{fields("effort"), (*call).effort}
	roots := rule{fields("runtimeWorkspaceRoots"), (*call).workspaceRoots}
	environments := rule{fields("environments"), (*call).environments}
	collaboration := rule{fields("collaborationMode"), (*call).collaboration}
	workspace := rule{fields("cwd"), (*call).workspaceCwd}
	trust := rule{nil, (*call).projectTrust}
	cwd := rule{fields("cwd"), (*call).turnCwd}
	mode := rule{fields("sandbox", "permissions"), (*call).threadSandbox}
	object := rule{fields("sandboxPolicy", "permissions"), (*call).turnSandbox}
	overlay := rule{fields("config"), (*call).overlay}
	fence := rule{nil, (*call).fence}
	fenceTurn := rule{nil, (*call).fenceTurn}
	foreign := rule{fields("path", "history"), (*call).foreignHistory}
	output := rule{fields("toolOutput"), (*call).inventedOutput}
	plugins := rule{fields("disabledPluginIds"), (*call).disabledPlugins}
	capabilities := rule{fields("selectedCapabilityRoots"), (*call).capabilityRoots}

	path := rule{fields("path"), (*call).readPath}
	search := rule{fields("roots"), (*call).searchRoots}
	readCwd := rule{fields("cwd"), (*call).readCwd}
	readCwds := rule{fields("cwds"), (*call).readCwds}
	// What else the requests have that open a thread, and those that bring input.
	// persistExtendedHistory is gone from the schema; codex takes it, clients send it.
	opening := fields(
		"baseInstructions", "developerInstructions", "modelProvider", "personality", "serviceTier", "persistExtendedHistory",
	)
	said := fields(
		"threadId", "input", "additionalContext", "clientUserMessageId", "responsesapiClientMetadata", "responsesapiClientMetadataPatch",
	)

	table := map[string]*method{
		// The bridge's own capability is taken out elsewhere.
		"initialize": {free: true, rules: []rule{{fields("capabilities"), (*call).capabilities}}, plain: fields("clientInfo")},
		"account/login/start": {free: true, rules: []rule{{fields("type"), (*call).signIn}}, plain: fields(
			"apiKey", "accessToken", "appBrand", "chatgptAccountId", "chatgptPlanType", "codexStreamlinedLogin", "useHostedLoginSuccessPage",
			// Of the kinds that are refused.
			"accessKeyId", "region", "secretAccessKey", "sessionToken",
		)},
		"command/exec": {free: true, rules: []rule{
			{fields("cwd"), (*call).execCwd},
			{fields("sandboxPolicy", "permissionProfile"), (*call).execSandbox},
			{fields("env"), (*call).execEnv},
		}, plain: fields(
			"command", "disableOutputCap", "disableTimeout", "outputBytesCap", "processId", "size", "streamStdin", "streamStdoutStderr",
			"timeoutMs", "tty",
		)},
		"mcpServerStatus/list": {free: true, rules: []rule{{fields("threadId"), (*call).threadServers}}, plain: fields(
			"cursor", "detail", "limit", "serverName",
		)},
		"fs/readFile":                  {free: true, rules: []rule{path}},
		"fs/getMetadata":               {free: true, rules: []rule{path}},
		"fs/readDirectory":             {free: true, rules: []rule{path}},
		"fs/watch":                     {free: true, rules: []rule{path}, plain: fields("watchId")},
		"fuzzyFileSearch":              {free: true, rules: []rule{search}, plain: fields("query", "cancellationToken")},
		"skills/extraRoots/set":        {free: true, rules: []rule{{fields("extraRoots"), (*call).searchRoots}}},
		"fuzzyFileSearch/sessionStart": {free: true, rules: []rule{search}, plain: fields("sessionId")},

		"config/read":                {free: true, rules: []rule{readCwd}, plain: fields("includeLayers")},
		"permissionProfile/list":     {free: true, rules: []rule{readCwd}, plain: fields("cursor", "limit")},
		"skills/list":                {free: true, rules: []rule{readCwds}, plain: fields("forceReload")},
		"hooks/list":                 {free: true, rules: []rule{readCwds}, plain: fields("threadId")},
		"plugin/list":                {free: true, rules: []rule{readCwds}, plain: fields("forceRefetch", "marketplaceKinds")},
		"plugin/search":              {free: true, rules: []rule{readCwds}, plain: fields("cursor", "limit", "scope", "searchTerm")},
		"plugin/installed":           {free: true, rules: []rule{readCwds}, plain: fields("installSuggestionPluginNames")},
		"externalAgentConfig/detect": {free: true, rules: []rule{readCwds}, plain: fields("includeHome", "maxSessionAgeDays", "maxSessions", "migrationSource", "source")},
		"plugin/read": {free: true, rules: []rule{{fields("marketplacePath"), (*call).readMarketplace}}, plain: fields(
			"pluginName", "remoteMarketplaceName",
		)},

		"thread/start": {opens: true, starts: true, configured: true, rules: []rule{
			workspace, trust, capabilities, roots, environments, approval, reviewer, mode, fence, overlay, model,
		}, plain: append(fields(
			"allowProviderModelFallback", "daybreakEnabled", "dynamicTools", "ephemeral", "experimentalRawEvents", "historyMode",
			"mockExperimentalField", "multiAgentMode", "projectId", "serviceName", "sessionStartSource", "threadSource",
		), opening...)},
		"thread/resume": {opens: true, rules: []rule{
			foreign, workspace, trust, roots, approval, reviewer, mode, fence, overlay, model,
		}, plain: append(fields("threadId", "excludeTurns", "initialTurnsPage"), opening...)},
		"thread/fork": {opens: true, configured: true, rules: []rule{
			{fields("path"), (*call).foreignHistory}, workspace, trust, roots, approval, reviewer, mode, fence, overlay, model,
		}, plain: append(fields(
			"threadId", "attachToSource", "beforeTurnId", "deferGoalContinuation", "ephemeral", "excludeTurns",
			"experimentalDisablePredictionMcp", "experimentalPredictionMode", "lastTurnId", "threadSource",
		), opening...)},

		"turn/start": {rules: []rule{
			output, plugins, cwd, roots, environments, approval, reviewer, object, fenceTurn, model, effort, collaboration,
		}, plain: append(fields(
			"cyberAccessProgram", "multiAgentMode", "outputSchema", "parentTurnId", "personality", "rootTurnId",
			"serviceTier", "serviceTierForTurn", "summary", "turnTrigger",
		), said...)},
		"turn/steer": {plain: append(fields("expectedTurnId"), said...)},
		"thread/settings/update": {rules: []rule{
			plugins, cwd, environments, approval, reviewer, object, fenceTurn, model, effort, collaboration,
		}, plain: fields("threadId", "multiAgentMode", "personality", "serviceTier", "summary")},
		"turn/settings/update": {rules: []rule{
			environments, reviewer, model, effort,
		}, plain: fields("threadId", "turnId", "serviceTier", "summary")},

		"review/start":              {rules: []rule{{fields("delivery"), (*call).review}}, plain: fields("threadId", "target")},
		"thread/compact/start":      {plain: fields("threadId")},
		"thread/goal/set":           {plain: fields("threadId", "objective", "origin", "status", "tokenBudget")},
		"thread/guardianReview":     {plain: fields("threadId")},
		"thread/prediction/request": {plain: fields("threadId", "sourceTurnId")},
		"thread/queue/add":          {plain: fields("threadId", "clientUserMessageId", "input", "responsesapiClientMetadata")},
		"thread/queue/reorder":      {plain: fields("threadId", "queuedSubmissionIds")},
		"thread/queue/start":        {plain: fields("threadId", "queuedSubmissionId")},
		"thread/queue/update":       {plain: fields("threadId", "queuedSubmissionId", "input", "responsesapiClientMetadata")},
		"thread/revert":             {plain: fields("threadId", "beforeTurnId")},
		"thread/sample": {rules: []rule{effort}, plain: fields(
			"threadId", "allowInProgressTurn", "disableMcp", "expectedTurnId", "interruptOnCancel", "prompt", "responsesapiClientMetadata",
			"threadSource", "turnTrigger",
		)},
		"thread/realtime/appendAudio":  {plain: fields("threadId", "audio")},
		"thread/realtime/appendSpeech": {plain: fields("threadId", "text")},
		"thread/realtime/appendText":   {plain: fields("threadId", "role", "text")},
		"thread/realtime/start": {rules: []rule{
			{fields("model"), (*call).realtimeModel},
			{fields("initialItems"), (*call).inventedPast},
		}, plain: fields(
			"threadId", "backendReasoningStatus", "clientManagedHandoffs", "codexResponseHandoffChannelPrefixes", "codexResponseHandoffMode",
			"codexResponseItemPrefix", "codexResponsesAsItems", "delegationAckFiller", "flushTranscriptTailOnSessionEnd",
			"includeStartupContext", "outputModality", "prompt", "realtimeEndInstructions", "realtimeSessionId", "realtimeStartInstructions",
			"transport", "version", "voice", "voiceSessionId",
		)},
	}
	for _, m := range table {
		m.known = make(map[string]bool)
		for _, f := range m.plain {
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

// policedNames are the fields of all methods, folded.
func policedNames(table map[string]*method) map[string]string {
	names := make(map[string]string)
	for _, m := range table {
		for _, r := range m.rules {
			for _, f := range r.fields {
				names[fold(f)] = f
			}
		}
	}
	return names
}

// fold makes the spellings of a name equal that a later codex might take for
// it: case, separators, quotes and white space don't count.
func fold(name string) string {
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
