package session

import (
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/decide"
	"codex-bridge/lifecycle/fingerprint"
)

// Result is what a client is told of its session in the answer to thread/start.
type Result struct {
	Action       string        `json:"action"` // started or resumed
	Rotated      bool          `json:"rotated,omitempty"`
	Transient    bool          `json:"transient,omitempty"`
	Reason       decide.Reason `json:"reason,omitempty"`
	Fingerprints Fingerprints  `json:"fingerprints"`
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
func Told(d decide.Decision, b binding.Binding) Result {
	r := Result{
		Action: "started", Rotated: d.Action == decide.Rotate, Transient: d.Action == decide.Transient, Reason: d.Reason,
		Fingerprints: FingerprintsOf(b),
	}
	if d.Action == decide.Resume {
		r.Action = "resumed"
	}
	if d.Reason == decide.Unchanged {
		r.Reason = ""
	}
	return r
}

// FingerprintsOf are the fingerprints of a binding, as they are shown.
func FingerprintsOf(b binding.Binding) Fingerprints {
	f := Fingerprints{
		DynamicTools: fingerprint.Brief(b.DynamicTools), UserMCPServers: fingerprint.Brief(b.UserMCPServers),
		MCPServers: fingerprint.Brief(b.MCPServers), PluginApps: fingerprint.Brief(b.PluginApps), Environments: fingerprint.Brief(b.Environments),
	}
	if b.ContextEngine != nil {
		f.ContextEngine = fingerprint.Brief(b.ContextEngine.Policy)
	}
	return f
}
