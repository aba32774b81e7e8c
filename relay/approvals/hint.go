package approvals

import (
	"encoding/json"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/rpc"
)

// Hint tells a client that knows the bridge what becomes of an approval request. It is the member
// "bridge" of the request's params.
type Hint struct {
	// ExpiresInMs is the time until the bridge declines in the client's place; 0: it waits.
	ExpiresInMs int64 `json:"expiresInMs,omitempty"`
	// AnsweredBy is the client that alone may answer; "": this one may. The question is shown without a way
	// to answer then.
	AnsweredBy string `json:"answeredBy,omitempty"`
	// Remember has the spans for which an acceptance is kept. Without one, it counts once.
	Remember []Span `json:"remember"`
	// RememberMs is how long an acceptance is kept at most; 0 if none is.
	RememberMs int64 `json:"rememberMs,omitempty"`
}

// NewHint returns the hint for a request that waits for an answer for the given time.
func NewHint(a config.Approvals, wait time.Duration, spans ...Span) Hint {
	h := Hint{ExpiresInMs: wait.Milliseconds(), Remember: []Span{}}
	for _, span := range spans {
		if !isOff(a) && (span == Session || Span(a.Remember) == Always) {
			h.Remember = append(h.Remember, span)
		}
	}
	if len(h.Remember) > 0 {
		h.RememberMs = time.Duration(a.TTL).Milliseconds()
	}
	return h
}

// NewWatchHint returns the hint for a client that can't answer a request, which waits for the given time; 0:
// without a limit. answeredBy is the client that can.
func NewWatchHint(answeredBy string, wait time.Duration) Hint {
	return Hint{AnsweredBy: answeredBy, ExpiresInMs: wait.Milliseconds(), Remember: []Span{}}
}

// addHint adds a hint to the line that the client gets, if the client knows the bridge.
func (f *Feature) addHint(msg *bridge.ServerMessage, h Hint) {
	if f.KnowsBridge != nil && f.KnowsBridge() && msg.Line != nil {
		AddHint(msg, h)
	}
}

// AddHint adds a hint to the line that the client gets.
func AddHint(msg *bridge.ServerMessage, h Hint) {
	line, err := rpc.ParseEnvelope(msg.Line) // a feature before this one may have changed the message
	if err != nil {
		return
	}
	params := line.Root().Get("params")
	raw, err := json.Marshal(h)
	if params.Kind() != rpc.Object || err != nil {
		return
	}
	patch := rpc.NewEnvelopePatch(line)
	patch.Set(params, "bridge", raw)
	msg.Line = patch.Bytes()
}
