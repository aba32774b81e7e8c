package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// IsUnset reports whether v is absent or null. Codex reads null in an optional field as an omitted
// one.
func IsUnset(v rpc.Value) bool {
	return v.Kind() == rpc.Absent || v.Kind() == rpc.Null
}

// JSONString returns a text as a JSON string.
func JSONString(text string) []byte {
	raw, _ := json.Marshal(text) // a string can't fail
	return raw
}

// FormatValue returns a value for a message, cut after 80 bytes.
func FormatValue(v rpc.Value) string {
	const most = 80
	raw := v.Raw()
	if len(raw) > most {
		return fmt.Sprintf("%s… (%d bytes)", display.Start(string(raw), most), len(raw))
	}
	return string(raw)
}

// FormatEchoed returns a value for a message, or "nothing" if it is absent.
func FormatEchoed(v rpc.Value) string {
	if !v.Exists() {
		return "nothing"
	}
	return FormatValue(v)
}

// TextOf returns a text; "" for another value.
func TextOf(v rpc.Value) string {
	text, _ := v.Text()
	return text
}

// CloneRaw returns a copy of the JSON of a value.
func CloneRaw(v rpc.Value) json.RawMessage { return slices.Clone(v.Raw()) }

// jsonArray returns the paths as a JSON array.
func jsonArray(paths []string) []byte {
	out := []byte{'['}
	for i, p := range paths {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, JSONString(p)...)
	}
	return append(out, ']')
}
