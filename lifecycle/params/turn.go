package params

import (
	"encoding/json"
	"fmt"

	"codex-bridge/bridge/setting"
)

// Turn is a turn that the bridge starts by itself. What is "" or nil is left out.
type Turn struct {
	Thread       string
	Input        []Item
	Cwd          string
	Approval     string
	Reviewer     string
	Sandbox      string // a thread's mode
	Model        string
	ServiceTier  string
	Effort       string // see setting.Effort
	Trigger      Trigger
	Environments json.RawMessage
}

// Params is turn/start for the turn.
func (t Turn) Params() (json.RawMessage, error) {
	p := struct {
		Thread       string                 `json:"threadId"`
		Input        []Item                 `json:"input"`
		Cwd          string                 `json:"cwd,omitempty"`
		Approval     string                 `json:"approvalPolicy,omitempty"`
		Reviewer     string                 `json:"approvalsReviewer,omitempty"`
		Sandbox      *setting.SandboxPolicy `json:"sandboxPolicy,omitempty"`
		Model        string                 `json:"model,omitempty"`
		ServiceTier  string                 `json:"serviceTier,omitempty"`
		Effort       string                 `json:"effort,omitempty"`
		Mode         json.RawMessage        `json:"collaborationMode,omitempty"`
		Environments json.RawMessage        `json:"environments,omitempty"`
	}{
		Thread: t.Thread, Input: t.Input, Cwd: t.Cwd, Approval: setting.Approval(t.Approval), Reviewer: t.Reviewer, Model: t.Model,
		ServiceTier: setting.ServiceTier(t.ServiceTier), Effort: t.Effort, Environments: t.Environments,
	}
	if t.Thread == "" || len(t.Input) == 0 {
		return nil, fmt.Errorf("a turn needs a thread and an input")
	}
	if t.Sandbox != "" {
		s, err := setting.TurnSandbox(t.Sandbox, t.Cwd)
		if err != nil {
			return nil, err
		}
		p.Sandbox = &s
	}
	if t.Model != "" {
		mode, err := CollaborationMode(t.Trigger, Words{}, t.Model, t.Effort)
		if err != nil {
			return nil, err
		}
		p.Mode = mode
	}
	return encode(p)
}

// WithMode is a client's turn/start, less what it says to the bridge, with a mode unless
// it has one.
func WithMode(asked, mode json.RawMessage) (json.RawMessage, error) {
	p, err := read(asked)
	if err != nil {
		return nil, fmt.Errorf("turn/start: %w", err)
	}
	delete(p, "bridge")
	if own, ok := p["collaborationMode"]; mode != nil && (!ok || string(own) == "null") {
		p["collaborationMode"] = mode
	}
	return p.write()
}
