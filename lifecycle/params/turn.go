package params

import (
	"cmp"
	"encoding/json"
	"fmt"

	"codex-bridge/bridge/setting"
)

// Turn is a turn that the bridge starts by itself. "" and nil are omitted.
type Turn struct {
	Thread      string
	Input       []Item
	Cwd         string
	Approval    string
	Sandbox     string // a thread's mode
	Model       string
	ServiceTier string
	Effort      string // see setting.Effort
	// Standing is the effort that the thread has. The mode of the turn repeats it where
	// Effort is empty, or Codex would go back to the model's usual effort (measured).
	Standing     string
	Trigger      Trigger
	Instructions TriggerInstructions
}

// Params returns turn/start for the turn. A turn of a known model carries a mode, since the
// mode of an earlier turn would come before the turn's own model and effort (measured).
func (t Turn) Params() (json.RawMessage, error) {
	p := struct {
		Thread      string                 `json:"threadId"`
		Input       []Item                 `json:"input"`
		Cwd         string                 `json:"cwd,omitempty"`
		Approval    string                 `json:"approvalPolicy,omitempty"`
		Sandbox     *setting.SandboxPolicy `json:"sandboxPolicy,omitempty"`
		Model       string                 `json:"model,omitempty"`
		ServiceTier string                 `json:"serviceTier,omitempty"`
		Effort      string                 `json:"effort,omitempty"`
		Mode        json.RawMessage        `json:"collaborationMode,omitempty"`
		Bridge      *bridge                `json:"bridge,omitempty"`
	}{
		Thread: t.Thread, Input: t.Input, Cwd: t.Cwd, Approval: setting.Approval(t.Approval), Model: t.Model,
		ServiceTier: setting.ServiceTier(t.ServiceTier), Effort: t.Effort,
	}
	if t.Thread == "" || len(t.Input) == 0 {
		return nil, fmt.Errorf("a turn needs a thread and an input")
	}
	if t.Trigger != "" {
		p.Bridge = &bridge{t.Trigger}
	}
	if t.Sandbox != "" {
		s, err := setting.TurnSandbox(t.Sandbox, t.Cwd)
		if err != nil {
			return nil, err
		}
		p.Sandbox = &s
	}
	if t.Model != "" {
		mode, err := CollaborationMode(t.Trigger, t.Instructions, t.Model, cmp.Or(t.Effort, t.Standing))
		if err != nil {
			return nil, err
		}
		p.Mode = mode
	}
	return encode(p)
}

// bridge is the field of turn/start for the bridge itself: see package threads.
type bridge struct {
	Trigger Trigger `json:"trigger"`
}

// WithMode is a client's turn/start, less what it says to the bridge, with a mode unless
// it has one.
func WithMode(asked, mode json.RawMessage) (json.RawMessage, error) {
	p, err := readObject(asked)
	if err != nil {
		return nil, fmt.Errorf("turn/start: %w", err)
	}
	delete(p, "bridge")
	if own, ok := p["collaborationMode"]; mode != nil && (!ok || string(own) == "null") {
		p["collaborationMode"] = mode
	}
	return p.write()
}
