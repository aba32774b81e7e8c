package policy

import (
	"encoding/json"

	"codex-bridge/rpc"
)

// plainDecisions are what may be answered to an approval that offers nothing.
var plainDecisions = map[string][]string{
	"item/commandExecution/requestApproval": {"accept", "acceptForSession", "decline", "cancel"},
	"item/fileChange/requestApproval":       {"accept", "acceptForSession", "decline", "cancel"},
	"execCommandApproval":                   {"approved", "approved_for_session", "denied", "abort"},
	"applyPatchApproval":                    {"approved", "approved_for_session", "denied", "abort"},
}

// OfferedResults are the results by which a client may answer an approval: one for each
// decision that codex offers.
func OfferedResults(method string, params rpc.Value) []json.RawMessage {
	plain, ok := plainDecisions[method]
	if !ok {
		return nil
	}
	var out []json.RawMessage
	add := func(decision []byte) {
		out = append(out, append(append([]byte(`{"decision":`), decision...), '}'))
	}
	if list := params.Get("availableDecisions"); list.Kind() == rpc.Array {
		for e := range list.Elements() {
			add(e.Raw())
		}
		return out
	}
	for _, name := range plain {
		add(quote(name))
	}
	return out
}
