package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// Settings are what a client of this machine sends when it connects.
type Settings struct {
	Folder string    `json:"folder"` // of threads for which the client names none
	Config Overrides `json:"config"` // under the config of each thread
}

// Header returns the header with the settings.
func (s Settings) Header() http.Header {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // the values are JSON
	}
	return http.Header{SettingsHeader: {url.PathEscape(string(raw))}}
}

// parseSettings returns the settings in a header, which are empty without it. The overrides of a client may
// narrow what its threads may do, so a header that can't be read whole is an error.
func parseSettings(h http.Header) (s Settings, err error) {
	texts := h.Values(SettingsHeader)
	if len(texts) == 0 {
		return s, nil
	}
	text, err := url.PathUnescape(texts[0])
	if err == nil && len(texts) > 1 {
		err = errors.New("it is there twice")
	}
	if err == nil {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&s)
		if err == nil && decoder.More() {
			err = errors.New("there is more behind the object")
		}
	}
	if err == nil && s.Folder == "" {
		err = errors.New("it names no folder")
	}
	if err != nil {
		return Settings{}, fmt.Errorf("the header %s can't be read: %w; connect with the codex-bridge of this server", SettingsHeader, err)
	}
	return s, nil
}

// SettingsHeader is the header with the Settings of a client, JSON that is escaped as a path of a URL. A
// client that sends it ends its input with a binary message, and still gets the responses.
const SettingsHeader = "Codex-Bridge-Settings"

// Replaced says what becomes of an override of a client's command line that its request would replace: by
// another value of the key, or, if by is nil, by a table without the key. keep means that the override
// counts nevertheless. A loss refuses the request, and says what would happen without the override.
type Replaced func(key string, value, by json.RawMessage) (keep bool, loss string)

// addTo returns a request that opens a thread with the settings of the client, or nil if it has them. What
// the request itself says counts: its cwd, and the values of its config, as in Codex.
func (s Settings) addTo(m *rpc.Message, replaced Replaced) ([]byte, *policy.Refusal) {
	if m.Params.Kind() != rpc.Object {
		return nil, nil
	}
	patch := rpc.NewPatch(m)
	isMissing := func(v rpc.Value) bool { return v.Kind() == rpc.Absent || v.Kind() == rpc.Null }
	if m.Method == "thread/start" && s.Folder != "" && isMissing(m.Params.Get("cwd")) {
		patch.Set(m.Params, "cwd", rpc.Encode(s.Folder))
	}
	overlay := m.Params.Get("config")
	if len(s.Config) > 0 && (overlay.Kind() == rpc.Object || isMissing(overlay)) {
		all, err := s.over(overlay, replaced)
		if err != nil {
			return nil, err
		}
		patch.Set(m.Params, "config", rpc.Encode(all))
	}
	if !patch.Changed() {
		return nil, nil
	}
	return patch.Bytes(), nil
}

// over returns the overrides of the client with those of a request over them.
func (s Settings) over(overlay rpc.Value, replaced Replaced) (Overrides, *policy.Refusal) {
	all := maps.Clone(s.Config)
	for key, value := range overlay.Members() {
		all.Set(key, value.Raw())
	}
	for key, value := range s.Config.leaves() {
		by := all.get(key)
		if bytes.Equal(by, value) {
			continue
		}
		switch keep, loss := replaced(key, value, by); {
		case keep:
			all.Set(key, value)
		case loss != "":
			return nil, &policy.Refusal{
				Rule: "policy.mode", Field: "config", Reason: fmt.Sprintf("it would replace %s of the client's command line, and %s", key, loss),
				Hint: "send the values of that table one by one, such as {\"table.key\": value}, or remove the key from the command line",
			}
		}
	}
	return all, nil
}
