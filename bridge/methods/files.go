package methods

// fileWriteRows change files that the client names; fileReadRows read files or their names. Codex
// checks neither against a sandbox.
var fileWriteRows = []Row{
	{ClientRequest, "fs/writeFile", FileWrite, Deny, nil, "writes any file of the user, without a sandbox or approval"},
	{ClientRequest, "fs/createDirectory", FileWrite, Deny, nil, "creates any folder, without a sandbox or approval"},
	{ClientRequest, "fs/remove", FileWrite, Deny, nil, "deletes any file or tree of the user, without a sandbox or approval"},
	{ClientRequest, "fs/copy", FileWrite, Deny, nil, "copies from anywhere to anywhere, without a sandbox or approval"},
	{ClientRequest, "feedback/save", FileWrite, Deny, nil, "writes logs, and any files that the client names, to an archive at any path"},
}

var fileReadRows = []Row{
	{ClientRequest, "fs/readFile", FileRead, Rewrite, []string{"path"}, "reads any file of the user; limited to the roots"},
	{ClientRequest, "fs/getMetadata", FileRead, Rewrite, []string{"path"}, "reads the metadata of any file of the user; limited to the roots"},
	{ClientRequest, "fs/readDirectory", FileRead, Rewrite, []string{"path"}, "lists any folder of the user; limited to the roots"},
	{ClientRequest, "fs/watch", FileRead, Rewrite, []string{"path"}, "reports changes in any folder of the user; limited to the roots"},
	{ClientRequest, "fs/unwatch", FileRead, Pass, nil, "ends a watch"},
	{ClientRequest, "fuzzyFileSearch", FileRead, Rewrite, []string{"roots"}, "searches the file names of any folder; limited to the roots"},
	{ClientRequest, "fuzzyFileSearch/sessionStart", FileRead, Rewrite, []string{"roots"}, "searches the file names of any folder; limited to the roots"},
	{ClientRequest, "fuzzyFileSearch/sessionUpdate", FileRead, Pass, nil, "searches the folders of its session"},
	{ClientRequest, "fuzzyFileSearch/sessionStop", FileRead, Pass, nil, "ends a search"},
	{
		ClientRequest, "mcpServer/resource/read", FileRead, Deny, nil,
		"makes a server read a resource, perhaps a file, without hooks or approval",
	},
}
