package binding

import "strings"

// schemaVersion is the version of the record.
const schemaVersion = 1

// Binding records a conversation's thread. In every field "" means unknown. Fingerprints are of this
// package or of another implementation.
type Binding struct {
	SessionFile    string `json:"sessionFile"`
	ThreadID       string `json:"threadId"`
	Cwd            string `json:"cwd"`
	AuthProfile    string `json:"authProfileId,omitempty"`
	Model          string `json:"model,omitempty"`
	ModelProvider  string `json:"modelProvider,omitempty"`
	ApprovalPolicy string `json:"approvalPolicy,omitempty"`
	Sandbox        string `json:"sandbox,omitempty"`
	// KeepsSandbox reports that turns leave the thread's sandbox as it is: a client has set one that
	// Sandbox does not describe in full.
	KeepsSandbox                bool           `json:"keepsSandbox,omitempty"`
	ServiceTier                 string         `json:"serviceTier,omitempty"`
	Replacement                 Replacement    `json:"replacement,omitempty"`
	DynamicTools                string         `json:"dynamicToolsFingerprint,omitempty"`
	DynamicToolsContainDeferred bool           `json:"dynamicToolsContainDeferred,omitempty"`
	UserMCPServers              string         `json:"userMcpServersFingerprint,omitempty"`
	MCPServers                  string         `json:"mcpServersFingerprint,omitempty"` // as evaluated by the host
	HookGeneration              string         `json:"nativeHookRelayGeneration,omitempty"`
	PluginApps                  string         `json:"pluginAppsFingerprint,omitempty"`
	PluginAppsInput             string         `json:"pluginAppsInputFingerprint,omitempty"`
	PluginPolicy                *PluginPolicy  `json:"pluginAppPolicyContext,omitempty"`
	ContextEngine               *ContextEngine `json:"contextEngine,omitempty"`
	Environments                string         `json:"environmentSelectionFingerprint,omitempty"`
	CreatedAt                   string         `json:"createdAt"` // as it was written
	UpdatedAt                   string         `json:"updatedAt"`
}

// Bound reports whether there is a thread.
func (b Binding) Bound() bool { return b.ThreadID != "" }

// IsOf reports whether the binding has that thread.
func (b Binding) IsOf(thread string) bool { return b.Bound() && b.ThreadID == thread }

// ContextEngine identifies the engine that built the thread's context.
type ContextEngine struct {
	EngineID   string      `json:"engineId"`
	Policy     string      `json:"policyFingerprint"`
	Projection *Projection `json:"projection,omitempty"`
}

// threadBootstrap is the only mode of a projection: a new thread gets the conversation so far.
const threadBootstrap = "thread_bootstrap"

// Projection identifies the part of the conversation that the thread was given.
type Projection struct {
	Epoch       string `json:"epoch"`
	Fingerprint string `json:"fingerprint,omitempty"`
}

// PluginPolicy lists the plugin apps of the thread and their permissions.
type PluginPolicy struct {
	Fingerprint string               `json:"fingerprint"`
	Apps        map[string]PluginApp `json:"apps"`         // by the app's id
	AppIDs      map[string][]string  `json:"pluginAppIds"` // by the plugin's key in the configuration
}

// PluginApp is one app of a plugin.
type PluginApp struct {
	ConfigKey               string   `json:"configKey"`
	Marketplace             string   `json:"marketplaceName"`
	Plugin                  string   `json:"pluginName"`
	AllowDestructiveActions bool     `json:"allowDestructiveActions"`
	MCPServers              []string `json:"mcpServerNames"`
}

// suffix is appended to a conversation's file to name the binding's file.
const suffix = ".codex-app-server.json"

// Path returns the file of the binding for the conversation in sessionFile.
func Path(sessionFile string) string { return sessionFile + suffix }

func blank(text string) bool { return strings.TrimSpace(text) == "" }
