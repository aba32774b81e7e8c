package threads

import (
	"codex-bridge.example/lifecycle/binding"
)

// sessionResult is the member bridge of the response to thread/start.
type sessionResult struct {
	Action       string         `json:"action"` // started or resumed
	Rotated      bool           `json:"rotated,omitempty"`
	Transient    bool           `json:"transient,omitempty"`
	Reason       binding.Reason `json:"reason,omitempty"`
	Fingerprints Fingerprints   `json:"fingerprints"`
}

// Fingerprints identify what the thread was started or resumed with.
type Fingerprints struct {
	DynamicTools   string `json:"dynamicTools,omitempty"`
	UserMCPServers string `json:"userMcpServers,omitempty"`
	MCPServers     string `json:"mcpServers,omitempty"`
	PluginApps     string `json:"pluginApps,omitempty"`
	ContextEngine  string `json:"contextEngine,omitempty"`
	Environments   string `json:"environments,omitempty"`
}

// newSessionResult returns the result for a decision that was carried out, and the new binding.
func newSessionResult(d binding.Decision, b binding.Binding) sessionResult {
	r := sessionResult{
		Action: "started", Rotated: d.Action == binding.ActionRotate, Transient: d.Action == binding.ActionTransient, Reason: d.Reason,
		Fingerprints: newFingerprints(b),
	}
	if d.Action == binding.ActionResume {
		r.Action = "resumed"
	}
	if d.Reason == binding.ReasonUnchanged {
		r.Reason = ""
	}
	return r
}

// newFingerprints returns the fingerprints of a binding, for display.
func newFingerprints(b binding.Binding) Fingerprints {
	f := Fingerprints{
		DynamicTools: binding.ShortFingerprint(b.DynamicTools), UserMCPServers: binding.ShortFingerprint(b.UserMCPServers),
		MCPServers: binding.ShortFingerprint(b.MCPServers), PluginApps: binding.ShortFingerprint(b.PluginApps), Environments: binding.ShortFingerprint(b.Environments),
	}
	if b.ContextEngine != nil {
		f.ContextEngine = binding.ShortFingerprint(b.ContextEngine.Policy)
	}
	return f
}
