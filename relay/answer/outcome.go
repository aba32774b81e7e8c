package answer

import (
	"encoding/json"

	"codex-bridge.example/rpc"
)

// Outcome is the outcome of a question. The zero value is a refusal.
type Outcome int

// The outcomes.
const (
	Denied          Outcome = iota
	Unavailable             // no person could be asked, or none answered
	Cancelled               // the turn ended without an answer
	ApprovedOnce            // for this call
	ApprovedSession         // for equal calls too; Codex remembers it
)

func (o Outcome) String() string {
	switch o {
	case Denied:
		return "denied"
	case Unavailable:
		return "unavailable"
	case Cancelled:
		return "cancelled"
	case ApprovedOnce:
		return "approved-once"
	case ApprovedSession:
		return "approved-session"
	}
	return "unknown"
}

// Approved reports whether the outcome is a consent.
func (o Outcome) Approved() bool { return o == ApprovedOnce || o == ApprovedSession }

// noToolRunner is the text for the model.
const noToolRunner = "No client can run this tool."

// Unattended returns the result of a request when no person can be asked, as in a turn of
// the bridge: a refusal in Codex's format. For a method without one it returns a JSON-RPC
// error.
func Unattended(method string, params rpc.Value) (json.RawMessage, error) {
	switch method {
	case "item/tool/call": // without a result the turn would hang
		return marshal(map[string]any{"success": false, "contentItems": []any{map[string]any{"type": "inputText", "text": noToolRunner}}}), nil
	case "item/tool/requestUserInput":
		return json.RawMessage(`{"answers":{}}`), nil
	case "mcpServer/elicitation/request":
		return json.RawMessage(`{"action":"decline"}`), nil
	}
	if result, ok := Approval(method, params, Unavailable); ok {
		return result, nil
	}
	return nil, rpc.Errorf(rpc.CodeUnknownMethod, "%s: no client can answer this request", method)
}
