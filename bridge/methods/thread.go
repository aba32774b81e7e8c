package methods

// threadRows open threads and set what their turns may do; turnRows start, steer
// and end turns.
var threadRows = []Row{
	{
		ClientRequest, "thread/start", Thread, Rewrite,
		[]string{
			"approvalPolicy", "approvalsReviewer", "config", "cwd", "environments", "model", "permissions",
			"runtimeWorkspaceRoots", "sandbox", "selectedCapabilityRoots",
		},
		"opens a thread: policy, folder and configuration of all its turns; may trust the folder's own configuration",
	},
	{
		ClientRequest, "thread/resume", Thread, Rewrite,
		[]string{
			"approvalPolicy", "approvalsReviewer", "config", "cwd", "history", "model", "path", "permissions",
			"runtimeWorkspaceRoots", "sandbox", "threadId",
		},
		"opens a stored thread; may bring another file or an invented history in place of it",
	},
	{
		ClientRequest, "thread/fork", Thread, Rewrite,
		[]string{
			"approvalPolicy", "approvalsReviewer", "config", "cwd", "model", "path", "permissions",
			"runtimeWorkspaceRoots", "sandbox", "threadId",
		},
		"opens a copy of a thread, with a policy, folder and configuration of its own",
	},
	{
		ClientRequest, "thread/settings/update", Thread, Gate,
		[]string{
			"approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd", "disabledPluginIds", "effort", "environments",
			"model", "permissions", "sandboxPolicy", "threadId",
		},
		"policy, folder and model from the next turn on",
	},
	{
		ClientRequest, "turn/settings/update", Thread, Gate,
		[]string{"approvalsReviewer", "effort", "environments", "model", "threadId"},
		"reviewer, executor and model in the middle of a turn",
	},
}

var turnRows = []Row{
	{
		ClientRequest, "turn/start", Turn, Gate,
		[]string{
			"approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd", "disabledPluginIds", "effort", "environments",
			"model", "permissions", "runtimeWorkspaceRoots", "sandboxPolicy", "threadId", "toolOutput",
		},
		"has the model work, under policy, folder and model of this turn and those after it",
	},
	{ClientRequest, "turn/steer", Turn, Gate, []string{"threadId"}, "gives a running turn new input"},
	{ClientRequest, "turn/interrupt", Turn, Pass, nil, "ends a turn"},
	{ClientRequest, "thread/sample/cancel", Turn, Pass, nil, "ends a sample"},
	{ClientRequest, "thread/goal/clear", Turn, Pass, nil, "ends the work on a goal"},
	{ClientRequest, "thread/queue/delete", Turn, Pass, nil, "takes an input back that waits"},
	{ClientRequest, "thread/realtime/stop", Turn, Pass, nil, "ends a voice session"},
	{ClientRequest, "thread/increment_elicitation", Turn, Pass, nil, "stops a turn's clock while a person is asked elsewhere"},
	{ClientRequest, "thread/decrement_elicitation", Turn, Pass, nil, "lets a turn's clock run on"},
}
