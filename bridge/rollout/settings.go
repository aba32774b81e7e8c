package rollout

import (
	"bytes"
	"encoding/json"
	"iter"

	"codex-bridge/rpc"
)

// sandboxes are the types of a sandbox, in the words of the file and in those of
// codex's notifications.
var sandboxes = map[string]string{
	"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess", "external-sandbox": "externalSandbox",
}

// renamed are the members of a turn's context that settings have by another name.
var settingNames = map[string]string{
	"cwd": "cwd", "model": "model", "effort": "effort", "approval_policy": "approvalPolicy", "approvals_reviewer": "approvalsReviewer",
	"active_permission_profile": "activePermissionProfile", "collaboration_mode": "collaborationMode",
}

// Settings is what was in force when a turn began, in the form of the threadSettings of
// thread/settings/updated; nil when that is not known. turn may be empty: then it is the
// last turn's.
func TurnSettings(codexHome, path, turn string) *rpc.Doc {
	return searchTail(codexHome, path, func(tail []byte) (found *rpc.Doc, done bool) {
		for line := range linesWith(tail, `"turn_context"`) {
			if line == nil {
				return nil, true // it may be the one that counts
			}
			context := line.Root().Get("payload")
			if line.Root().Get("type").Is("turn_context") && (turn == "" || context.Get("turn_id").Is(turn)) {
				found = convertContext(context)
			}
		}
		return found, found != nil
	})
}

// mostForSettings is how many bytes of a file's end are looked at for settings: the outputs of commands follow them.
const maxSettingsTail = 16 * maxTail

// lastOf calls search with more and more of a file's end, until search is done or all of it was searched.
func searchTail(codexHome, path string, search func(tail []byte) (found *rpc.Doc, done bool)) *rpc.Doc {
	for size := int64(maxTail); size <= maxSettingsTail; size *= 4 {
		tail, head, err := readEnds(codexHome, path, size)
		if err != nil {
			return nil
		}
		if found, done := search(tail); done || head == nil {
			return found
		}
	}
	return nil
}

// linesWith yields the lines that have a text in them; nil for a line that can't be read.
func linesWith(tail []byte, text string) iter.Seq[*rpc.Doc] {
	return func(yield func(*rpc.Doc) bool) {
		for line := range bytes.Lines(tail) {
			if !bytes.Contains(line, []byte(text)) {
				continue
			}
			doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
			if err != nil {
				doc = nil
			}
			if !yield(doc) {
				return
			}
		}
	}
}

// LastSettings is Settings of the last turn of a thread, which is found by its id alone.
func LastTurnSettings(codexHome, id string) *rpc.Doc {
	path, err := findFile(codexHome, id)
	if err != nil {
		return nil
	}
	return TurnSettings(codexHome, path, "")
}

func convertContext(context rpc.Value) *rpc.Doc {
	out := renameMembers(context)
	sandbox := map[string]json.RawMessage{"writableRoots": json.RawMessage("[]")}
	for name, v := range context.Get("sandbox_policy").Members() {
		switch name {
		case "type":
			word, _ := v.Text()
			sandbox["type"], _ = json.Marshal(sandboxes[word]) // a text: it can't fail
		case "writable_roots":
			sandbox["writableRoots"] = v.Raw()
		case "network_access":
			sandbox["networkAccess"] = v.Raw()
		case "exclude_tmpdir_env_var":
			sandbox["excludeTmpdirEnvVar"] = v.Raw()
		case "exclude_slash_tmp":
			sandbox["excludeSlashTmp"] = v.Raw()
		}
	}
	var err error
	if out["sandboxPolicy"], err = json.Marshal(sandbox); err != nil {
		return nil
	}
	return document(out)
}

// rename returns the members of Codex's file that settings have, by the names that they have there.
func renameMembers(written rpc.Value) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for from, to := range settingNames {
		if v := written.Get(from); v.Exists() {
			out[to] = v.Raw()
		}
	}
	return out
}

// document is an object of these members; nil if one of them is no JSON.
func document(members map[string]json.RawMessage) *rpc.Doc {
	text, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	doc, err := rpc.ParseValue(text)
	if err != nil {
		return nil
	}
	return doc
}
