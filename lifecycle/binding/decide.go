package binding

// ThreadInputs holds the inputs of a thread that would start now, mostly as fingerprints. The
// fingerprint of a missing value is "".
type ThreadInputs struct {
	// TooLarge is true if the bound thread has exceeded thread.max_rollout.
	TooLarge       bool
	ContextEngine  *ContextEngine // nil if none is active
	UserMCPServers string
	Environments   string // "" if the client names none; differs from an empty list
	MCPServers     string
	// Evaluated is true if MCPServers was determined. Otherwise MCPServers is ignored.
	Evaluated    bool
	Plugins      PluginInputs
	DynamicTools string // an empty catalogue has the fingerprint of the empty list
}

// PluginInputs holds the inputs from the host's plugins.
type PluginInputs struct {
	Enabled     bool
	Input       string   // see PluginSettings.Input
	EnabledKeys []string // of the enabled plugins
	// Config is nil until it is built. Failed is true if that failed.
	Config *AppConfig
	Failed bool
}

// check is one condition that prevents the use of the bound thread.
type check struct {
	reason Reason
	action Action
	fires  func(b Binding, in ThreadInputs) bool
}

// checks are in order: the first that fires decides. So a thread whose servers have changed is
// replaced even if its tools are missing too. After ActionBuild the caller decides again from the
// first check.
var checks = []check{
	{ReasonNotBound, ActionStart, func(b Binding, _ ThreadInputs) bool { return !b.Bound() }},
	{ReasonRolloutTooLarge, ActionStart, func(_ Binding, in ThreadInputs) bool { return in.TooLarge }},
	{ReasonEngineChanged, ActionRotate, func(b Binding, in ThreadInputs) bool { return !SameEngine(b.ContextEngine, in.ContextEngine) }},
	{ReasonUserServersChanged, ActionStart, func(b Binding, in ThreadInputs) bool { return !SameFingerprint(b.UserMCPServers, in.UserMCPServers) }},
	{ReasonEnvironmentsChanged, ActionStart, func(b Binding, in ThreadInputs) bool { return !SameFingerprint(b.Environments, in.Environments) }},
	{ReasonServersChanged, ActionStart, func(b Binding, in ThreadInputs) bool {
		return in.Evaluated && !SameFingerprint(b.MCPServers, in.MCPServers)
	}},
	{ReasonPluginsOff, ActionStart, func(b Binding, in ThreadInputs) bool {
		return !in.Plugins.Enabled && (b.PluginApps != "" || b.PluginAppsInput != "" || b.PluginPolicy != nil)
	}},
	{ReasonPluginsUnknown, ActionStart, func(b Binding, in ThreadInputs) bool {
		return in.Plugins.Enabled && (b.PluginApps == "" || b.PluginAppsInput == "" || b.PluginPolicy == nil)
	}},
	{ReasonPluginsChanged, ActionStart, func(b Binding, in ThreadInputs) bool {
		return in.Plugins.Enabled && !SameFingerprint(b.PluginAppsInput, in.Plugins.Input)
	}},
	{ReasonAppsToBuild, ActionBuild, func(b Binding, in ThreadInputs) bool {
		return mayHaveNewApps(b, in) && in.Plugins.Config == nil && !in.Plugins.Failed
	}},
	{ReasonAppsChanged, ActionStart, func(b Binding, in ThreadInputs) bool {
		return mayHaveNewApps(b, in) && in.Plugins.Config != nil && !SameFingerprint(b.PluginApps, in.Plugins.Config.Output)
	}},
	{ReasonToolsGone, ActionTransient, func(b Binding, in ThreadInputs) bool {
		return b.DynamicTools != "" && !hasNoTools(b.DynamicTools) && hasNoTools(in.DynamicTools)
	}},
	{ReasonToolsChanged, ActionStart, func(b Binding, in ThreadInputs) bool {
		return b.DynamicTools != "" && !sameTools(b.DynamicTools, in.DynamicTools)
	}},
}

// mayHaveNewApps reports whether the same plugins may lead to other apps now: the thread has none, or
// a plugin is enabled.
func mayHaveNewApps(b Binding, in ThreadInputs) bool {
	return in.Plugins.Enabled && b.PluginPolicy != nil && (len(b.PluginPolicy.Apps) == 0 || len(in.Plugins.EnabledKeys) > 0)
}

// Decide decides whether the thread of b may be used. A binding that does not know the thread's
// tools, or an app that can't be looked up for now, does not prevent its use.
func Decide(b Binding, in ThreadInputs) Decision {
	for _, c := range checks {
		if c.fires(b, in) {
			return Decision{c.action, c.reason}
		}
	}
	return Decision{ActionResume, ReasonUnchanged}
}
