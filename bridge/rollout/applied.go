package rollout

import (
	"bytes"
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
func Applied(codexHome, path string) *rpc.Doc {
	for size := int64(most); size <= mostForSettings; size *= 4 {
		tail, head, err := read(codexHome, path, size)
		if err != nil {
			return nil
		}
		if found := appliedIn(tail); found != nil || head == nil {
			return found
		}
	}
	return nil
}

func appliedIn(tail []byte) (found *rpc.Doc) {
	for line := range bytes.Lines(tail) {
		if !bytes.Contains(line, []byte(`"thread_settings_applied"`)) {
			continue
		}
		doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			continue
		}
		payload := doc.Root().Get("payload")
		if doc.Root().Get("type").Is("event_msg") && payload.Get("type").Is("thread_settings_applied") {
			found = applied(payload.Get("thread_settings"))
		}
	}
	return found
}

func applied(settings rpc.Value) *rpc.Doc {
	out := make(map[string]json.RawMessage)
	for from, to := range renamed {
		if v := settings.Get(from); v.Exists() {
			out[to] = v.Raw()
		}
	}
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
