package turns

import (
	"strings"

	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/lifecycle/binding"
	"codex-bridge.example/rpc"
)

const openAI = "openai"

// codexProvider returns the name of a model provider in the spelling that Codex knows.
func codexProvider(name string) string {
	if strings.EqualFold(strings.TrimSpace(name), openAI) {
		return openAI
	}
	return name
}

// nextSandbox returns the sandbox mode with which the next turn of a bound thread starts; "" if the
// thread keeps its own.
func nextSandbox(b binding.Binding) string {
	if b.KeepsSandbox {
		return ""
	}
	return b.Sandbox
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
