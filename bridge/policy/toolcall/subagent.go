package toolcall

import (
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// SpawnsAgent reports whether a tool call of that name starts an agent. Measured with Codex 0.169:
// a hook gets the name with a namespace in front, which the user's configuration may change.
func SpawnsAgent(name string) bool { return hasToolName(name, "spawn_agent") }

// ResumesAgent reports whether a tool call of that name resumes an agent.
func ResumesAgent(name string) bool { return hasToolName(name, "resume_agent") }

func hasToolName(name, tool string) bool {
	return strings.HasSuffix(name, tool) && !strings.HasPrefix(name, "mcp__")
}

// checkCallerModel checks the model that makes a call. A thread's model is checked at its opening
// and in each turn, but internal work of Codex has other models. Measured with Codex 0.169: the
// agent that writes memories uses neither the thread's model nor the configuration's.
func checkCallerModel(p *policy.Policy, t Call) *rpc.Error {
	if t.Model == "" || p.AllowsModel(t.Model) {
		return nil
	}
	return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
		Method: "hook/preToolUse", Field: "model", Rule: policy.RuleModels, Origin: p.OriginOrDefault(policy.RuleModels),
		Reason: "the call is made by " + string(policy.JSONString(t.Model)) + ", which is not in " + p.ModelList(), Hint: "name an allowed model for this work in Codex's configuration, or add this one to policy.models",
	})
}

// LimitsAgents reports whether Decide needs State.Agent.
func LimitsAgents(p *policy.Policy) bool { return p.LimitsModels() || p.LimitsEfforts() }

// checkSubagent checks the model and the effort of an agent that the call starts. Measured with
// Codex 0.169: the agent has the turn's sandbox, approvals and hooks, regardless of its role.
func checkSubagent(p *policy.Policy, t Call, st policy.State) *rpc.Error {
	spawns := SpawnsAgent(t.Name)
	if !spawns && !ResumesAgent(t.Name) || !LimitsAgents(p) {
		return nil
	}
	refuse := func(field, rule, reason, hint string) *rpc.Error {
		return policy.NewRefusalError(rpc.CodeRefused, policy.Refusal{
			Method: "hook/preToolUse", Field: field, Rule: rule, Origin: p.OriginOrDefault(rule), Reason: reason, Hint: hint,
		})
	}
	if st.Agent == nil || st.Agent.UnknownReason != "" {
		reason := "the agent's model is unknown"
		if st.Agent != nil {
			reason += ": " + st.Agent.UnknownReason
		}
		return refuse("tool_input", policy.RuleModels, reason, "continue without that agent")
	}
	models, efforts := settingsOfAgent(st.Agent.Models), settingsOfAgent(st.Agent.Efforts)
	if spawns {
		models, efforts = withCallSetting(models, t.Input.Get("model")), withCallSetting(efforts, t.Input.Get("reasoning_effort"))
	}
	for _, one := range models {
		if p.LimitsModels() && !(one.plain && p.AllowsModel(one.name)) {
			return refuse("tool_input.model", policy.RuleModels, one.shown+" is not in "+p.ModelList(), "omit the model, or choose an allowed one")
		}
	}
	for _, one := range efforts {
		if p.LimitsEfforts() && !(one.plain && p.AllowsEffort(one.name)) {
			return refuse("tool_input.reasoning_effort", policy.RuleEfforts, one.shown+" is not in "+p.EffortList(), "choose an allowed value")
		}
	}
	if p.LimitsEfforts() && len(models) > 0 && len(efforts) == 0 {
		// Measured with Codex 0.169: a named model brings its own effort.
		return refuse("tool_input.reasoning_effort", policy.RuleEfforts, "without an effort, the model would use its own", "name one of "+p.EffortList())
	}
	return nil
}

// agentSetting is a model or an effort of an agent.
type agentSetting struct {
	name, shown string
	plain       bool // it is a string
}

func settingsOfAgent(names []string) (out []agentSetting) {
	for _, name := range names {
		out = append(out, agentSetting{name, "the agent's " + string(policy.JSONString(name)), true})
	}
	return out
}

func withCallSetting(out []agentSetting, v rpc.Value) []agentSetting {
	if policy.IsUnset(v) {
		return out
	}
	name, plain := v.Text()
	return append(out, agentSetting{name, policy.FormatValue(v), plain})
}
