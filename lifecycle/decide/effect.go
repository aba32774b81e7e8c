package decide

import (
	"errors"

	"codex-bridge/lifecycle/binding"
)

// Run is what is kept of a request beside the fingerprints.
type Run struct {
	SessionFile   string
	Cwd           string
	Model         string
	ModelProvider string // where Codex's answer has none
}

// Answer is what Codex said to thread/start or thread/resume.
type Answer struct{ Thread, Model, ModelProvider string }

var errNotBuilt = errors.New("bridge.plugins: the apps of the plugins were not looked up, so the session can't keep this thread")

// Started is the binding of a thread that has started. With plugins on, their apps must
// have been built: without them the thread would be replaced at once.
func Started(run Run, in Inputs, a Answer) (binding.Binding, error) {
	b := bound(run, in, a)
	b.Model = either(a.Model, run.Model)
	if in.Evaluated {
		b.MCPServers = in.MCPServers
	}
	if in.Plugins.Enabled {
		c := in.Plugins.Config
		if c == nil || c.Output == "" || c.Input == "" || c.Policy == nil {
			return binding.Binding{}, errNotBuilt
		}
		b.PluginApps, b.PluginAppsInput, b.PluginPolicy = c.Output, c.Input, c.Policy
	}
	return b, nil
}

// Resumed is the binding of a thread that was gone on with; old is what it was before.
// Policies that were bound are not kept: they are sent anew each time.
func Resumed(old binding.Binding, run Run, in Inputs, a Answer) binding.Binding {
	b := bound(run, in, a)
	b.Model = either(run.Model, a.Model)
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

// bound is what both have in common.
func bound(run Run, in Inputs, a Answer) binding.Binding {
	return binding.Binding{
		SessionFile: run.SessionFile, ThreadID: a.Thread, Cwd: run.Cwd,
		ModelProvider: either(a.ModelProvider, run.ModelProvider),
		DynamicTools:  in.DynamicTools, UserMCPServers: in.UserMCPServers, Environments: in.Environments,
		ContextEngine: in.ContextEngine,
	}
}

func either(first, second string) string {
	if first != "" {
		return first
	}
	return second
}
