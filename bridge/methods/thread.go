package methods

// threadRows open threads and set the permissions of their turns; turnRows start, steer and end
// turns.
var threadRows = []Row{
	{
		ClientRequest, "thread/start", Thread, Rewrite,
		[]string{
			"approvalPolicy", "approvalsReviewer", "config", "cwd", "environments", "model", "permissions",
			"runtimeWorkspaceRoots", "sandbox", "selectedCapabilityRoots",
		},
		"opens a thread: sets policy, folder and configuration of all its turns; may trust the folder's own configuration",
	},
	{
		ClientRequest, "thread/resume", Thread, Rewrite,
		[]string{
			"approvalPolicy", "approvalsReviewer", "config", "cwd", "history", "model", "path", "permissions",
			"runtimeWorkspaceRoots", "sandbox", "threadId",
		},
		"opens a stored thread; may replace it by another file or an invented history",
	},
	{
		ClientRequest, "thread/fork", Thread, Rewrite,
		[]string{
			"approvalPolicy", "approvalsReviewer", "config", "cwd", "experimentalPredictionMode", "model", "path", "permissions",
			"runtimeWorkspaceRoots", "sandbox", "threadId",
		},
		"opens a copy of a thread with its own policy, folder and configuration",
	},
	{
		ClientRequest, "thread/settings/update", Thread, Gate,
		[]string{
			"approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd", "disabledPluginIds", "effort", "environments",
			"model", "permissions", "sandboxPolicy", "threadId",
		},
		"sets policy, folder and model from the next turn on",
	},
	{
		ClientRequest, "turn/settings/update", Thread, Gate,
		[]string{"approvalsReviewer", "effort", "environments", "model", "threadId"},
		"sets reviewer, executor and model during a turn",
	},
}

var turnRows = []Row{
	{
		ClientRequest, "turn/start", Turn, Gate,
		[]string{
			"approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd", "disabledPluginIds", "effort", "environments",
			"model", "permissions", "runtimeWorkspaceRoots", "sandboxPolicy", "threadId", "toolOutput",
		},
		"starts a turn; sets policy, folder and model of this turn and later ones",
	},
	{ClientRequest, "turn/steer", Turn, Gate, []string{"threadId"}, "gives a running turn new input"},
	{ClientRequest, "turn/interrupt", Turn, Pass, nil, "ends a turn"},
	{ClientRequest, "thread/sample/cancel", Turn, Pass, nil, "ends a sample"},
	{ClientRequest, "thread/goal/clear", Turn, Pass, nil, "ends the work on a goal"},
	{ClientRequest, "thread/queue/delete", Turn, Pass, nil, "removes a queued input"},
	{ClientRequest, "thread/realtime/stop", Turn, Pass, nil, "ends a voice session"},
	{ClientRequest, "thread/increment_elicitation", Turn, Pass, nil, "pauses a turn's timeout during a question to the user"},
	{ClientRequest, "thread/decrement_elicitation", Turn, Pass, nil, "resumes a turn's timeout"},
}
