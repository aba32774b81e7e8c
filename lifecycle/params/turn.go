package params

import (
	"cmp"
	"encoding/json"
	"fmt"

	"codex-bridge.example/bridge/setting"
)

// Turn is a turn that the bridge starts. Empty fields are omitted.
type Turn struct {
	Thread      string
	Input       []Item
	Cwd         string
	Approval    string
	Sandbox     string // a thread's mode
	Excluded    setting.Excluded
	Model       string
	ServiceTier string
	ClearsTier  bool   // the thread's tier is taken back; then ServiceTier is empty
	Effort      string // see setting.Effort
	// ThreadEffort is the current effort of the thread. The turn's mode repeats it if Effort is
	// empty. Measured: otherwise Codex returns to the model's default effort.
	ThreadEffort string
	Trigger      Trigger
	Instructions TriggerInstructions
}

// Params returns the parameters of turn/start. A turn with a model has a mode. Measured: the mode of
// an earlier turn would otherwise override the turn's model and effort.
func (t Turn) Params() (json.RawMessage, error) {
	p := struct {
		Thread      string                 `json:"threadId"`
		Input       []Item                 `json:"input"`
		Cwd         string                 `json:"cwd,omitempty"`
		Approval    string                 `json:"approvalPolicy,omitempty"`
		Sandbox     *setting.SandboxPolicy `json:"sandboxPolicy,omitempty"`
		Model       string                 `json:"model,omitempty"`
		ServiceTier any                    `json:"serviceTier,omitempty"`
		Effort      string                 `json:"effort,omitempty"`
		Mode        json.RawMessage        `json:"collaborationMode,omitempty"`
		Bridge      *bridge                `json:"bridge,omitempty"`
	}{
		Thread: t.Thread, Input: t.Input, Cwd: t.Cwd, Approval: setting.Approval(t.Approval), Model: t.Model,
		Effort: t.Effort,
	}
	switch tier := setting.ServiceTier(t.ServiceTier); {
	case tier != "":
		p.ServiceTier = tier
	case t.ClearsTier:
		p.ServiceTier = json.RawMessage("null")
	}
	if t.Thread == "" || len(t.Input) == 0 {
		return nil, fmt.Errorf("a turn needs a thread and an input")
	}
	if t.Trigger != "" {
		p.Bridge = &bridge{t.Trigger}
	}
	if t.Sandbox != "" {
		s, err := setting.TurnSandbox(t.Sandbox, t.Cwd, t.Excluded)
		if err != nil {
			return nil, err
		}
		p.Sandbox = &s
	}
	if t.Model != "" {
		mode, err := CollaborationMode(t.Trigger, t.Instructions, t.Model, cmp.Or(t.Effort, t.ThreadEffort))
		if err != nil {
			return nil, err
		}
		p.Mode = mode
	}
	return Encode(p)
}

// bridge is the member bridge of turn/start, which package threads reads.
type bridge struct {
	Trigger Trigger `json:"trigger"`
}

// WithMode returns a client's turn/start without the member bridge, and with mode unless it has one.
func WithMode(request, mode json.RawMessage) (json.RawMessage, error) {
	p, err := readObject(request)
	if err != nil {
		return nil, fmt.Errorf("turn/start: %w", err)
	}
	delete(p, "bridge")
	if own, ok := p["collaborationMode"]; mode != nil && (!ok || string(own) == "null") {
		p["collaborationMode"] = mode
	}
	return p.write()
}
