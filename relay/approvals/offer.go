package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/rpc"
)

// narrowOffer removes the answers from a question that would be cut to once, so that the client does not offer
// them. kept are the spans for which the bridge remembers an answer. It adds no answer, and keeps the last one.
//
// Measured with Codex 0.169 and 0.171: availableDecisions is in each question about a command, also without
// experimentalApi. It is what Codex's terminal interface and codex-acp offer. codex-acp cancels if it has an
// amendment that is not also proposed. Questions about patches and permissions have no list.
func (f *Feature) narrowOffer(ctx context.Context, msg *bridge.ServerMessage, kept []Span) {
	line, err := rpc.ParseEnvelope(msg.Line) // a feature before this one may have changed the message
	if err != nil {
		return
	}
	o := offer{params: line.Root().Get("params"), kept: kept, patch: rpc.NewEnvelopePatch(line)}
	switch msg.Method {
	case "item/commandExecution/requestApproval":
		o.narrowDecisions()
	case elicitation:
		o.narrowPersist()
	case userInput:
		o.narrowOptions()
	}
	if len(o.changes) == 0 {
		return
	}
	f.Policy.RecordNarrowed(ctx, msg.Envelope, msg.Line, o.changes)
	msg.Line = o.patch.Bytes()
}

// offer has the answers that a question offers.
type offer struct {
	params  rpc.Value
	kept    []Span
	patch   *rpc.Patch
	changes []policy.Change
}

func (o *offer) keeps(span Span) bool { return slices.Contains(o.kept, span) }

// narrowDecisions removes decisions about a command. Of an amendment of the network's rules nothing is kept, not
// even a refusal.
func (o *offer) narrowDecisions() {
	o.removeElements(o.params, "availableDecisions", "params.availableDecisions", func(e rpc.Value) bool {
		switch {
		case e.Is("acceptForSession"):
			return !o.keeps(Session)
		case e.Get(amendment).Exists():
			return !o.keeps(Always)
		}
		return e.Get("applyNetworkPolicyAmendment").Exists()
	})
	if !o.keeps(Always) {
		o.removeMember(o.params, "proposedExecpolicyAmendment", "params.proposedExecpolicyAmendment")
	}
	o.removeMember(o.params, "proposedNetworkPolicyAmendments", "params.proposedNetworkPolicyAmendments")
}

// narrowPersist removes how long a consent to a tool of an MCP server may last.
func (o *offer) narrowPersist() {
	const key, field = "persist", "params._meta.persist"
	meta := o.params.Get("_meta")
	isCut := func(e rpc.Value) bool {
		name, _ := e.Text()
		return !o.keeps(Span(name))
	}
	switch persist := meta.Get(key); {
	case persist.Kind() == rpc.Array && o.removeElements(meta, key, field, isCut):
	case persist.Kind() == rpc.Array, isCut(persist):
		o.removeMember(meta, key, field)
	}
}

// narrowOptions removes the options of a question about a tool of an MCP server, as Codex asks it without its
// feature tool_call_mcp_elicitation. The bridge remembers no answer to it.
func (o *offer) narrowOptions() {
	for q := range o.params.Get("questions").Elements() {
		if !serverrequest.IsToolQuestion(q) {
			continue
		}
		o.removeElements(q, "options", "params.questions.options", func(e rpc.Value) bool {
			label, _ := e.Get("label").Text()
			return serverrequest.LastsLonger(label)
		})
	}
}

// removeElements removes elements of an array. It reports whether one is left, and removes none otherwise.
func (o *offer) removeElements(object rpc.Value, key, field string, isCut func(rpc.Value) bool) (left bool) {
	list := object.Get(key)
	kept := []json.RawMessage{}
	for e := range list.Elements() {
		if !isCut(e) {
			kept = append(kept, e.Raw())
		}
	}
	if len(kept) == 0 || len(kept) == list.Len() {
		return len(kept) > 0
	}
	raw, err := json.Marshal(kept)
	if err != nil { // it can't fail: parsed JSON
		panic(err)
	}
	o.record(field, list, raw)
	o.patch.Set(object, key, raw)
	return true
}

func (o *offer) removeMember(object rpc.Value, key, field string) {
	if v := object.Get(key); v.Exists() && v.Kind() != rpc.Null {
		o.record(field, v, nil)
		o.patch.Delete(object, key)
	}
}

func (o *offer) record(field string, from rpc.Value, to []byte) {
	o.changes = append(o.changes, policy.Change{
		Field: field, Rule: ruleRemember, From: bytes.Clone(from.Raw()), To: to,
		Reason: "the client is not offered an answer that the bridge would cut to once",
	})
}

// warnCounted tells the user that a consent that was meant to last counts once. Some clients offer one regardless of
// the question: measured, codex-acp 2.6.0 and Codex's terminal interface for patches and permissions.
func (f *Feature) warnCounted(asked *rpc.Envelope, r *bridge.ClientResponse) {
	params := asked.Root().Get("params")
	e, err := rpc.ParseEnvelope(r.Line)
	if err != nil || !IsConsent(e.Root().Get("result")) || !isMeantToLast(r.Root().Get("result")) {
		return
	}
	thread, _ := params.Get("threadId").Text()
	leaves, offered := !f.Policy.RunsInSandbox(asked.Method, params), Offers(asked.Method, params, r.Root().Get("result"))
	f.Policy.WarnOnce(thread, CountsOnce(f.Approvals(), leaves, offered))
}

// isMeantToLast reports whether a client means a consent for longer than once.
func isMeantToLast(result rpc.Value) bool {
	decision := result.Get("decision")
	switch {
	case decision.Is("acceptForSession"), decision.Is("approved_for_session"), decision.Kind() == rpc.Object:
		return true
	case result.Get("scope").Is("session"), result.Get("_meta").Get("persist").Exists():
		return true
	}
	for _, given := range result.Get("answers").Members() {
		for e := range given.Get("answers").Elements() {
			if text, _ := e.Text(); serverrequest.LastsLonger(text) {
				return true
			}
		}
	}
	return false
}

// CountsOnce returns a sentence for the user about a consent that was meant to last, but counts once. leaves reports
// that the call would leave the sandbox, offered that the question offers this answer.
func CountsOnce(a config.Approvals, leaves, offered bool) string {
	switch {
	case leaves:
		return "codex-bridge has let this run once: what leaves the sandbox is never allowed for longer, so the next question comes again."
	case isOff(a):
		return `codex-bridge has accepted this once: approvals.remember = "off" keeps no answer, so the next question comes again.`
	case !offered:
		return "codex-bridge has accepted this once: your client has sent an answer that the question does not offer, so nothing is kept and the next question comes again."
	}
	return "codex-bridge has accepted this once: it keeps no answer to such a question, so the next one comes again."
}
