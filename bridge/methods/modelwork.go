package methods

// modelWorkRows have the model work without turn/start, or add to what it works on.
var modelWorkRows = []Row{
	{ClientRequest, "thread/sample", ModelWork, Gate, []string{"effort", "threadId"}, "asks the model beside the thread's turns"},
	{ClientRequest, "thread/prediction/request", ModelWork, Gate, []string{"threadId"}, "has the model guess the next input"},
	{ClientRequest, "thread/goal/set", ModelWork, Gate, []string{"threadId"}, "starts turns until the goal is reached"},
	{ClientRequest, "thread/queue/add", ModelWork, Gate, []string{"threadId"}, "starts a turn, now or when the running one ends"},
	{ClientRequest, "thread/queue/update", ModelWork, Gate, []string{"threadId"}, "changes the input of a turn that is to come"},
	{ClientRequest, "thread/queue/reorder", ModelWork, Gate, []string{"threadId"}, "chooses the turn that comes next"},
	{ClientRequest, "thread/queue/start", ModelWork, Gate, []string{"threadId"}, "starts a turn from an input that waits"},
	{ClientRequest, "thread/compact/start", ModelWork, Gate, []string{"threadId"}, "has the model sum the thread up, and replaces its context"},
	{ClientRequest, "thread/guardianReview", ModelWork, Gate, []string{"threadId"}, "has a reviewing model judge the thread's last action"},
	{ClientRequest, "thread/revert", ModelWork, Gate, []string{"threadId"}, "takes turns out of what the model sees; changes no file"},
	{
		ClientRequest, "review/start", ModelWork, Gate, []string{"delivery", "threadId"},
		"starts a turn that reviews changes, whose commands nobody is asked about",
	},
	{ClientRequest, "thread/realtime/start", ModelWork, Gate, []string{"initialItems", "model", "threadId"}, "opens a voice session that starts turns"},
	{ClientRequest, "thread/realtime/appendAudio", ModelWork, Gate, []string{"threadId"}, "speaks in a voice session, which starts turns"},
	{ClientRequest, "thread/realtime/appendText", ModelWork, Gate, []string{"threadId"}, "writes in a voice session, which starts turns"},
	{ClientRequest, "thread/realtime/appendSpeech", ModelWork, Gate, []string{"threadId"}, "has a voice session say something"},
	{
		ClientRequest, "thread/inject_items", ModelWork, Deny, nil,
		"puts raw items, the developer's role too, into the model's context: a past that never was",
	},
	{
		ClientRequest, "thread/approveGuardianDeniedAction", ModelWork, Deny, nil,
		"has an action run that the reviewer denied; the event that names it comes from the client",
	},
	{
		ClientRequest, "thread/prepareApprovedPlan", ModelWork, Deny, nil,
		"puts a tool's answer into the model's context, a plan that the user approved: text of the client's",
	},
}
