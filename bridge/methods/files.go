package methods

// fileWriteRows change files of the client's choice; fileReadRows read them, or
// their names. Codex checks neither against any sandbox.
var fileWriteRows = []Row{
	{ClientRequest, "fs/writeFile", FileWrite, Deny, nil, "writes any file of the user, outside every sandbox and approval"},
	{ClientRequest, "fs/createDirectory", FileWrite, Deny, nil, "makes a folder anywhere, outside every sandbox and approval"},
	{ClientRequest, "fs/remove", FileWrite, Deny, nil, "deletes any file or tree of the user, outside every sandbox and approval"},
	{ClientRequest, "fs/copy", FileWrite, Deny, nil, "copies from anywhere to anywhere, outside every sandbox and approval"},
	{ClientRequest, "feedback/save", FileWrite, Deny, nil, "writes logs, and any file the client names, into an archive at a path of its choice"},
}

var fileReadRows = []Row{
	{ClientRequest, "fs/readFile", FileRead, Rewrite, []string{"path"}, "reads any file of the user; held to the roots"},
	{ClientRequest, "fs/getMetadata", FileRead, Rewrite, []string{"path"}, "tells of any file of the user; held to the roots"},
	{ClientRequest, "fs/readDirectory", FileRead, Rewrite, []string{"path"}, "lists any folder of the user; held to the roots"},
	{ClientRequest, "fs/watch", FileRead, Rewrite, []string{"path"}, "reports changes in any folder of the user; held to the roots"},
	{ClientRequest, "fs/unwatch", FileRead, Pass, nil, "ends a watch"},
	{ClientRequest, "fuzzyFileSearch", FileRead, Rewrite, []string{"roots"}, "names the files of any folder; held to the roots"},
	{ClientRequest, "fuzzyFileSearch/sessionStart", FileRead, Rewrite, []string{"roots"}, "names the files of any folder; held to the roots"},
	{ClientRequest, "fuzzyFileSearch/sessionUpdate", FileRead, Pass, nil, "searches the folders that its start was allowed"},
	{ClientRequest, "fuzzyFileSearch/sessionStop", FileRead, Pass, nil, "ends a search"},
	{
		ClientRequest, "mcpServer/resource/read", FileRead, Deny, nil,
		"has a server fetch what the client names, a file perhaps; no hook, no approval sees it",
	},
}
