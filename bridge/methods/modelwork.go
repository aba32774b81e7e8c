package methods

// modelWorkRows use the model without turn/start, or change its context.
var modelWorkRows = []Row{
	{ClientRequest, "thread/sample", ModelWork, Gate, []string{"effort", "threadId"}, "asks the model outside the thread's turns"},
	{ClientRequest, "thread/prediction/request", ModelWork, Gate, []string{"threadId"}, "lets the model predict the next input"},
	{ClientRequest, "thread/goal/set", ModelWork, Gate, []string{"threadId"}, "starts turns until the goal is reached"},
	{ClientRequest, "thread/queue/add", ModelWork, Gate, []string{"threadId"}, "starts a turn, now or when the running one ends"},
	{ClientRequest, "thread/queue/update", ModelWork, Gate, []string{"threadId"}, "changes a queued input"},
	{ClientRequest, "thread/queue/reorder", ModelWork, Gate, []string{"threadId"}, "changes the order of queued inputs"},
	{ClientRequest, "thread/queue/start", ModelWork, Gate, []string{"threadId"}, "starts a turn with a queued input"},
	{ClientRequest, "thread/compact/start", ModelWork, Gate, []string{"threadId"}, "replaces the context by a summary of the model"},
	{ClientRequest, "thread/guardianReview", ModelWork, Gate, []string{"threadId"}, "lets a reviewing model check the thread's last action"},
	{ClientRequest, "thread/revert", ModelWork, Gate, []string{"threadId"}, "removes turns from the context; changes no file"},
	{
		ClientRequest, "review/start", ModelWork, Gate, []string{"delivery", "threadId"},
		"starts a turn that reviews changes, with commands that need no approval",
	},
	{ClientRequest, "thread/realtime/start", ModelWork, Gate, []string{"initialItems", "model", "threadId"}, "opens a voice session that starts turns"},
	{ClientRequest, "thread/realtime/appendAudio", ModelWork, Gate, []string{"threadId"}, "sends sound to a voice session, which starts turns"},
	{ClientRequest, "thread/realtime/appendText", ModelWork, Gate, []string{"threadId"}, "sends text to a voice session, which starts turns"},
	{ClientRequest, "thread/realtime/appendSpeech", ModelWork, Gate, []string{"threadId"}, "lets a voice session speak"},
	{
		ClientRequest, "thread/inject_items", ModelWork, Gate, []string{"items", "threadId"},
		"adds items to the model's context: messages pass, as in a turn's input; invented calls and results do not",
	},
	{
		ClientRequest, "thread/approveGuardianDeniedAction", ModelWork, Deny, nil,
		"runs an action that the reviewer denied; the client names it by an event",
	},
	{
		ClientRequest, "thread/prepareApprovedPlan", ModelWork, Deny, nil,
		"adds text of the client to the model's context, as a plan that the user approved",
	},
}
