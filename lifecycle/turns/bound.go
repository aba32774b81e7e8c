package turns

import (
	"encoding/json"
	"strings"

	"codex-bridge/bridge/setting"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

const openAI = "openai"

// bound holds the settings with which each turn of a session starts. For an empty field the
// thread keeps its setting.
type bound struct {
	Binding binding.Binding
}

// codexProvider returns the name of a model provider in the spelling that Codex knows.
func codexProvider(name string) string {
	if strings.EqualFold(strings.TrimSpace(name), openAI) {
		return openAI
	}
	return name
}

// Turn returns a turn in the bound thread.
func (b bound) Turn(input []params.Item) params.Turn {
	return params.Turn{
		Thread: b.Binding.ThreadID, Input: input, Cwd: b.Binding.Cwd, Approval: b.Binding.ApprovalPolicy,
		Sandbox: b.sandbox(), Model: b.Binding.Model, ServiceTier: b.Binding.ServiceTier,
	}
}

// sandbox returns the sandbox mode with which the thread's next turn starts; "" if the thread keeps
// its own.
func (b bound) sandbox() string {
	if b.Binding.KeepsSandbox {
		return ""
	}
	return b.Binding.Sandbox
}

// Start returns the parameters of thread/start for a new thread that replaces the bound one.
func (b bound) Start(o params.Options) (json.RawMessage, error) {
	asked, err := json.Marshal(threadStart{
		b.Binding.Cwd, b.Binding.Model, codexProvider(b.Binding.ModelProvider), b.Binding.ApprovalPolicy, b.Binding.Sandbox, setting.ServiceTier(b.Binding.ServiceTier),
	})
	if err != nil {
		return nil, err
	}
	return params.ThreadStart(asked, o)
}

// threadStart is the part of thread/start that a binding keeps.
type threadStart struct {
	Cwd      string `json:"cwd,omitempty"`
	Model    string `json:"model,omitempty"`
	Provider string `json:"modelProvider,omitempty"`
	Approval string `json:"approvalPolicy,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
	Tier     string `json:"serviceTier,omitempty"`
}

// startedBinding returns the binding of a started thread. by is its previous binding, asked the
// parameters of thread/start, and result Codex's response. Approval policy, sandbox and tier come
// from asked; the policy judges them again with each turn.
func startedBinding(by binding.Binding, asked, result rpc.Value) binding.Binding {
	read := func(from rpc.Value, name string, to *string) {
		if text, ok := from.Get(name).Text(); ok && text != "" {
			*to = text
		}
	}
	read(result, "cwd", &by.Cwd)
	read(result, "model", &by.Model)
	read(result, "modelProvider", &by.ModelProvider)
	var approval, sandbox string
	read(asked, "approvalPolicy", &approval)
	read(asked, "sandbox", &sandbox)
	read(asked, "serviceTier", &by.ServiceTier)
	if approval = setting.Approval(approval); setting.IsApproval(approval) {
		by.ApprovalPolicy = approval
	}
	if setting.IsSandbox(sandbox) {
		by.Sandbox = sandbox
	}
	by.ServiceTier = setting.ServiceTier(by.ServiceTier)
	return by
}
