package policy

import (
	"strings"

	"codex-bridge/rpc"
)

// elicitation holds an answer to a server's question: a consent is given once.
func (a *answer) elicitation() {
	result := a.m.Result
	if result.Kind() != rpc.Object {
		a.replace([]byte(`{"action":"decline"}`), "the answer is "+result.Kind().String()+", not an object")
		return
	}
	if v := result.Get("action"); !v.Is("accept") && !v.Is("decline") && !v.Is("cancel") {
		a.set(result, "action", "result.action", quote("decline"), ruleProtocol, show(v)+" is not accept, decline or cancel")
	}
	if !a.asked.Params.Get("_meta").Get("codex_approval_kind").Exists() {
		return
	}
	if a.st.ThreadRevoked && result.Get("action").Is("accept") {
		a.set(result, "action", "result.action", quote("decline"), ruleMode, unverifiedReason)
	}
	a.only("action", "content", "_meta")
	a.consent(result)
	meta := result.Get("_meta")
	switch {
	case nothing(meta):
	case meta.Kind() != rpc.Object:
		a.drop(result, "_meta", "result._meta", ruleProtocol, "it is "+meta.Kind().String()+", not an object")
	case meta.Get("persist").Exists():
		a.drop(meta, "persist", "result._meta.persist", ruleRemember, "codex would ask no more for this tool, whatever its arguments; a consent holds once")
	}
}

// consent keeps of the content what the question has fields for. Measured: the
// question for a tool has none, and yet the content {"mcp_tool_call_approval_CALL":
// "Allow and don't ask me again"} writes the tool into the user's configuration, as
// _meta.persist does.
func (a *answer) consent(result rpc.Value) {
	content := result.Get("content")
	switch {
	case nothing(content):
	case content.Kind() != rpc.Object:
		a.drop(result, "content", "result.content", ruleProtocol, "it is "+content.Kind().String()+", not an object")
	default:
		fields := a.asked.Params.Get("requestedSchema").Get("properties")
		for key := range content.Members() {
			if a.full() {
				return
			}
			if !fields.Get(key).Exists() || strings.HasPrefix(key, toolQuestion) {
				a.drop(content, key, "result.content."+key, ruleRemember, "the question has no such field, and codex reads a lasting consent from one")
			}
		}
	}
}
