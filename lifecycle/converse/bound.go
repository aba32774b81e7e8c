package converse

import (
	"encoding/json"
	"strings"

	"codex-bridge/bridge/setting"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

const openAI = "openai"

// Bound holds the settings of a session's binding, with which each of its turns starts. For a field that
// is empty the thread keeps its setting.
type Bound struct {
	Binding binding.Binding
}

// Provider returns the spelling that Codex knows of a model provider's name.
func Provider(name string) string {
	if strings.EqualFold(strings.TrimSpace(name), openAI) {
		return openAI
	}
	return name
}

// Turn returns a turn in the bound thread.
func (b Bound) Turn(input []params.Item) params.Turn {
	return params.Turn{
		Thread: b.Binding.ThreadID, Input: input, Cwd: b.Binding.Cwd, Approval: b.Binding.ApprovalPolicy,
		Sandbox: b.Binding.Sandbox, Model: b.Binding.Model, ServiceTier: b.Binding.ServiceTier,
	}
}

// Start returns thread/start for a new thread in the place of the bound one.
func (b Bound) Start(o params.Options) (json.RawMessage, error) {
	asked, err := json.Marshal(start{
		b.Binding.Cwd, b.Binding.Model, Provider(b.Binding.ModelProvider), b.Binding.ApprovalPolicy, b.Binding.Sandbox, setting.ServiceTier(b.Binding.ServiceTier),
	})
	if err != nil {
		return nil, err
	}
	return params.ThreadStart(asked, o)
}

// start is the part of thread/start that a binding keeps.
type start struct {
	Cwd      string `json:"cwd,omitempty"`
	Model    string `json:"model,omitempty"`
	Provider string `json:"modelProvider,omitempty"`
	Approval string `json:"approvalPolicy,omitempty"`
	Sandbox  string `json:"sandbox,omitempty"`
	Tier     string `json:"serviceTier,omitempty"`
}

// Started returns the binding of a thread that was started: by is the binding that the
// thread has so far, asked are the parameters of thread/start, and result is Codex's
// answer. Policies and tier are those of asked; the policy judges them again with each
// turn.
func Started(by binding.Binding, asked, result rpc.Value) binding.Binding {
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
