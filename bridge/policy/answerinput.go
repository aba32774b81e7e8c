package policy

import (
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// toolQuestion begins the id of the question whether a tool of a server may run,
// which codex asks as it asks the model's own questions where its feature
// tool_call_mcp_elicitation is off (measured).
const toolQuestion = "mcp_tool_call_approval"

// What such a question is answered with. Measured: the last of the lasting ones is
// never offered, and writes the tool into the user's configuration.
const (
	allowOnce = "Allow"
	allowNot  = "Cancel"
)

var allowLasting = []string{"Allow for this session", "Allow and don't ask me again"}

// asksForTool tells whether a question to the user is the consent to a tool.
func asksForTool(params rpc.Value) bool {
	for q := range params.Get("questions").Elements() {
		if id, _ := q.Get("id").Text(); strings.HasPrefix(id, toolQuestion) {
			return true
		}
	}
	return false
}

// installQuestion is the id of the question whether Codex may add the MCP servers that a
// skill names to the user's configuration, and start them; installNot is the answer no.
const (
	installQuestion = "skill_mcp_dependency_install"
	installNot      = "Continue anyway"
)

// asksToInstall reports whether a question to the user is that one.
func asksToInstall(params rpc.Value) bool {
	for q := range params.Get("questions").Elements() {
		if q.Get("id").Is(installQuestion) {
			return true
		}
	}
	return false
}

// install makes any answer but no a no, unless the configuration lifts the pin.
func (a *answer) install(answers rpc.Value, v rpc.Value) {
	if one, pinned := a.p.pinned([]string{"features", installQuestion}); pinned {
		no := []byte(`{"answers":["` + installNot + `"]}`)
		if list := v.Get("answers"); v.Len() == 1 && list.Len() == 1 {
			for e := range list.Elements() {
				if e.Is(installNot) {
					return
				}
			}
		}
		a.set(answers, installQuestion, "result.answers."+installQuestion, no, ruleKeys, one.reason)
	}
}

// userInput holds the answers that are consents. What else a person answers is
// theirs.
func (a *answer) userInput() {
	result := a.m.Result
	answers := result.Get("answers")
	if answers.Kind() != rpc.Object {
		a.replace([]byte(`{"answers":{}}`), "there are no answers in "+show(result))
		return
	}
	for id, v := range answers.Members() {
		if strings.HasPrefix(id, toolQuestion) && !a.full() {
			a.toolAnswer(answers, id, v)
		} else if id == installQuestion {
			a.install(answers, v)
		}
	}
	a.only("answers")
}

// toolAnswer holds one consent to once, or none: an empty list is a no (measured).
func (a *answer) toolAnswer(answers rpc.Value, id string, v rpc.Value) {
	field := "result.answers." + id
	list := v.Get("answers")
	if v.Kind() != rpc.Object || v.Len() != 1 || list.Kind() != rpc.Array {
		a.set(answers, id, field, []byte(`{"answers":[]}`), ruleProtocol, show(v)+" is no answer of codex's schema")
		return
	}
	plain, lasting := true, false
	for e := range list.Elements() {
		word, _ := e.Text()
		lasts := slices.Contains(allowLasting, word)
		lasting = lasting || lasts
		plain = plain && (lasts || word == allowOnce || word == allowNot && list.Len() == 1)
	}
	switch {
	case a.st.ThreadRevoked && list.Len() > 0:
		a.set(answers, id, field, []byte(`{"answers":[]}`), ruleMode, unverifiedReason)
	case !plain:
		a.set(answers, id, field, []byte(`{"answers":[]}`), ruleProtocol, show(v)+" is not one of the answers to choose from")
	case lasting:
		a.set(answers, id, field, []byte(`{"answers":["`+allowOnce+`"]}`), ruleRemember, "codex would ask no more for this tool, whatever its arguments; a consent holds once")
	}
}
