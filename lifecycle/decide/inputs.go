package decide

import (
	"codex-bridge/lifecycle/apps"
	"codex-bridge/lifecycle/binding"
)

// Inputs are what a thread would be started with now. Fingerprints are "" where there is
// nothing.
type Inputs struct {
	// TooLarge tells that the bound thread has grown too large (see thread.max_rollout).
	TooLarge       bool
	ContextEngine  *binding.ContextEngine // nil: none is active
	UserMCPServers string
	Environments   string // "" when the client names none, which is not the empty list
	MCPServers     string
	// Evaluated tells whether MCPServers was looked into. If not, it counts for nothing.
	Evaluated    bool
	Plugins      Plugins
	DynamicTools string // of an empty catalogue that of the empty list
}

// Plugins are the host's plugins.
type Plugins struct {
	Enabled     bool
	Input       string   // the fingerprint of what is set up
	EnabledKeys []string // of the plugins that are on
	// Config is what the apps come to, once it was built; Failed, that it could not be.
	Config *apps.Config
	Failed bool
}
