package methods

// extensionRows add code, skills, servers or executors.
var extensionRows = []Row{
	{
		ClientRequest, "skills/extraRoots/set", Extension, Rewrite, []string{"extraRoots"},
		"adds folders of skills for all threads; limited to the roots",
	},
	{ClientRequest, "marketplace/add", Extension, Deny, nil, "adds a source of plugins that the client names"},
	{ClientRequest, "marketplace/remove", Extension, Deny, nil, "removes a source of plugins, and its files"},
	{ClientRequest, "marketplace/upgrade", Extension, Deny, nil, "updates plugins from their source"},
	{ClientRequest, "plugin/install", Extension, Deny, nil, "adds a plugin's servers, hooks and skills to all threads"},
	{ClientRequest, "plugin/uninstall", Extension, Deny, nil, "removes a plugin's hooks and skills from all threads"},
	{ClientRequest, "plugin/reconcile", Extension, Deny, nil, "installs and removes plugins to match those of the account"},
	{ClientRequest, "plugin/share/checkout", Extension, Deny, nil, "adds a shared plugin to those of the user"},
	{
		ClientRequest, "environment/add", Extension, Deny, nil,
		"adds or replaces an executor at an address that the client names: commands and files are sent there",
	},
	{
		ClientRequest, "externalAgentConfig/import", Extension, Deny, nil,
		"adds the hooks, servers, commands and skills of other agents to codex's configuration",
	},
	{ClientRequest, "externalAgentConfig/import/recordHistory", Extension, Deny, nil, "belongs to an import, which is refused"},
}
