package binding

// ThreadInputs are what a thread would be started with now. The fingerprint of a missing value
// is "".
type ThreadInputs struct {
	// TooLarge tells that the bound thread has grown too large (see thread.max_rollout).
	TooLarge       bool
	ContextEngine  *ContextEngine // nil: none is active
	UserMCPServers string
	Environments   string // "" when the client names none, which is not the empty list
	MCPServers     string
	// Evaluated tells whether MCPServers was looked into. If not, it counts for nothing.
	Evaluated    bool
	Plugins      PluginInputs
	DynamicTools string // of an empty catalogue that of the empty list
}

// PluginInputs are the host's plugins.
type PluginInputs struct {
	Enabled     bool
	Input       string   // the fingerprint of the plugins that are set up
	EnabledKeys []string // of the plugins that are on
	// Config is what the apps come to, once it was built; Failed, that it could not be.
	Config *AppConfig
	Failed bool
}

// check is one thing that can keep a thread from being used.
type check struct {
	reason Reason
	action Action
	fires  func(b Binding, in ThreadInputs) bool
}

// checks are in order: the first that fires decides. So a thread whose servers have
// changed is replaced even if its tools, too, are gone for now.
//
// The evaluated servers are looked at once more after the apps were built, since a
// decision that ActionBuild deferred is made anew from the first check.
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
		return recheck(b, in) && in.Plugins.Config == nil && !in.Plugins.Failed
	}},
	{ReasonAppsChanged, ActionStart, func(b Binding, in ThreadInputs) bool {
		return recheck(b, in) && in.Plugins.Config != nil && !SameFingerprint(b.PluginApps, in.Plugins.Config.Output)
	}},
	{ReasonToolsGone, ActionTransient, func(b Binding, in ThreadInputs) bool {
		return b.DynamicTools != "" && !hasNoTools(b.DynamicTools) && hasNoTools(in.DynamicTools)
	}},
	{ReasonToolsChanged, ActionStart, func(b Binding, in ThreadInputs) bool {
		return b.DynamicTools != "" && !sameTools(b.DynamicTools, in.DynamicTools)
	}},
}

// recheck tells whether the same plugins may come to other apps than they did: the thread
// has none, though by now there may be some, or there are plugins to have any.
func recheck(b Binding, in ThreadInputs) bool {
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
