package session

import (
	"codex-bridge/lifecycle/binding"
)

// Result is what a client is told of its session in the answer to thread/start.
type Result struct {
	Action       string         `json:"action"` // started or resumed
	Rotated      bool           `json:"rotated,omitempty"`
	Transient    bool           `json:"transient,omitempty"`
	Reason       binding.Reason `json:"reason,omitempty"`
	Fingerprints Fingerprints   `json:"fingerprints"`
}

// Fingerprints are what the thread was started, or gone on, with.
type Fingerprints struct {
	DynamicTools   string `json:"dynamicTools,omitempty"`
	UserMCPServers string `json:"userMcpServers,omitempty"`
	MCPServers     string `json:"mcpServers,omitempty"`
	PluginApps     string `json:"pluginApps,omitempty"`
	ContextEngine  string `json:"contextEngine,omitempty"`
	Environments   string `json:"environments,omitempty"`
}

// Told is the result of a decision that was acted on, with the binding of the thread.
func Told(d binding.Decision, b binding.Binding) Result {
	r := Result{
		Action: "started", Rotated: d.Action == binding.ActionRotate, Transient: d.Action == binding.ActionTransient, Reason: d.Reason,
		Fingerprints: FingerprintsOf(b),
	}
	if d.Action == binding.ActionResume {
		r.Action = "resumed"
	}
	if d.Reason == binding.ReasonUnchanged {
		r.Reason = ""
	}
	return r
}

// FingerprintsOf are the fingerprints of a binding, as they are shown.
func FingerprintsOf(b binding.Binding) Fingerprints {
	f := Fingerprints{
		DynamicTools: binding.ShortFingerprint(b.DynamicTools), UserMCPServers: binding.ShortFingerprint(b.UserMCPServers),
		MCPServers: binding.ShortFingerprint(b.MCPServers), PluginApps: binding.ShortFingerprint(b.PluginApps), Environments: binding.ShortFingerprint(b.Environments),
	}
	if b.ContextEngine != nil {
		f.ContextEngine = binding.ShortFingerprint(b.ContextEngine.Policy)
	}
	return f
}
