package rollout

import (
	"encoding/json"

	"codex-bridge/rpc"
)

// Applied returns the settings that Codex last wrote down for a thread, in the form of the threadSettings of
// thread/settings/updated; nil if there are none, or if they are not known. A change of settings without a turn is
// among them, which Settings does not see.
//
// Measured with Codex 0.169: it writes no sandbox policy, but the file system and the network of the profile in
// force. An entry "deny" of the bridge's profile stays where a change of settings takes the profile away. The
// type of the sandboxPolicy is readOnly if no entry can be written, workspaceWrite if one can, and
// dangerFullAccess for any other profile. The temporary folders are entries of their own.
func AppliedSettings(codexHome, path string) *rpc.Doc {
	return searchTail(codexHome, path, func(tail []byte) (found *rpc.Doc, done bool) {
		for line := range linesWith(tail, `"thread_settings_applied"`) {
			if line == nil {
				continue // the one before it counts, beside the last turn's
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
	profile := settings.Get("permission_profile")
	kind, files := "dangerFullAccess", profile.Get("file_system")
	written := make(map[string]bool) // kinds of special paths that can be written
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
