package policy

import (
	"fmt"

	"codex-bridge/rpc"
)

// Model is a model, and how much it is to think.
type Model struct{ Name, Effort string }

// AllowsModel tells whether a model may be used.
func (p *Policy) AllowsModel(name string) bool { return p.allowsModel(name) }

// DecideModel says what takes the place of the model and the effort with which the bridge
// itself is about to do what it was asked for by method.
func (p *Policy) DecideModel(method string, m Model) (Model, Decision) {
	d := Decision{Verdict: Pass}
	change := func(field, rule, list, from, to string) {
		d.Verdict = Rewrite
		d.Changes = append(d.Changes, Change{
			Field: "params." + field, Rule: rule, Reason: fmt.Sprintf("%q is not in %s", from, list), Origin: p.origin(rule),
			From: quote(from), To: quote(to),
		})
	}
	if from := m.Name; !p.allowsModel(from) {
		if p.model == "" {
			return Model{}, Decision{Verdict: Deny, Err: NewRefusalError(rpc.CodeRefused, Refusal{
				Method: method, Field: "params.model", Rule: ruleModels, Reason: fmt.Sprintf("%q is not in %s", from, p.modelList()),
				Origin: p.place(ruleModels), Hint: "choose one of those, or add a plain name to the list to be put in its place",
			})}
		}
		m.Name = p.model
		change("model", ruleModels, p.modelList(), from, m.Name)
	}
	if from := m.Effort; !p.allowsEffort(from) {
		m.Effort = p.efforts[0]
		change("effort", ruleEfforts, p.effortList(), from, m.Effort)
	}
	return m, d
}
