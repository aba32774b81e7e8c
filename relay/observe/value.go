package observe

import (
	"encoding/json"
	"strings"

	"codex-bridge/rpc"
)

// text is a text of Codex's; empty where there is none. Ids and names are short.
func text(v rpc.Value) string {
	s, _ := v.Text()
	return s
}

// number is a count of milliseconds; 0 where there is none.
func number(v rpc.Value) int64 {
	var n int64
	if !v.Exists() || json.Unmarshal(v.Raw(), &n) != nil {
		return 0
	}
	return n
}

// clip bounds a text that a program, or a model, has written.
func clip(s string) string {
	const most = 500
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
