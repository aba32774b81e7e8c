package policy

import (
	"bytes"
	"codex-bridge/rpc"
	"encoding/json"
	"fmt"
	"slices"
)

// nothing: codex takes null in an optional field for a field left out.
func isUnset(v rpc.Value) bool {
	return v.Kind() == rpc.Absent || v.Kind() == rpc.Null
}

func jsonString(text string) []byte {
	raw, _ := json.Marshal(text) // can't fail for a string
	return raw
}

// show is a value as a reason names it, cut where it is long.
func formatValue(v rpc.Value) string {
	const most = 80
	raw := v.Raw()
	if len(raw) > most {
		return fmt.Sprintf("%s… (%d bytes)", bytes.ToValidUTF8(raw[:most], nil), len(raw))
	}
	return string(raw)
}

// shown is a value as a reason names it, or the fact that it is not there.
func formatEchoed(v rpc.Value) string {
	if !v.Exists() {
		return "nothing"
	}
	return formatValue(v)
}

func textOf(v rpc.Value) string {
	text, _ := v.Text()
	return text
}

func cloneRaw(v rpc.Value) json.RawMessage { return slices.Clone(v.Raw()) }

func clip(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}

// array is the list as JSON.
func jsonArray(paths []string) []byte {
	out := []byte{'['}
	for i, p := range paths {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, jsonString(p)...)
	}
	return append(out, ']')
}
