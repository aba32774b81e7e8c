package serve

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"codex-bridge.example/rpc"
)

// Settings are what a client of this machine sends when it connects.
type Settings struct {
	Folder string                     `json:"folder"` // of threads for which the client names none
	Config map[string]json.RawMessage `json:"config"` // added to the config of each thread, by dotted key
}

// Header returns the header with the settings.
func (s Settings) Header() http.Header {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // the values are JSON
	}
	return http.Header{SettingsHeader: {url.PathEscape(string(raw))}}
}

// parseSettings returns the settings in a header. Without it, and if it can't be read, they are empty.
func parseSettings(h http.Header) (s Settings) {
	if text, err := url.PathUnescape(h.Get(SettingsHeader)); err == nil {
		_ = json.Unmarshal([]byte(text), &s)
	}
	return s
}

// SettingsHeader is the header with the Settings of a client, JSON that is escaped as a path of a URL. A
// client that sends it ends its input with a binary message, and still gets the responses.
const SettingsHeader = "Codex-Bridge-Settings"

// addTo returns a request that opens a thread with the settings of the client, or nil if it has them. What
// the request itself says counts: its cwd, and each table of its config.
func (s Settings) addTo(m *rpc.Message) []byte {
	if m.Params.Kind() != rpc.Object {
		return nil
	}
	patch := rpc.NewPatch(m)
	isMissing := func(v rpc.Value) bool { return v.Kind() == rpc.Absent || v.Kind() == rpc.Null }
	if m.Method == "thread/start" && s.Folder != "" && isMissing(m.Params.Get("cwd")) {
		patch.Set(m.Params, "cwd", encode(s.Folder))
	}
	overlay := m.Params.Get("config")
	if len(s.Config) > 0 && (overlay.Kind() == rpc.Object || isMissing(overlay)) {
		all := make(map[string]json.RawMessage)
		tables, added := make(map[string]bool), false
		for key, value := range overlay.Members() {
			table, _, _ := strings.Cut(key, ".")
			all[key], tables[table] = value.Raw(), true
		}
		for key, value := range s.Config {
			if table, _, _ := strings.Cut(key, "."); !tables[table] { // Codex takes one of two forms of a table at random
				all[key], added = value, true
			}
		}
		if added {
			patch.Set(m.Params, "config", encode(all))
		}
	}
	if !patch.Changed() {
		return nil
	}
	return patch.Bytes()
}

// encode returns a value as JSON.
func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // texts, and values that are JSON
	}
	return raw
}
