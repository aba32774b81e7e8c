package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"codex-bridge.example/rpc"
)

// ClientMessage is a client's message to Codex. A handler may change Line, reply, or ask for the
// response. If it returns an error the client gets that, and Codex does not get the message.
// The handlers of one method run in the order of their features, up to the first that replies
// or returns an error.
type ClientMessage struct {
	*rpc.Message
	// Line is the line that Codex gets.
	Line []byte
	// FolderAdded reports that the bridge has added the cwd of a new thread, which the client has not named.
	FolderAdded bool

	internal     bool          // sent by Conn.CallAsClient
	letReadsPass func()        // nil: the message has no place in the order
	reading      *atomic.Int32 // state of the reading goroutine if that handles the message, else nil
	reply        []byte
	onResponse   []func(*ServerResponse)
	async        func(context.Context, *AsyncRequest)
}

// LetReadsPass lets requests that change nothing (Options.Reads) go on before the message, while its
// handler waits for long. Any goroutine may call it.
func (c *ClientMessage) LetReadsPass() {
	if c.letReadsPass != nil {
		c.letReadsPass()
	}
}

// HandleAsync answers the request by f, which runs in a new goroutine. Codex and later features
// do not get the request. f must copy what it needs of the message, which is reused.
func (c *ClientMessage) HandleAsync(f func(context.Context, *AsyncRequest)) { c.async = f }

// Reply sends the client a result in place of Codex.
func (c *ClientMessage) Reply(result []byte) { c.reply = rpc.EncodeResult(c.ID, result) }

// OnResponse calls f with Codex's response to this request, before the client gets it. f runs in
// the order of Codex's messages, so it must not wait for another one. f gets a ServerResponse
// without an Envelope if a later feature rejects the request, if the response can't be read, or
// if the request is abandoned because there are too many.
func (c *ClientMessage) OnResponse(f func(*ServerResponse)) { c.onResponse = append(c.onResponse, f) }

// notifyUnsent runs the response handlers of a message that was not sent to Codex.
func (c *ClientMessage) notifyUnsent() { (&ServerResponse{unsent: true}).runHandlers(c.onResponse) }

// ServerResponse is Codex's response to a client's request.
type ServerResponse struct {
	*rpc.Envelope
	// Line is the line that the client gets.
	Line []byte

	withheld      bool
	unsent        bool
	afterHandlers []func()
	afterSent     []func()
}

// runHandlers runs the handlers of a request with its response.
func (a *ServerResponse) runHandlers(handlers []func(*ServerResponse)) {
	for _, f := range handlers {
		f(a)
	}
	for _, f := range a.afterHandlers {
		f()
	}
}

// Outcome is the known effect of a request.
type Outcome uint8

// Outcomes of a request.
const (
	Unknown   Outcome = iota // Codex may have done it, or may do it later
	Succeeded                // Codex returned a result
	Failed                   // Codex returned an error, or did not get the request
)

// Outcome returns the effect of the request that the response shows.
func (a *ServerResponse) Outcome() Outcome {
	switch {
	case a.unsent:
		return Failed
	case a.Envelope == nil || a.Truncated():
		return Unknown
	case a.Root().Get("error").Exists():
		return Failed
	case a.Root().Get("result").Exists():
		return Succeeded
	}
	return Unknown
}

// Withhold does not send the response of AsyncRequest.Call to the client.
func (a *ServerResponse) Withhold() { a.withheld = true }

// AfterHandlers calls f after all handlers of the response, before the client gets it.
func (a *ServerResponse) AfterHandlers(f func()) { a.afterHandlers = append(a.afterHandlers, f) }

// AfterSent calls f after the response was written to the client.
func (a *ServerResponse) AfterSent(f func()) { a.afterSent = append(a.afterSent, f) }

// Result returns the result. It is Absent if there is an error, or no response that can be
// examined as a whole.
func (a *ServerResponse) Result() rpc.Value {
	if a.Envelope == nil || a.Truncated() {
		return rpc.Value{}
	}
	return a.Root().Get("result")
}

