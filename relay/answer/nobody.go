package answer

import (
	"encoding/json"

	"codex-bridge/rpc"
)

// unheard is told to the model of a tool that nobody runs.
const unheard = "Nobody is there to run this tool."

// Nobody is the answer to a request of Codex where nobody is there to be asked, as in a
// turn that the bridge runs by itself: a no, in the form that Codex reads. What has no
// such form is a JSON-RPC error.
func Nobody(method string, params rpc.Value) (json.RawMessage, error) {
	switch method {
	case "item/tool/call": // unanswered, the turn would hang
		return marshal(map[string]any{"success": false, "contentItems": []any{map[string]any{"type": "inputText", "text": unheard}}}), nil
	case "item/tool/requestUserInput":
		return json.RawMessage(`{"answers":{}}`), nil
	case "mcpServer/elicitation/request":
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	if result, ok := Approval(method, params, Denied); ok {
		return result, nil
	}
	return nil, rpc.Errorf(rpc.CodeUnknownMethod, "%s: no client can answer this request", method)
}
