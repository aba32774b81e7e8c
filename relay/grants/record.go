package grants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"codex-bridge/bridge/config"
	"codex-bridge/bridge/policy"
	"codex-bridge/bridge/store"
	"codex-bridge/rpc"
)

// Recorder is the decision log.
type Recorder interface {
	Append(context.Context, store.Decision) error
}

// RulePerson is the rule of a decision that a person has made.
const RulePerson = "approvals.person"

// maxRecord is the largest size of the record of one consent, in bytes.
const maxRecord = 1 << 20

// recorded are the fields of a question that a consent covers. Those of a permission are in its answer,
// which may have fewer of them.
var recorded = []string{
	"command", "cwd", "networkApprovalContext", "additionalPermissions", "proposedExecpolicyAmendment", "proposedNetworkPolicyAmendments",
	"grantRoot", "serverName", "itemId", "callId", "questions", "message", "requestedSchema",
}

// recordedMeta are the fields of _meta in a question of an MCP server that tell what is allowed, or that its card shows.
var recordedMeta = []string{
	"connector_name", "tool_name", "tool_title", "tool_description", "tool_params", "tool_params_display",
}

// Consents reports whether the result of an approval allows anything.
func Consents(result rpc.Value) bool {
	decision := result.Get("decision")
	switch {
	case result.Get("permissions").Exists():
		return result.Get("permissions").Len() > 0
	case result.Get("answers").Exists():
		return allows(result.Get("answers"))
	case result.Get("action").Exists():
		return result.Get("action").Is("accept")
	case decision.Kind() == rpc.Object:
		return !decision.Get("denied").Exists()
	}
	word, ok := decision.Text()
	return ok && word != "decline" && word != "cancel" && word != "denied" && word != "abort" && word != "timed_out"
}

// allows reports whether the answers to questions have one that begins with "Allow".
func allows(answers rpc.Value) bool {
	for _, given := range answers.Members() {
		for one := range given.Get("answers").Elements() {
			if text, _ := one.Text(); strings.HasPrefix(text, "Allow") {
				return true
			}
		}
	}
	return false
}

// Record writes a person's consent to the decision log, whole: the card that they saw may have been cut. mode is that of
// the policy. patch are the paths that a patch changes if the question does not name them. If it returns an error under enforce, the consent must not count.
func Record(ctx context.Context, to Recorder, mode config.Mode, client string, asked *rpc.Envelope, patch []string, result rpc.Value) error {
	params := asked.Root().Get("params")
	all := map[string]json.RawMessage{"answer": result.Raw()}
	for _, name := range recorded {
		if v := params.Get(name); v.Exists() && v.Kind() != rpc.Null {
			all[name] = v.Raw()
		}
	}
	if changes := params.Get("fileChanges"); changes.Kind() == rpc.Object {
		all["files"] = files(changes)
	} else if len(patch) > 0 {
		raw, err := json.Marshal(patch)
		if err != nil {
			return err
		}
		all["files"] = raw
	}
	for _, name := range recordedMeta {
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
	return to.Append(ctx, store.Decision{
		Time: time.Now(), Client: client, Thread: thread, Turn: turn, Method: asked.Method, Mode: string(mode),
		Verdict: string(policy.Accept), Rule: RulePerson, Reason: "the client has allowed " + string(bytes.TrimSpace(text.Bytes())),
		Message: store.Sum(bytes.TrimSpace(asked.Root().Raw())),
	})
}

// files returns the paths that a patch changes, each with the kind of change, without the contents.
func files(changes rpc.Value) json.RawMessage {
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
		panic(err) // texts, and JSON that was parsed
	}
	return raw
}
