package serverrequest

import (
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// CheckAnswer returns an error unless a result answers an approval, or an elicitation, in the form of Codex's schema
// and with a word that Codex knows. The bridge checks so the answers to its own questions, which never reach Codex:
// an answer that Codex would not read must not count as a yes.
func CheckAnswer(method string, result rpc.Value) error {
	if wrong := methods.CheckResponse(method, result); wrong != nil {
		return answerError(wrong.Path, "it is %s where Codex %s has %s", wrong.Found, methods.Measured, wrong.Want)
	}
	name, words := "decision", plainDecisions[method]
	if method == "mcpServer/elicitation/request" {
		name, words = "action", []string{"accept", "decline", "cancel"}
	}
	switch v := result.Get(name); {
	case !v.Exists():
		return answerError("", "it has no %s", name)
	case v.Kind() == rpc.String && !slices.ContainsFunc(words, v.Is):
		return unknownWord(name, v, words)
	case v.Kind() == rpc.Object && !currentDecisions.hasAmendment(method, result):
		return answerError(name, "it lacks a member that Codex %s needs", methods.Measured)
	}
	return nil
}

// PermissionAnswer is the answer of a client to bridge/hook with the event permissionRequest.
type PermissionAnswer struct {
	Allow    bool
	Reason   string // for people
	Remember string // "session", "always" or ""
}

// ReadPermissionAnswer reads the result of bridge/hook with the event permissionRequest. A member of another name is
// an error, because a misspelt one was meant to have an effect. Without a decision the answer is no; null is as a
// missing member.
func ReadPermissionAnswer(result []byte) (PermissionAnswer, error) {
	doc, err := rpc.ParseValue(result)
	switch {
	case err != nil:
		return PermissionAnswer{}, unreadableAnswer(err)
	case doc.Truncated():
		return PermissionAnswer{}, answerError("", "it has more values than the bridge reads")
	case doc.Root().Kind() != rpc.Object:
		return PermissionAnswer{}, answerError("", "it is not an object")
	}
	words := map[string][]string{"decision": {"allow", "deny"}, "reason": nil, "remember": {"session", "always"}}
	for name, v := range doc.Root().Members() {
		known, ok := words[name]
		switch {
		case !ok:
			return PermissionAnswer{}, answerError("", "it has the member %s, which such an answer does not have", display.Line(display.Clip(name)))
		case v.Kind() == rpc.Null:
		case v.Kind() != rpc.String:
			return PermissionAnswer{}, answerError(name, "it is %s, not a text", v.Kind())
		case known != nil && !slices.ContainsFunc(known, v.Is):
			return PermissionAnswer{}, unknownWord(name, v, known)
		}
	}
	answer := PermissionAnswer{Allow: doc.Root().Get("decision").Is("allow")}
	answer.Reason, _ = doc.Root().Get("reason").Text()
	answer.Remember, _ = doc.Root().Get("remember").Text()
	return answer, nil
}

// answerError returns the error of a value in an answer. path leads to the value; "" is the whole answer.
func answerError(path, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if path != "" {
		err = fmt.Errorf("%s: %w", display.Line(path), err)
	}
	return unreadableAnswer(err)
}

func unknownWord(path string, v rpc.Value, known []string) error {
	return answerError(path, "%s is none of %s", display.Line(policy.FormatValue(v)), strings.Join(known, ", "))
}

func unreadableAnswer(err error) error {
	return fmt.Errorf("the client's answer can't be read, so it counts as a refusal: %w", err)
}
