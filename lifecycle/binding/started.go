package binding

import (
	"cmp"
	"errors"
)

// ThreadRequest holds the values of a request that the binding keeps besides the fingerprints.
type ThreadRequest struct {
	SessionFile   string
	Cwd           string
	Model         string
	ModelProvider string // used if Codex's response has none
}

// ThreadResponse is Codex's response to thread/start or thread/resume.
type ThreadResponse struct{ Thread, Model, ModelProvider string }

var errNotBuilt = errors.New("bridge.plugins: the apps of the plugins were not looked up, so the session can't keep this thread")

// NewStarted returns the binding of a thread that has started. If plugins are on, their
// AppConfig must have been built: without it the next turn would replace the thread.
func NewStarted(run ThreadRequest, in ThreadInputs, a ThreadResponse) (Binding, error) {
	b := commonBinding(run, in, a)
	b.Model = cmp.Or(a.Model, run.Model)
	if in.Evaluated {
		b.MCPServers = in.MCPServers
	}
	if in.Plugins.Enabled {
		c := in.Plugins.Config
		if c == nil || c.Output == "" || c.Input == "" || c.Policy == nil {
			return Binding{}, errNotBuilt
		}
		b.PluginApps, b.PluginAppsInput, b.PluginPolicy = c.Output, c.Input, c.Policy
	}
	return b, nil
}

// NewResumed returns the binding of a resumed thread; old is the previous binding. It does not
// keep the approval policy and sandbox of old: each request sends them again.
func NewResumed(old Binding, run ThreadRequest, in ThreadInputs, a ThreadResponse) Binding {
	b := commonBinding(run, in, a)
	b.Model = cmp.Or(run.Model, a.Model)
	b.AuthProfile, b.HookGeneration = old.AuthProfile, old.HookGeneration // of another implementation
	b.MCPServers = old.MCPServers
	if in.Evaluated {
		b.MCPServers = in.MCPServers
	}
	b.PluginApps, b.PluginAppsInput, b.PluginPolicy = old.PluginApps, old.PluginAppsInput, old.PluginPolicy
	b.DynamicToolsContainDeferred = old.DynamicToolsContainDeferred
	b.CreatedAt = old.CreatedAt
	return b
}

// commonBinding returns the part that NewStarted and NewResumed have in common.
func commonBinding(run ThreadRequest, in ThreadInputs, a ThreadResponse) Binding {
	return Binding{
		SessionFile: run.SessionFile, ThreadID: a.Thread, Cwd: run.Cwd,
		ModelProvider: cmp.Or(a.ModelProvider, run.ModelProvider),
		DynamicTools:  in.DynamicTools, UserMCPServers: in.UserMCPServers, Environments: in.Environments,
		ContextEngine: in.ContextEngine,
	}
}
