package policy

import (
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

const (
	ruleModels  = "policy.models"
	ruleEfforts = "policy.efforts"
)

// AllowsModel reports whether policy.models allows the model. In a glob, * matches any characters
// except /, and ** any number of parts. So "**" allows all models, and "*" only those without a
// vendor.
func (p *Policy) AllowsModel(name string) bool {
	if p.models == nil {
		return true
	}
	for _, glob := range p.models {
		if config.Match(glob, name) {
			return true
		}
	}
	return false
}

func (p *Policy) allowsEffort(name string) bool {
	return p.efforts == nil || slices.Contains(p.efforts, name)
}

func (c *decider) decideModel([]string) {
	v := c.params.Get("model")
	if isUnset(v) {
		if c.spec.usesDefaults && !c.overlayNamesModel {
			c.decideOmittedModel()
		}
		return
	}
	if to, ok := c.replacementModel("params.model", v); ok {
		c.setField("model", to, ruleModels, formatValue(v)+" is not in "+c.p.modelList())
	}
}

func (c *decider) decideOmittedModel() {
	switch d := c.st.Defaults; {
	case c.p.models == nil:
	case d == nil:
		c.needsDefaults = c.needsDefaults || c.spec.startsThread
	case d.Model != "" && !c.p.AllowsModel(d.Model):
		reason := "if omitted, Codex would use its default " + d.Model + ", which is not in " + c.p.modelList()
		if c.p.model == "" {
			c.refuseModel("params.model", reason)
			return
		}
		c.setField("model", jsonString(c.p.model), ruleModels, reason)
	case d.Model == "" && c.spec.startsThread && c.p.model != "":
		// Measured with Codex 0.169 and 0.171: each release has another default model of its own.
		c.setField("model", jsonString(c.p.model), ruleModels, "if omitted, Codex would choose a model by itself, which may not be in "+c.p.modelList())
	}
	// With wildcards only, Codex chooses the model, and Verify checks it.
}

// replacementModel returns the model that replaces v; false if v may stay, or if the message is
// refused for lack of a replacement.
func (c *decider) replacementModel(field string, v rpc.Value) (to []byte, replaced bool) {
	if c.p.models == nil {
		return nil, false
	}
	if name, ok := v.Text(); ok && c.p.AllowsModel(name) {
		return nil, false
	}
	if c.p.model == "" {
		c.refuseModel(field, formatValue(v)+" is not in "+c.p.modelList())
		return nil, false
	}
	return jsonString(c.p.model), true
}

func (c *decider) refuseModel(field, reason string) {
	c.refuse(rpc.CodeRefused, field, ruleModels, reason, "choose an allowed model, or add a plain name to the list, which then replaces it")
}

func (p *Policy) modelList() string { return ruleModels + " [" + strings.Join(p.models, ", ") + "]" }

func (p *Policy) effortList() string {
	return ruleEfforts + " [" + strings.Join(p.efforts, ", ") + "]"
}

func (c *decider) decideEffort([]string) {
	v := c.params.Get("effort")
	if to, ok := c.replacementEffort(v); ok {
		c.setField("effort", to, ruleEfforts, formatValue(v)+" is not in "+c.p.effortList())
	}
}

// replacementEffort returns the effort that replaces v; false if v may stay. null keeps the
// thread's effort.
func (c *decider) replacementEffort(v rpc.Value) (to []byte, replaced bool) {
	if isUnset(v) || c.p.efforts == nil {
		return nil, false
	}
	if name, ok := v.Text(); ok && c.p.allowsEffort(name) {
		return nil, false
	}
	if len(c.p.efforts) == 0 {
		c.refuseEffort(formatValue(v) + " is not in " + c.p.effortList())
		return nil, false
	}
	return jsonString(c.p.efforts[0]), true
}

// refuseEffort refuses the message if no effort is allowed.
func (c *decider) refuseEffort(reason string) {
	c.refuse(rpc.CodeRefused, "params.effort", ruleEfforts, reason, noEfforts)
}

const noEfforts = "the configuration files have no common effort; change the list of one of them"

// decideCollaborationMode checks collaborationMode. Measured with Codex 0.169: its model and effort
// win over the fields of the same message, and Codex also reads arrays for both objects and
// {"plan": null} for the mode. So the bridge removes any other form.
func (c *decider) decideCollaborationMode([]string) {
	const field = "collaborationMode"
	v := c.params.Get(field)
	if isUnset(v) {
		return
	}
	settings := v.Get("settings")
	if v.Len() != 2 || v.Get("mode").Kind() != rpc.String || settings.Kind() != rpc.Object || !isCollaborationSettings(settings) {
		c.dropField(field, ruleModels, "it is not {mode, settings: {model, reasoning_effort?, developer_instructions?}}")
		return
	}
	model, effort := settings.Get("model"), settings.Get("reasoning_effort")
	if to, ok := c.replacementModel("params.collaborationMode.settings.model", model); ok {
		c.set(settings, "model", field+".settings.model", to, ruleModels, formatValue(model)+" is not in "+c.p.modelList())
	}
	if to, ok := c.replacementEffort(effort); ok {
		c.set(settings, "reasoning_effort", field+".settings.reasoning_effort", to, ruleEfforts, formatValue(effort)+" is not in "+c.p.effortList())
	}
}

func isCollaborationSettings(v rpc.Value) bool {
	for key, m := range v.Members() {
		switch key {
		case "model":
		case "reasoning_effort", "developer_instructions":
			if m.Kind() == rpc.Null {
				continue
			}
		default:
			return false
		}
		if m.Kind() != rpc.String {
			return false
		}
	}
	return v.Get("model").Exists()
}

// Model is a model and its reasoning effort.
type Model struct{ Name, Effort string }

// DecideModel returns the allowed model and effort for a request of the bridge itself. method names
// the client's request that caused it.
func (p *Policy) DecideModel(method string, m Model) (Model, Decision) {
	d := Decision{Verdict: Pass}
	change := func(field, rule, list, from, to string) {
		d.Verdict = Rewrite
		d.Changes = append(d.Changes, Change{
			Field: "params." + field, Rule: rule, Reason: fmt.Sprintf("%q is not in %s", from, list), Origin: p.ruleOrigin(rule),
			From: jsonString(from), To: jsonString(to),
		})
	}
	if from := m.Name; !p.AllowsModel(from) {
		if p.model == "" {
			return Model{}, Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
				Method: method, Field: "params.model", Rule: ruleModels, Reason: fmt.Sprintf("%q is not in %s", from, p.modelList()),
				Origin: p.originOrDefault(ruleModels), Hint: "choose an allowed model, or add a plain name to the list, which then replaces it",
			})}
		}
		m.Name = p.model
		change("model", ruleModels, p.modelList(), from, m.Name)
	}
	if from := m.Effort; !p.allowsEffort(from) {
		if len(p.efforts) == 0 {
			return Model{}, Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
				Method: method, Field: "params.effort", Rule: ruleEfforts, Reason: fmt.Sprintf("%q is not in %s", from, p.effortList()),
				Origin: p.originOrDefault(ruleEfforts), Hint: noEfforts,
			})}
		}
		m.Effort = p.efforts[0]
		change("effort", ruleEfforts, p.effortList(), from, m.Effort)
	}
	return m, d
}
