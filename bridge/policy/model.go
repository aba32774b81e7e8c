package policy

import (
	"slices"
	"strings"

	"codex-bridge/bridge/config"
	"codex-bridge/rpc"
)

const (
	ruleModels  = "policy.models"
	ruleEfforts = "policy.efforts"
)

// allowsModel: in a glob * is any run of characters but /, and a part ** any
// number of parts: "*" is not every model of every vendor, "**" is.
func (p *Policy) allowsModel(name string) bool {
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

func (c *call) model([]string) {
	v := c.params.Get("model")
	if nothing(v) {
		if c.row.configured && !c.modelGiven {
			c.modelLeftOut()
		}
		return
	}
	if to, ok := c.heldModel("params.model", v); ok {
		c.setField("model", to, ruleModels, show(v)+" is not in "+c.p.modelList())
	}
}

func (c *call) modelLeftOut() {
	switch d := c.st.Defaults; {
	case c.p.models == nil:
	case d == nil:
		c.needs = c.needs || c.row.starts
	case d.Model != "" && !c.p.allowsModel(d.Model):
		reason := "left out, it would be codex's own " + d.Model + ", which is not in " + c.p.modelList()
		if c.p.model == "" {
			c.noModel("params.model", reason)
			return
		}
		c.setField("model", quote(c.p.model), ruleModels, reason)
	}
	// No default in the configuration: codex chooses, and Verify looks at what.
}

// heldModel is what must take the place of a model; false when it may stay, or
// when the message was refused because nothing can.
func (c *call) heldModel(field string, v rpc.Value) (to []byte, replaced bool) {
	if c.p.models == nil {
		return nil, false
	}
	if name, ok := v.Text(); ok && c.p.allowsModel(name) {
		return nil, false
	}
	if c.p.model == "" {
		c.noModel(field, show(v)+" is not in "+c.p.modelList())
		return nil, false
	}
	return quote(c.p.model), true
}

func (c *call) noModel(field, reason string) {
	c.refuse(rpc.CodeRefused, field, ruleModels, reason, "choose one of those, or add a plain name to the list to be put in its place")
}

func (p *Policy) modelList() string { return ruleModels + " [" + strings.Join(p.models, ", ") + "]" }

func (p *Policy) effortList() string {
	return ruleEfforts + " [" + strings.Join(p.efforts, ", ") + "]"
}

func (c *call) effort([]string) {
	v := c.params.Get("effort")
	if to, ok := c.heldEffort(v); ok {
		c.setField("effort", to, ruleEfforts, show(v)+" is not in "+c.p.effortList())
	}
}

// heldEffort is what must take the place of an effort. null leaves the effort
// as it is.
func (c *call) heldEffort(v rpc.Value) (to []byte, replaced bool) {
	if nothing(v) || c.p.efforts == nil {
		return nil, false
	}
	if name, ok := v.Text(); ok && c.p.allowsEffort(name) {
		return nil, false
	}
	return quote(c.p.efforts[0]), true
}

// collaboration holds a collaborationMode, whose model and effort win over the
// fields of the same message (measured). Measured, too: codex takes arrays for
// both objects, and {"plan": null} for the mode; so the exact shape, or nothing.
func (c *call) collaboration([]string) {
	const field = "collaborationMode"
	v := c.params.Get(field)
	if nothing(v) {
		return
	}
	settings := v.Get("settings")
	if v.Len() != 2 || v.Get("mode").Kind() != rpc.String || settings.Kind() != rpc.Object || !isSettings(settings) {
		c.dropField(field, ruleModels, "it is not {mode, settings: {model, reasoning_effort?, developer_instructions?}}")
		return
	}
	model, effort := settings.Get("model"), settings.Get("reasoning_effort")
	if to, ok := c.heldModel("params.collaborationMode.settings.model", model); ok {
		c.set(settings, "model", field+".settings.model", to, ruleModels, show(model)+" is not in "+c.p.modelList())
	}
	if to, ok := c.heldEffort(effort); ok {
		c.set(settings, "reasoning_effort", field+".settings.reasoning_effort", to, ruleEfforts, show(effort)+" is not in "+c.p.effortList())
	}
}

func isSettings(v rpc.Value) bool {
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
