package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// DecisionLog records decisions.
type DecisionLog interface {
	Append(context.Context, decision.Record) error
}

// RulePerson is the rule of a person's decision. RuleStore is that of a refusal because such a decision
// can't be logged.
const (
	RulePerson = "approvals.person"
	RuleStore  = "store"
)

// maxRecord is the maximum length of a consent's record in bytes.
const maxRecord = 1 << 20

// recordedFields are the fields of a question that a consent covers. Granted permissions
// are recorded from the answer, which may have fewer than were asked for.
var recordedFields = []string{
	"command", "cwd", "networkApprovalContext", "additionalPermissions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments",
	"grantRoot", "serverName", "itemId", "callId", "questions", "message", "requestedSchema", "url",
}

// recordedMetaFields are the fields of _meta in an MCP server's question that describe what
// is allowed.
var recordedMetaFields = []string{
	"connector_name", "tool_name", "tool_title", "tool_description", "tool_params", "tool_params_display",
}

// IsConsent reports whether the result of an approval allows anything.
func IsConsent(result rpc.Value) bool {
	decision := result.Get("decision")
	switch {
	case result.Get("permissions").Exists():
		return result.Get("permissions").Len() > 0
	case result.Get("answers").Exists():
		return hasAllowAnswer(result.Get("answers"))
	case result.Get("action").Exists():
		return result.Get("action").Is("accept")
	case decision.Kind() == rpc.Object:
		return !decision.Get("denied").Exists()
	}
	word, ok := decision.Text()
	return ok && word != "decline" && word != "cancel" && word != "denied" && word != "abort" && word != "timed_out"
}

// hasAllowAnswer reports whether an answer starts with "Allow".
func hasAllowAnswer(answers rpc.Value) bool {
	for _, given := range answers.Members() {
		for one := range given.Get("answers").Elements() {
			if text, _ := one.Text(); strings.HasPrefix(text, "Allow") {
				return true
			}
		}
	}
	return false
}

// RecordConsent writes a person's consent to the decision log, in full, because the editor
// may have shown less. The entry has the mode enforce, since a consent applies in each mode.
// mode is the policy's mode. patch has the paths that a patch changes, if the question does not
// name them. facts are those of the decision to ask. If RecordConsent returns an error under
// enforce, the consent must not count.
func RecordConsent(ctx context.Context, to DecisionLog, mode config.Mode, client string, asked *rpc.Envelope, patch []string, facts string, result rpc.Value) error {
	params := asked.Root().Get("params")
	all := map[string]json.RawMessage{"answer": withoutTexts(result)}
	for _, name := range recordedFields {
		if v := params.Get(name); v.Exists() && v.Kind() != rpc.Null {
			all[name] = v.Raw()
		}
	}
	if changes := params.Get("fileChanges"); changes.Kind() == rpc.Object {
		all["files"] = patchFiles(changes)
	} else if len(patch) > 0 {
		raw, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		all["files"] = raw
	}
	for _, name := range recordedMetaFields {
		if v := params.Get("_meta").Get(name); v.Exists() {
			all[name] = v.Raw()
		}
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	if err := e.Encode(all); err != nil {
		return err
	}
	if text.Len() > maxRecord {
		return errors.New("the question is too long for the decision log")
	}
	thread, _ := params.Get("threadId").Text()
	if thread == "" {
		thread, _ = params.Get("conversationId").Text()
	}
	turn, _ := params.Get("turnId").Text()
	return to.Append(ctx, decision.Record{
		Time: time.Now(), Client: client, Thread: thread, Turn: turn, Method: asked.Method, Mode: string(config.Enforce),
		Verdict: string(policy.Accept), Rule: RulePerson, Reason: "the client has allowed " + string(bytes.TrimSpace(text.Bytes())),
		Message: decision.Sum(bytes.TrimSpace(asked.Root().Raw())), Facts: facts, CanWait: mode != config.Enforce,
	})
}

// withoutTexts returns an answer with the names of the fields of a form in place of what the person has written there, which
// may be secret.
func withoutTexts(result rpc.Value) json.RawMessage {
	content := result.Get("content")
	if !content.Exists() || content.Kind() == rpc.Null {
		return result.Raw()
	}
	answer := make(map[string]any)
	for name, v := range result.Members() {
		answer[name] = json.RawMessage(v.Raw())
	}
	fields := []string{} // none of a text or a list
	for name := range content.Members() {
		fields = append(fields, name)
	}
	answer["content"] = fields
	raw, err := json.Marshal(answer)
	if err != nil {
		panic(err) // cannot fail: strings and parsed JSON
	}
	return raw
}

// patchFiles returns the changed paths with the kind of each change, without contents.
func patchFiles(changes rpc.Value) json.RawMessage {
	all := make(map[string]map[string]json.RawMessage)
	for path, change := range changes.Members() {
		all[path] = make(map[string]json.RawMessage)
		for _, name := range [...]string{"type", "move_path"} {
			if v := change.Get(name); v.Exists() && v.Kind() != rpc.Null {
				all[path][name] = v.Raw()
			}
		}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err) // cannot fail: strings and parsed JSON
	}
	return raw
}
