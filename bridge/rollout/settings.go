package rollout

import (
	"bytes"
	"encoding/json"
	"iter"

	"codex-bridge.example/rpc"
)

// sandboxes are the types of a sandbox in Codex's notifications, by those in the file.
var sandboxes = map[string]string{
	"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess", "external-sandbox": "externalSandbox",
}

// settingNames are the names of settings, by those of members of a turn's context.
var settingNames = map[string]string{
	"cwd": "cwd", "model": "model", "effort": "effort", "approval_policy": "approvalPolicy", "approvals_reviewer": "approvalsReviewer",
	"active_permission_profile": "activePermissionProfile", "collaboration_mode": "collaborationMode",
	"runtime_workspace_roots": "runtimeWorkspaceRoots",
}

// TurnSettings returns the effective settings at the start of a turn, in the form of the
// threadSettings of thread/settings/updated, or nil if they are unknown. If turn is "" it is the
// last turn.
func TurnSettings(codexHome, path, turn string) *rpc.Doc {
	return searchTail(codexHome, path, func(tail []byte) (found *rpc.Doc, done bool) {
		for line := range linesWith(tail, `"turn_context"`) {
			if line == nil {
				return nil, true // this line may be the right one
			}
			context := line.Root().Get("payload")
			if line.Root().Get("type").Is("turn_context") && (turn == "" || context.Get("turn_id").Is(turn)) {
				found = convertContext(context)
			}
		}
		return found, found != nil
	})
}

// maxSettingsTail is how many bytes of a file's end are searched for settings: outputs of commands
// come after them.
const maxSettingsTail = 16 * maxTail

// searchTail calls search with ever more of a file's end, until search is done or has all of it.
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

// linesWith yields the lines that contain a text; nil for a line that is not valid.
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

func convertContext(context rpc.Value) *rpc.Doc {
	out := renameMembers(context)
	sandbox := map[string]json.RawMessage{"writableRoots": json.RawMessage("[]")}
	for name, v := range context.Get("sandbox_policy").Members() {
		switch name {
		case "type":
			word, _ := v.Text()
			sandbox["type"], _ = json.Marshal(sandboxes[word]) // a string can be encoded
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
	if profile := context.Get("permission_profile"); profile.Exists() {
		out["permissionProfile"] = profile.Raw()
	}
	var err error
	if out["sandboxPolicy"], err = json.Marshal(sandbox); err != nil {
		return nil
	}
	return document(out)
}

// renameMembers returns the members of Codex's record that are settings, with their new names.
func renameMembers(written rpc.Value) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for from, to := range settingNames {
		if v := written.Get(from); v.Exists() {
			out[to] = v.Raw()
		}
	}
	return out
}

// document returns an object with these members, or nil if one is not valid JSON.
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

// AppliedSettings returns the settings that Codex last recorded for a thread, in the form of the
// threadSettings of thread/settings/updated, or nil if they are unknown. Unlike TurnSettings it
// includes a change of settings without a turn.
//
// Measured with Codex 0.169: it records no sandbox policy, but the file system and network of the
// profile in use. An entry "deny" of the bridge's profile stays when a change of settings removes
// the profile. The type of the sandboxPolicy is readOnly if no entry can be written,
// workspaceWrite if one can, and dangerFullAccess for any other profile. The temporary folders are
// separate entries.
func AppliedSettings(codexHome, path string) *rpc.Doc {
	return searchTail(codexHome, path, func(tail []byte) (found *rpc.Doc, done bool) {
		for line := range linesWith(tail, `"thread_settings_applied"`) {
			if line == nil {
				continue // the previous record is used, and TurnSettings
			}
			payload := line.Root().Get("payload")
			if line.Root().Get("type").Is("event_msg") && payload.Get("type").Is("thread_settings_applied") {
				found = convertApplied(payload.Get("thread_settings"))
			}
		}
		return found, found != nil
	})
}

func convertApplied(settings rpc.Value) *rpc.Doc {
	out := renameMembers(settings)
	if effort := settings.Get("reasoning_effort"); effort.Exists() {
		out["effort"] = effort.Raw()
	}
	profile := settings.Get("permission_profile")
	if profile.Exists() {
		out["permissionProfile"] = profile.Raw()
	}
	kind, files := "dangerFullAccess", profile.Get("file_system")
	if profile.Get("type").Is("external") {
		kind = "externalSandbox"
	}
	written := make(map[string]bool) // kinds of writable special paths
	if profile.Get("type").Is("managed") && files.Get("type").Is("restricted") && files.Get("entries").Kind() == rpc.Array {
		kind = "readOnly"
		for entry := range files.Get("entries").Elements() {
			if access, _ := entry.Get("access").Text(); access != "read" && access != "none" && access != "deny" {
				kind = "workspaceWrite"
				special, _ := entry.Get("path").Get("value").Get("kind").Text()
				written[special] = true
			}
		}
	}
	sandbox, err := json.Marshal(map[string]any{
		"type": kind, "networkAccess": !profile.Get("network").Is("restricted"),
		"excludeSlashTmp": kind == "workspaceWrite" && !written["slash_tmp"], "excludeTmpdirEnvVar": kind == "workspaceWrite" && !written["tmpdir"],
	})
	if err != nil {
		return nil
	}
	out["sandboxPolicy"] = sandbox
	return document(out)
}
