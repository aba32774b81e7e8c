package answer

import (
	"encoding/json"

	"codex-bridge.example/rpc"
)

// Approval returns the result of an approval request. ok is false for other methods; only
// an error refuses those.
//
// A permission request is granted as asked; the policy reduces it later. With
// ApprovedSession, Codex remembers the consent, in its own rules if it offers nothing
// shorter. If the bridge remembers, the outcome must be ApprovedOnce.
func Approval(method string, params rpc.Value, o Outcome) (result json.RawMessage, ok bool) {
	switch method {
	case "item/commandExecution/requestApproval":
		return decisionResult(commandDecision(params.Get("availableDecisions"), o)), true
	case "item/fileChange/requestApproval":
		return decisionResult(quote(fileDecision(o))), true
	case "item/permissions/requestApproval":
		return permissionsResult(params.Get("permissions"), o), true
	case "execCommandApproval", "applyPatchApproval":
		return decisionResult(legacyDecision(o)), true
	}
	return nil, false
}

func decisionResult(decision []byte) json.RawMessage {
	return marshal(map[string]json.RawMessage{"decision": decision})
}

// commandDecision returns an offered decision that allows no more than the outcome. If no
// refusal is offered, it returns one anyway: Codex rejects the command on a decision that
// it does not accept (measured).
//
// If no person could be asked it declines. Codex usually offers no decline but a cancel,
// which ends the turn. It still accepts a decline: then the turn continues, and the model
// knows (measured).
func commandDecision(offered rpc.Value, o Outcome) []byte {
	yes, no := []string(nil), []string{"decline", "cancel"}
	switch o {
	case Unavailable:
		return quote("decline")
	case ApprovedOnce:
		yes = []string{"accept"}
	case ApprovedSession:
		if offers(offered, "acceptForSession") {
			return quote("acceptForSession")
		}
		if raw := allowingAmendment(offered); raw != nil {
			return raw
		}
		yes = []string{"accept"}
	case Cancelled:
		no = []string{"cancel", "decline"}
	}
	for _, name := range append(yes, no...) {
		if offers(offered, name) {
			return quote(name)
		}
	}
	return quote(no[0])
}

func offers(list rpc.Value, name string) bool {
	if list.Kind() != rpc.Array {
		return true
	}
	for e := range list.Elements() {
		if e.Is(name) {
			return true
		}
	}
	return false
}

// allowingAmendment returns the first offered change of Codex's rules that allows
// something. An offer to refuse a host is not a consent.
func allowingAmendment(list rpc.Value) []byte {
	for e := range list.Elements() {
		if e.Kind() != rpc.Object || e.Len() != 1 {
			continue
		}
		words := e.Get("acceptWithExecpolicyAmendment").Get("execpolicy_amendment")
		host := e.Get("applyNetworkPolicyAmendment").Get("network_policy_amendment")
		if words.Kind() == rpc.Array && words.Len() > 0 || host.Get("action").Is("allow") {
			return e.Raw()
		}
	}
	return nil
}

func fileDecision(o Outcome) string {
	switch o {
	case ApprovedOnce:
		return "accept"
	case ApprovedSession:
		return "acceptForSession"
	case Cancelled:
		return "cancel"
	}
	return "decline"
}

func legacyDecision(o Outcome) []byte {
	switch o {
	case ApprovedOnce:
		return quote("approved")
	case ApprovedSession:
		return quote("approved_for_session")
	case Cancelled:
		return quote("abort")
	case Unavailable:
		return []byte(`{"denied":{"rejection":"no person could be asked for approval"}}`)
	}
	return []byte(`{"denied":{"rejection":"approval was refused"}}`)
}

// permissionsResult grants only the permissions that Codex defines.
func permissionsResult(asked rpc.Value, o Outcome) json.RawMessage {
	granted, scope := make(map[string]json.RawMessage), "turn"
	if o.Approved() {
		for _, key := range [...]string{"network", "fileSystem"} {
			if v := asked.Get(key); v.Kind() == rpc.Object {
				granted[key] = v.Raw()
			}
		}
	}
	if o == ApprovedSession {
		scope = "session"
	}
	return marshal(map[string]any{"permissions": granted, "scope": scope})
}

func quote(text string) []byte { return marshal(text) }

// marshal can't fail: v has only strings, booleans and parsed JSON.
func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
