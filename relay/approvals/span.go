package approvals

import (
	"bytes"
	"slices"

	"codex-bridge.example/rpc"
)

// amendment is the decision that accepts a command, and by Codex's own rules later ones that begin like it.
const amendment = "acceptWithExecpolicyAmendment"

// ConsentSpan returns how long the result of a question is meant to last. It returns Off if the question does
// not offer the answer.
func ConsentSpan(method string, params, result rpc.Value) Span {
	if !Offers(method, params, result) {
		return Off
	}
	if method == elicitation {
		return persistSpan(result.Get("_meta").Get("persist"))
	}
	return decisionSpan(result.Get("decision"))
}

// Offers reports whether a question offers the answer of a client. Measured with Codex 0.169 and 0.171: alone it
// takes others, such as a wider amendment, and stores that one.
func Offers(method string, params, result rpc.Value) bool {
	if method == elicitation {
		span := persistSpan(result.Get("_meta").Get("persist"))
		return span == Off || slices.Contains(offeredSpans(method, params), span)
	}
	list := params.Get("availableDecisions")
	if list.Kind() != rpc.Array {
		return !result.Get("decision").Get(amendment).Exists()
	}
	for e := range list.Elements() {
		if isEqual(e, result.Get("decision")) {
			return true
		}
	}
	return false
}

// decisionSpan returns how long a decision about a command or patch lasts.
func decisionSpan(decision rpc.Value) Span {
	switch {
	case decision.Is("acceptForSession"):
		return Session
	case decision.Get(amendment).Exists():
		return Always
	}
	return Off
}

// persistSpan returns how long a consent to a tool of an MCP server lasts.
func persistSpan(v rpc.Value) Span {
	for _, span := range []Span{Session, Always} {
		if v.Is(string(span)) {
			return span
		}
	}
	return Off
}

// isEqual reports whether two JSON values are equal.
func isEqual(a, b rpc.Value) bool {
	x, err := Canonical(a.Raw())
	if err != nil {
		return false
	}
	y, err := Canonical(b.Raw())
	return err == nil && bytes.Equal(x, y)
}

// offeredSpans returns the spans that the answers to a request can name.
func offeredSpans(method string, params rpc.Value) (spans []Span) {
	of, list := decisionSpan, params.Get("availableDecisions")
	if method == elicitation {
		of, list = persistSpan, params.Get("_meta").Get("persist")
	}
	switch {
	case list.Kind() == rpc.Array:
		for e := range list.Elements() {
			if span := of(e); span != Off {
				spans = append(spans, span)
			}
		}
	case method != elicitation:
		spans = []Span{Session}
	case of(list) != Off: // one span as a text
		spans = []Span{of(list)}
	}
	return spans
}
