package methods

// extensionRows bring code, skills, servers or executors in.
var extensionRows = []Row{
	{
		ClientRequest, "skills/extraRoots/set", Extension, Rewrite, []string{"extraRoots"},
		"has every thread take skills from folders of the client's choice; held to the roots",
	},
	{ClientRequest, "marketplace/add", Extension, Deny, nil, "fetches a source of plugins, of the client's choice"},
	{ClientRequest, "marketplace/remove", Extension, Deny, nil, "removes a source of plugins, and its files"},
	{ClientRequest, "marketplace/upgrade", Extension, Deny, nil, "replaces plugins by whatever their source now has"},
	{ClientRequest, "plugin/install", Extension, Deny, nil, "brings a plugin's servers, hooks and skills into every thread"},
	{ClientRequest, "plugin/uninstall", Extension, Deny, nil, "takes a plugin's hooks and skills out of every thread"},
	{ClientRequest, "plugin/reconcile", Extension, Deny, nil, "installs and removes plugins until they match the account's"},
	{ClientRequest, "plugin/share/checkout", Extension, Deny, nil, "fetches a shared plugin and adds it to the user's own"},
	{
		ClientRequest, "environment/add", Extension, Deny, nil,
		"adds an executor at an address of the client's choice, or replaces one: commands and files go there",
	},
	{
		ClientRequest, "externalAgentConfig/import", Extension, Deny, nil,
		"writes the hooks, servers, commands and skills of other agents into codex's configuration",
	},
	{ClientRequest, "externalAgentConfig/import/recordHistory", Extension, Deny, nil, "belongs to an import, which is refused"},
}
