package methods

// stateRows change Codex's own records: names, archives, sections, memories. They change neither
// files of the workspace nor the permissions of a turn.
var stateRows = []Row{
	{ClientRequest, "thread/archive", State, Pass, nil, "archives a thread"},
	{ClientRequest, "thread/unarchive", State, Pass, nil, "unarchives a thread, without opening it"},
	{ClientRequest, "thread/delete", State, Pass, nil, "deletes codex's record of a thread"},
	{ClientRequest, "thread/unsubscribe", State, Pass, nil, "ends the notifications of a thread, which then takes no turn until it is resumed"},
	{ClientRequest, "thread/name/set", State, Pass, nil, "names a thread"},
	{ClientRequest, "thread/metadata/update", State, Pass, nil, "sets labels of a thread in lists: branch, commit, project"},
	{ClientRequest, "thread/readState/update", State, Pass, nil, "marks a thread as read"},
	{ClientRequest, "thread/attachment/add", State, Pass, nil, "adds a note of the client to a thread; the model does not see it"},
	{ClientRequest, "thread/attachment/remove", State, Pass, nil, "removes a note of the client from a thread"},
	{ClientRequest, "thread/section/move", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "thread/memoryMode/set", State, Pass, nil, "sets whether codex's memories use a thread"},
	{ClientRequest, "memory/reset", State, Deny, nil, "deletes all memories of codex for ever"},
	{ClientRequest, "rollout/compress", State, Pass, nil, "compresses old records"},
	{ClientRequest, "threadSection/create", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "threadSection/update", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "threadSection/delete", State, Pass, nil, "sorts the list of threads"},
	{ClientRequest, "project/create", State, Pass, nil, "adds a project to the list; its roots do not set the folder of a thread"},
	{ClientRequest, "project/import", State, Pass, nil, "adds a project and its threads to the list; its roots do not set the folder of a thread"},
	{ClientRequest, "project/update", State, Pass, nil, "changes a project of the list; its roots do not set the folder of a thread"},
	{ClientRequest, "project/move", State, Pass, nil, "sorts the list of projects"},
	{ClientRequest, "project/delete", State, Pass, nil, "removes a project from the list, but not its files"},
}
