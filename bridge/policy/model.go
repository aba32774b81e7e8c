package policy

import (
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
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

// AllowsEffort reports whether the policy allows an effort.
func (p *Policy) AllowsEffort(name string) bool {
	return p.efforts == nil || slices.Contains(p.efforts, name)
}

func decideModel(c *request, overlayNamesModel bool) {
	v := c.params.Get("model")
	if IsUnset(v) {
		if c.spec.usesDefaults && !overlayNamesModel {
			c.decideOmittedModel()
		}
		return
	}
	if to, ok := c.replacementModel("params.model", v); ok {
		c.setField("model", to, RuleModels, FormatValue(v)+" is not in "+c.p.ModelList())
	}
}

func (c *request) decideOmittedModel() {
	reason := ""
	switch d := c.st.Defaults; {
	case c.p.models == nil:
		return
	case d == nil:
		c.wantIf(c.spec.startsThread, WantConfiguration)
		return
	case d.Model != "" && !c.p.AllowsModel(d.Model):
		reason = "if omitted, Codex would use its default " + d.Model + ", which is not in " + c.p.ModelList()
	case d.Model == "":
		// Measured: each release has another default model of its own, gpt-6.1-sol in Codex 0.169 and
		// gpt-6.2-sol in 0.171. A fork does not keep the thread's model.
		reason = "if omitted, Codex would choose a model by itself, which may not be in " + c.p.ModelList()
	default:
		return
	}
	if to, ok := c.chooseModel("params.model", reason); ok {
		c.setField("model", to, RuleModels, reason)
	}
}

// replacementModel returns the model that replaces v; false if v may stay, or if the message is
// refused for lack of a replacement.
func (c *request) replacementModel(field string, v rpc.Value) (to []byte, replaced bool) {
	if c.p.models == nil {
		return nil, false
	}
	if name, ok := v.Text(); ok && c.p.AllowsModel(name) {
		return nil, false
	}
	return c.chooseModel(field, FormatValue(v)+" is not in "+c.p.ModelList())
}

// chooseModel returns DefaultModel; false if the message is refused for lack of one.
//
// Measured with Codex 0.169 and 0.171: the default of the release is the first of the list, and newer
// models of a family come before older ones.
func (c *request) chooseModel(field, reason string) (to []byte, ok bool) {
	if name := c.p.DefaultModel(c.st.Models); name != "" {
		return JSONString(name), true
	}
	if c.st.Models == nil {
		c.want(WantModels)
	} else {
		reason += ", and no model that Codex lists is"
	}
	c.refuse(rpc.CodeRefused, field, RuleModels, reason, NameModel)
	return nil, false
}

// DefaultModel returns the model that replaces a forbidden one, and an omitted one if Codex would choose
// another: the first plain name of policy.models, or the first of Codex's list that it and the policies
// that decide together allow; "" if there is none.
func (p *Policy) DefaultModel(listed []string) string {
	if p.model != "" {
		return p.model
	}
	for _, name := range listed {
		if p.AllowsModel(name) && !slices.ContainsFunc(p.joint, func(q *Policy) bool { return !q.AllowsModel(name) }) {
			return name
		}
	}
	return ""
}

// NameModel is the hint for a model that the policy does not allow.
const NameModel = "name an allowed model in model, or add a plain name to the list, which then replaces it"

// ParseModels returns the names in the result of model/list, the default first. It returns an error
// for an unknown form.
func ParseModels(result rpc.Value) ([]string, error) {
	data := result.Get("data")
	if data.Kind() != rpc.Array {
		return nil, fmt.Errorf("model/list: data is %v", data.Kind())
	}
	names := []string{}
	for m := range data.Elements() {
		name, ok := m.Get("model").Text()
		if !ok {
			return nil, fmt.Errorf("model/list: model is %v", m.Get("model").Kind())
		}
		if standard, _ := m.Get("isDefault").Bool(); standard {
			names = append([]string{name}, names...)
			continue
		}
		names = append(names, name)
	}
	return names, nil
}

// ModelList returns policy.models for a message.
func (p *Policy) ModelList() string { return RuleModels + " [" + strings.Join(p.models, ", ") + "]" }

// EffortList returns policy.efforts for a message.
func (p *Policy) EffortList() string {
	return RuleEfforts + " [" + strings.Join(p.efforts, ", ") + "]"
}

func (c *request) decideEffort() {
	v := c.params.Get("effort")
	if to, ok := c.replacementEffort(v); ok {
		c.setField("effort", to, RuleEfforts, FormatValue(v)+" is not in "+c.p.EffortList())
	}
}

// replacementEffort returns the effort that replaces v; false if v may stay. null keeps the
// thread's effort.
func (c *request) replacementEffort(v rpc.Value) (to []byte, replaced bool) {
	if IsUnset(v) || c.p.efforts == nil {
		return nil, false
	}
	if name, ok := v.Text(); ok && c.p.AllowsEffort(name) {
		return nil, false
	}
	if len(c.p.efforts) == 0 {
		c.refuseEffort(FormatValue(v) + " is not in " + c.p.EffortList())
		return nil, false
	}
	return JSONString(c.p.efforts[0]), true
}

// refuseEffort refuses the message if no effort is allowed.
func (c *request) refuseEffort(reason string) {
	c.refuse(rpc.CodeRefused, "params.effort", RuleEfforts, reason, noEfforts)
}

const noEfforts = "the configuration files have no common effort; change the list of one of them"

// decideCollaborationMode checks collaborationMode. Measured with Codex 0.169: its model and effort
// win over the fields of the same message, and Codex also reads arrays for both objects and
// {"plan": null} for the mode. So the bridge removes any other form.
func (c *request) decideCollaborationMode() {
	const field = "collaborationMode"
	v := c.params.Get(field)
	if IsUnset(v) {
		return
	}
	settings := v.Get("settings")
	if v.Len() != 2 || v.Get("mode").Kind() != rpc.String || settings.Kind() != rpc.Object || !isCollaborationSettings(settings) {
		c.dropField(field, RuleModels, "it is not {mode, settings: {model, reasoning_effort?, developer_instructions?}}")
		return
	}
	model, effort := settings.Get("model"), settings.Get("reasoning_effort")
	if to, ok := c.replacementModel("params.collaborationMode.settings.model", model); ok {
		c.set(settings, "model", field+".settings.model", to, RuleModels, FormatValue(model)+" is not in "+c.p.ModelList())
	}
	if to, ok := c.replacementEffort(effort); ok {
		c.set(settings, "reasoning_effort", field+".settings.reasoning_effort", to, RuleEfforts, FormatValue(effort)+" is not in "+c.p.EffortList())
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
// the client's request that caused it. Without the bundle of [policy_source] there is none.
func (p *Policy) DecideModel(method string, m Model) (Model, Decision) {
	d := p.DecideWork(method)
	if d.Verdict == Deny {
		return Model{}, d
	}
	change := func(field, rule, list, from, to string) {
		d.Verdict = Rewrite
		d.Changes = append(d.Changes, Change{
			Field: "params." + field, Rule: rule, Reason: fmt.Sprintf("%q is not in %s", from, list), Origin: p.RuleOrigin(rule),
			From: JSONString(from), To: JSONString(to),
		})
	}
	if from := m.Name; !p.AllowsModel(from) {
		if p.model == "" {
			return Model{}, Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
				Method: method, Field: "params.model", Rule: RuleModels, Reason: fmt.Sprintf("%q is not in %s", from, p.ModelList()),
				Origin: p.OriginOrDefault(RuleModels), Hint: NameModel,
			})}
		}
		m.Name = p.model
		change("model", RuleModels, p.ModelList(), from, m.Name)
	}
	if from := m.Effort; !p.AllowsEffort(from) {
		if len(p.efforts) == 0 {
			return Model{}, Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
				Method: method, Field: "params.effort", Rule: RuleEfforts, Reason: fmt.Sprintf("%q is not in %s", from, p.EffortList()),
				Origin: p.OriginOrDefault(RuleEfforts), Hint: noEfforts,
			})}
		}
		m.Effort = p.efforts[0]
		change("effort", RuleEfforts, p.EffortList(), from, m.Effort)
	}
	return m, d
}