// ServerMessage is a notification or request of Codex to the client.
type ServerMessage struct {
	*rpc.Envelope
	// Line is the line that the client gets. If it is nil the client gets nothing.
	Line []byte

	p          *Proxy
	reply      []byte
	withheld   bool
	ignored    func()                // set by Show
	request    *pendingServerRequest // made for Withhold and Share; registered after all handlers
	onResponse []func(*ClientResponse)
	timeout    time.Duration
	fallback   func(rpc.ID) []byte // returns the line of the reply
}

// TimeoutResult answers Codex's request with the result of fallback if the client has not
// answered within d. A later response of the client is unsolicited. Of several timeouts the
// shortest applies.
func (s *ServerMessage) TimeoutResult(d time.Duration, fallback func() (result []byte)) {
	s.setTimeout(d, func(id rpc.ID) []byte { return rpc.EncodeResult(id, fallback()) })
}

// TimeoutError is TimeoutResult with an error, for a request without a result that declines.
func (s *ServerMessage) TimeoutError(d time.Duration, fallback func() *rpc.Error) {
	s.setTimeout(d, func(id rpc.ID) []byte { return rpc.EncodeError(id, fallback()) })
}

func (s *ServerMessage) setTimeout(d time.Duration, fallback func(rpc.ID) []byte) {
	if s.fallback == nil || d < s.timeout {
		s.timeout, s.fallback = d, fallback
	}
}

// Reply answers Codex's request with a result in place of the client.
func (s *ServerMessage) Reply(result []byte) { s.reply, s.Line = rpc.EncodeResult(s.ID, result), nil }

// Refuse answers Codex's request with an error in place of the client.
func (s *ServerMessage) Refuse(err *rpc.Error) { s.reply, s.Line = rpc.EncodeError(s.ID, err), nil }

// Withhold does not send Codex's request to the client and to later features. The feature
// answers it with the ServerRequest's Reply. After d it is answered with the result of
// fallback.
func (s *ServerMessage) Withhold(d time.Duration, fallback func() (result []byte)) *ServerRequest {
	s.Line, s.withheld = nil, true
	s.TimeoutResult(d, fallback)
	return s.serverRequest()
}

// Show sends Codex's request to the client, but not to later features. Another client answers it, or
// the feature by the ServerRequest: ignored is called for a response of this client, which Codex does
// not get.
func (s *ServerMessage) Show(ignored func()) *ServerRequest {
	s.ignored = ignored
	return s.serverRequest()
}

// Skip sends Codex's request neither to the client nor to later features. Another client answers it, or
// the feature by the ServerRequest, whose Reply does not know of that client's answer.
func (s *ServerMessage) Skip() *ServerRequest {
	s.Line, s.ignored = nil, func() {}
	return &ServerRequest{p: s.p, pending: &pendingServerRequest{id: s.ID.Clone()}}
}

// Share sends Codex's request to the client, and also lets the feature answer it. The first
// answer counts. If it is the feature's, Codex notifies the client.
func (s *ServerMessage) Share() *ServerRequest { return s.serverRequest() }

func (s *ServerMessage) serverRequest() *ServerRequest {
	if s.request == nil {
		s.request = &pendingServerRequest{id: s.ID.Clone()}
	}
	return &ServerRequest{p: s.p, pending: s.request}
}

// OnResponse calls f with the client's response to this request, before Codex gets it. It is not
// called for a withheld request, or without a response of the client. The Envelope stays
// valid until then.
func (s *ServerMessage) OnResponse(f func(*ClientResponse)) { s.onResponse = append(s.onResponse, f) }

// ClientResponse is the client's response to a request of Codex.
type ClientResponse struct {
	*rpc.Message
	// Line is the line that Codex gets.
	Line []byte
	// Received is the client's line; nil if it was too long.
	Received []byte
	// Unreadable says why the client's line could not be read, if this error stands in its place.
	Unreadable *rpc.Error

	withheld bool
}

// Withhold does not send the response to Codex and to later handlers. Another client answers the request.
func (r *ClientResponse) Withhold() { r.withheld = true }
