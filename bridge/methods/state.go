package methods

// stateRows change codex's own records: names, archives, sections, memories. They
// reach no file of the workspace, and nothing that a turn may do.
var stateRows = []Row{
	{ClientRequest, "thread/archive", State, Pass, nil, "puts a thread away"},
	{ClientRequest, "thread/unarchive", State, Pass, nil, "takes a thread back; it is not opened"},
	{ClientRequest, "thread/delete", State, Pass, nil, "deletes codex's record of a thread"},
	{ClientRequest, "thread/unsubscribe", State, Pass, nil, "ends the notifications of a thread, which then takes no turn until it is resumed"},
	{ClientRequest, "thread/name/set", State, Pass, nil, "names a thread"},
	{ClientRequest, "thread/metadata/update", State, Pass, nil, "labels of a thread in lists: branch, commit, project"},
	{ClientRequest, "thread/readState/update", State, Pass, nil, "marks a thread as read"},
	{ClientRequest, "thread/attachment/add", State, Pass, nil, "keeps a note of the client's with a thread; the model does not see it"},
	{ClientRequest, "thread/attachment/remove", State, Pass, nil, "removes a note of the client's from a thread"},
	{ClientRequest, "thread/section/move", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "thread/memoryMode/set", State, Pass, nil, "whether a thread's record feeds codex's memories"},
	{ClientRequest, "memory/reset", State, Deny, nil, "deletes what codex has learnt from all threads; there is no way back"},
	{ClientRequest, "rollout/compress", State, Pass, nil, "packs old records"},
	{ClientRequest, "threadSection/create", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "threadSection/update", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "threadSection/delete", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "project/create", State, Pass, nil, "adds a project to the list; its roots give no thread a folder"},
	{ClientRequest, "project/import", State, Pass, nil, "adds a project and its threads to the list; its roots give no thread a folder"},
	{ClientRequest, "project/update", State, Pass, nil, "changes a project of the list; its roots give no thread a folder"},
	{ClientRequest, "project/move", State, Pass, nil, "sorts the list of projects"},
	{ClientRequest, "project/delete", State, Pass, nil, "takes a project off the list; its files stay"},
}
