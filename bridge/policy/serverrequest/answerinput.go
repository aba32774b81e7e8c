package serverrequest

import (
	"slices"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// toolQuestionPrefix begins the id of a question whether an MCP server's tool may run. Measured
// with Codex 0.169: without its feature tool_call_mcp_elicitation, Codex asks this like one of the
// model's own questions.
const toolQuestionPrefix = "mcp_tool_call_approval"

// These are the answers to such a question. Measured with Codex 0.169: Codex never offers the last
// of allowLasting, but accepts it and writes the tool into the user's configuration.
const (
	allowOnce  = "Allow"
	cancelTool = "Cancel"
)

var allowLasting = []string{"Allow for this session", "Allow and don't ask me again"}

// LastsLonger reports whether an answer to such a question gives consent for longer than one call.
func LastsLonger(answer string) bool { return slices.Contains(allowLasting, answer) }

// isModelQuestion reports whether the model asks a question of item/tool/requestUserInput, and not Codex itself. The
// model chooses all of its question, also the id.
//
// Measured with Codex 0.169 and 0.171: each question of the model has isOther true, whatever the model states, and
// Codex's own questions have isOther false.
func isModelQuestion(question rpc.Value) bool {
	other, _ := question.Get("isOther").Bool()
	return other
}

// IsToolQuestion reports whether a question of item/tool/requestUserInput is Codex's whether an MCP server's tool may
// run.
func IsToolQuestion(question rpc.Value) bool {
	id, _ := question.Get("id").Text()
	return hasToolID(id) && !isModelQuestion(question)
}

func hasToolID(id string) bool { return strings.HasPrefix(id, toolQuestionPrefix) }

// asksForTool reports whether item/tool/requestUserInput asks for consent to a tool call.
func asksForTool(params rpc.Value) bool {
	for q := range params.Get("questions").Elements() {
		if IsToolQuestion(q) {
			return true
		}
	}
	return false
}

// installQuestionID is the id of the question whether Codex may add a skill's MCP servers to the
// user's configuration and start them. declineInstall is the negative answer.
const (
	installQuestionID = "skill_mcp_dependency_install"
	declineInstall    = "Continue anyway"
)

// asksToInstall reports whether item/tool/requestUserInput has Codex's question installQuestionID.
func asksToInstall(params rpc.Value) bool {
	for q := range params.Get("questions").Elements() {
		if q.Get("id").Is(installQuestionID) && !isModelQuestion(q) {
			return true
		}
	}
	return false
}

// decideInstall replaces every answer but declineInstall, unless policy.config_keys lifts the pin.
func (a *answerDecider) decideInstall(answers rpc.Value, v rpc.Value) {
	if reason := a.p.PinReason(installQuestionID); reason != "" {
		no := []byte(`{"answers":["` + declineInstall + `"]}`)
		if list := v.Get("answers"); v.Len() == 1 && list.Len() == 1 {
			for e := range list.Elements() {
				if e.Is(declineInstall) {
					return
				}
			}
		}
		a.set(answers, installQuestionID, "result.answers."+installQuestionID, no, policy.RuleKeys, reason)
	}
}

// decideUserInput checks the answers that give consent. Other answers pass unchanged.
func (a *answerDecider) decideUserInput() {
	result := a.m.Result
	answers := result.Get("answers")
	if answers.Kind() != rpc.Object {
		a.replace([]byte(`{"answers":{}}`), "the response has no answers: "+policy.FormatValue(result))
		return
	}
	for id, v := range answers.Members() {
		if hasToolID(id) && !a.isFull() {
			a.decideToolAnswer(answers, id, v)
		} else if id == installQuestionID {
			a.decideInstall(answers, v)
		}
	}
	a.dropUnknownMembers("answers")
}

// decideToolAnswer limits consent to one call. Measured with Codex 0.169: an empty list declines.
func (a *answerDecider) decideToolAnswer(answers rpc.Value, id string, v rpc.Value) {
	field := "result.answers." + id
	list := v.Get("answers")
	if v.Kind() != rpc.Object || v.Len() != 1 || list.Kind() != rpc.Array {
		a.set(answers, id, field, []byte(`{"answers":[]}`), policy.RuleProtocol, policy.FormatValue(v)+" is not an answer of Codex's schema")
		return
	}
	plain, lasting := true, false
	for e := range list.Elements() {
		word, _ := e.Text()
		lasts := LastsLonger(word)
		lasting = lasting || lasts
		plain = plain && (lasts || word == allowOnce || word == cancelTool && list.Len() == 1)
	}
	switch {
	case a.st.ThreadRevoked && list.Len() > 0:
		a.set(answers, id, field, []byte(`{"answers":[]}`), policy.RuleMode, policy.UnverifiedReason)
	case !plain:
		a.set(answers, id, field, []byte(`{"answers":[]}`), policy.RuleProtocol, policy.FormatValue(v)+" is not one of the offered answers")
	case lasting:
		a.set(answers, id, field, []byte(`{"answers":["`+allowOnce+`"]}`), ruleRemember, "Codex would not ask about this tool again, for any arguments; consent holds once")
	}
}

// decideElicitation checks the response to mcpServer/elicitation/request. Consent to a tool holds
// once.
func (a *answerDecider) decideElicitation() {
	result := a.m.Result
	if result.Kind() != rpc.Object {
		a.replace([]byte(`{"action":"decline"}`), "the answer is "+result.Kind().String()+", not an object")
		return
	}
	if v := result.Get("action"); !v.Is("accept") && !v.Is("decline") && !v.Is("cancel") {
		a.set(result, "action", "result.action", policy.JSONString("decline"), policy.RuleProtocol, policy.FormatValue(v)+" is not accept, decline or cancel")
	}
	if !a.request.Params.Get("_meta").Get("codex_approval_kind").Exists() {
		return
	}
	if a.st.ThreadRevoked && result.Get("action").Is("accept") {
		a.set(result, "action", "result.action", policy.JSONString("decline"), policy.RuleMode, policy.UnverifiedReason)
	}
	a.dropUnknownMembers("action", "content", "_meta")
	a.dropUnaskedContent(result)
	meta := result.Get("_meta")
	switch {
	case policy.IsUnset(meta):
	case meta.Kind() != rpc.Object:
		a.drop(result, "_meta", "result._meta", policy.RuleProtocol, "it is "+meta.Kind().String()+", not an object")
	case meta.Get("persist").Exists():
		a.drop(meta, "persist", "result._meta.persist", ruleRemember, "Codex would not ask about this tool again, for any arguments; consent holds once")
	}
}

// dropUnaskedContent removes content for which the question has no field.
//
// Measured with Codex 0.169: a question about a tool has no fields, but the content
// {"mcp_tool_call_approval_CALL": "Allow and don't ask me again"} writes the tool into the user's
// configuration, as _meta.persist does.
func (a *answerDecider) dropUnaskedContent(result rpc.Value) {
	content := result.Get("content")
	switch {
	case policy.IsUnset(content):
	case content.Kind() != rpc.Object:
		a.drop(result, "content", "result.content", policy.RuleProtocol, "it is "+content.Kind().String()+", not an object")
	default:
		fields := a.request.Params.Get("requestedSchema").Get("properties")
		for key := range content.Members() {
			if a.isFull() {
				return
			}
			if !fields.Get(key).Exists() || strings.HasPrefix(key, toolQuestionPrefix) {
				a.drop(content, key, "result.content."+key, ruleRemember, "the question has no such field, and Codex would read it as lasting consent")
			}
		}
	}
}
