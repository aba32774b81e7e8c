package converse

import (
	"cmp"
	"encoding/json"
	"strings"

	"codex-bridge/bridge/preset"
	"codex-bridge/bridge/setting"
	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/params"
	"codex-bridge/rpc"
)

const openAI = "openai"

// Bound is what the turns of a session are started with: what its binding says, and what
// is in force today for what it does not.
type Bound struct {
	Binding binding.Binding
	Today   preset.Result
	// Touched tells that somebody has said how freely commands may be run: what is in
	// force today then holds, whatever was bound.
	Touched bool
	// Native tells that Codex signs in to the account by itself.
	Native bool
}

func (b Bound) approval() string { return b.over(b.Binding.ApprovalPolicy, b.Today.Approval) }

func (b Bound) sandbox() string { return b.over(b.Binding.Sandbox, b.Today.Sandbox) }

func (b Bound) over(bound, today string) string {
	if b.Touched {
		return today
	}
	return cmp.Or(bound, today)
}

func (b Bound) tier() string {
	return setting.ServiceTier(cmp.Or(b.Binding.ServiceTier, b.Today.ServiceTier))
}

// Turn is a turn in the bound thread.
func (b Bound) Turn(input []params.Item) params.Turn {
	return params.Turn{
		Thread: b.Binding.ThreadID, Input: input, Cwd: b.Binding.Cwd, Approval: b.approval(), Reviewer: b.Today.Reviewer,
		Sandbox: b.sandbox(), Model: b.Binding.Model, ServiceTier: b.tier(),
	}
}

// Start is thread/start for a new thread in the place of the bound one.
func (b Bound) Start(o params.Options) (json.RawMessage, error) {
	o.Native = b.Native
	provider := b.Binding.ModelProvider
	if strings.EqualFold(strings.TrimSpace(provider), openAI) {
		provider = openAI // it is known by that spelling
	}
	asked, err := json.Marshal(struct {
		Cwd      string `json:"cwd,omitempty"`
		Model    string `json:"model,omitempty"`
		Provider string `json:"modelProvider,omitempty"`
		Approval string `json:"approvalPolicy,omitempty"`
		Reviewer string `json:"approvalsReviewer,omitempty"`
		Sandbox  string `json:"sandbox,omitempty"`
		Tier     string `json:"serviceTier,omitempty"`
	}{b.Binding.Cwd, b.Binding.Model, provider, b.approval(), b.Today.Reviewer, b.sandbox(), b.tier()})
	if err != nil {
		return nil, err
	}
	return params.Start(asked, o)
}

// Started is the binding of a thread that was started with Start, by Codex's answer.
func (b Bound) Started(result rpc.Value) binding.Binding {
	next := b.Binding
	next.ThreadID, _ = result.Get("thread").Get("id").Text()
	for name, to := range map[string]*string{"cwd": &next.Cwd, "model": &next.Model, "modelProvider": &next.ModelProvider} {
		if text, ok := result.Get(name).Text(); ok && text != "" {
			*to = text
		}
	}
	next.ModelProvider = setting.BoundProvider(next.ModelProvider, b.Native)
	next.ApprovalPolicy, next.Sandbox, next.ServiceTier = b.approval(), b.sandbox(), b.tier()
	return next
}
