package answer

import (
	"encoding/json"

	"codex-bridge/rpc"
)

// Approval is the result that answers an approval; ok is false for a method that
// is no approval, and the result is then nil: only an error says no to it.
//
// A permission request is granted as it was asked; policy cuts it down. With
// ApprovedSession Codex remembers the consent, in its own rules where it offers
// nothing less lasting: where the bridge remembers, the outcome is ApprovedOnce.
func Approval(method string, params rpc.Value, o Outcome) (result json.RawMessage, ok bool) {
	switch method {
	case "item/commandExecution/requestApproval":
		return decided(command(params.Get("availableDecisions"), o)), true
	case "item/fileChange/requestApproval":
		return decided(quote(fileChange(o))), true
	case "item/permissions/requestApproval":
		return permissions(params.Get("permissions"), o), true
	case "execCommandApproval", "applyPatchApproval":
		return decided(legacy(o)), true
	}
	return nil, false
}

func decided(decision []byte) json.RawMessage {
	return marshal(map[string]json.RawMessage{"decision": decision})
}

// command is the decision about a command: one that was offered, where one was that
// says no more than the outcome. Where no refusal was offered one is sent all the
// same: what codex does not take as a decision rejects the command (measured).
func command(offered rpc.Value, o Outcome) []byte {
	yes, no := []string(nil), []string{"decline", "cancel"}
	switch o {
	case ApprovedOnce:
		yes = []string{"accept"}
	case ApprovedSession:
		if offers(offered, "acceptForSession") {
			return quote("acceptForSession")
		}
		if raw := amendment(offered); raw != nil {
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

// amendment is the first change of codex's own rules on offer that allows. One that
// refuses a host is on offer beside it, and is no consent.
func amendment(list rpc.Value) []byte {
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

func fileChange(o Outcome) string {
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

func legacy(o Outcome) []byte {
	switch o {
	case ApprovedOnce:
		return quote("approved")
	case ApprovedSession:
		return quote("approved_for_session")
	case Cancelled:
		return quote("abort")
	case Unavailable:
		return []byte(`{"denied":{"rejection":"nobody could be asked for approval"}}`)
	}
	return []byte(`{"denied":{"rejection":"approval was refused"}}`)
}

// permissions grants what codex has a meaning for, and nothing else.
func permissions(asked rpc.Value, o Outcome) json.RawMessage {
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

// marshal is for texts, booleans and JSON that was parsed: it can't fail.
func marshal(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}
