package decide

import (
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/engine"
	"codex-bridge/lifecycle/fingerprint"
)

// check is one thing that can keep a thread from being used.
type check struct {
	reason Reason
	action Action
	fires  func(b binding.Binding, in Inputs) bool
}

// checks are in order: the first that fires decides. So a thread whose servers have
// changed is replaced even if its tools, too, are gone for now.
//
// The evaluated servers are looked at once more after the apps were built, since a
// decision that was put off by Build is made anew from the first check.
var checks = []check{
	{NotBound, Start, func(b binding.Binding, _ Inputs) bool { return !b.Bound() }},
	{RolloutTooLarge, Start, func(_ binding.Binding, in Inputs) bool { return in.TooLarge }},
	{EngineChanged, Rotate, func(b binding.Binding, in Inputs) bool { return !engine.Same(b.ContextEngine, in.ContextEngine) }},
	{UserServersChanged, Start, func(b binding.Binding, in Inputs) bool { return !fingerprint.Same(b.UserMCPServers, in.UserMCPServers) }},
	{EnvironmentsChanged, Start, func(b binding.Binding, in Inputs) bool { return !fingerprint.Same(b.Environments, in.Environments) }},
	{ServersChanged, Start, func(b binding.Binding, in Inputs) bool {
		return in.Evaluated && !fingerprint.Same(b.MCPServers, in.MCPServers)
	}},
	{PluginsOff, Start, func(b binding.Binding, in Inputs) bool {
		return !in.Plugins.Enabled && (b.PluginApps != "" || b.PluginAppsInput != "" || b.PluginPolicy != nil)
	}},
	{PluginsUnknown, Start, func(b binding.Binding, in Inputs) bool {
		return in.Plugins.Enabled && (b.PluginApps == "" || b.PluginAppsInput == "" || b.PluginPolicy == nil)
	}},
	{PluginsChanged, Start, func(b binding.Binding, in Inputs) bool {
		return in.Plugins.Enabled && !fingerprint.Same(b.PluginAppsInput, in.Plugins.Input)
	}},
	{AppsToBuild, Build, func(b binding.Binding, in Inputs) bool {
		return recheck(b, in) && in.Plugins.Config == nil && !in.Plugins.Failed
	}},
	{AppsChanged, Start, func(b binding.Binding, in Inputs) bool {
		return recheck(b, in) && in.Plugins.Config != nil && !fingerprint.Same(b.PluginApps, in.Plugins.Config.Output)
	}},
	{ToolsGone, Transient, func(b binding.Binding, in Inputs) bool {
		return b.DynamicTools != "" && !fingerprint.NoTools(b.DynamicTools) && fingerprint.NoTools(in.DynamicTools)
	}},
	{ToolsChanged, Start, func(b binding.Binding, in Inputs) bool {
		return b.DynamicTools != "" && !fingerprint.SameTools(b.DynamicTools, in.DynamicTools)
	}},
}

// recheck tells whether the same plugins may come to other apps than they did: the thread
// has none, though by now there may be some, or there are plugins to have any.
func recheck(b binding.Binding, in Inputs) bool {
	return in.Plugins.Enabled && b.PluginPolicy != nil && (len(b.PluginPolicy.Apps) == 0 || len(in.Plugins.EnabledKeys) > 0)
}

// Thread decides whether the thread of b may be used. A binding that does not know which
// tools the thread has, or an app that can't be looked up for now, keeps nobody from it.
func Thread(b binding.Binding, in Inputs) Decision {
	for _, c := range checks {
		if c.fires(b, in) {
			return Decision{c.action, c.reason}
		}
	}
	return Decision{Resume, Unchanged}
}
