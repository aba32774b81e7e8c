package bridge

import (
	"context"
	"sync/atomic"
	"time"

	"codex-bridge/rpc"
)

// Party is where a message comes from.
type Side uint8

// The two sides of the bridge.
const (
	Client Side = iota
	Codex
)

func (p Side) String() string { return [...]string{"client", "codex"}[p] }

// Names of a Route that are no method's.
const (
	// Other is every method that the feature has no route of its own for; of
	// codex's messages only the requests, since notifications are many.
	Other = "*"
	// Unasked is an answer of the client to nothing: codex has asked no such
	// question, or it has been answered. Codex may be about to ask it, so who holds
	// answers to a policy has to stop these.
	Unsolicited = ""
)

// Route is one row of the route table: a method that a feature wants to see.
// Exactly one of the handlers is set, that of the side.
type Route struct {
	From         Side
	Method       string
	Why          string // one line for people
	HandleClient func(context.Context, *ClientMessage) *rpc.Error
	HandleServer func(context.Context, *ServerMessage)
	// When reports whether the message is wanted now; nil: always. A change counts for
	// the client's next message, and for a notification of codex at the latest from the next
	// line that a feature gets or the next read of codex's output on. Others pass unread.
	When func() bool
	// Needed tells, of a notification of codex, whether the client may not opt out of it;
	// nil: while Options.Enforces. It is asked when the client sends initialize.
	Required func() bool
	// If tells by a look at the bytes of a notification of codex whether it is wanted;
	// nil: it is. It must be cheap, and allocate nothing.
	Match func(line []byte) bool
}

// wanted is of notifications of codex.
func (r *Route) isWanted() bool {
	if r.When != nil {
		return r.When()
	}
	return r.Method != Other
}

// Feature is a part of the product that takes part in the conversation.
type Feature interface {
	Routes() []Route
}

// Attacher is a Feature that wants to speak itself. Attach is called once, before
// any message.
type Attacher interface {
	Attach(*Conn)
}

// Tap is told all that is said. It has nothing gathered: what no Feature wants still passes
// in runs. It is called in the order in which things are said, from everywhere at once; it
// must not wait, nor keep the bytes.
type Observer interface {
	// Watcher is told what codex says and the client gets as it is.
	rpc.Observer
	// Heard is told what a party has said.
	Received(from Side, line []byte)
	// Told is told what a party is about to be told, by the other or by the bridge.
	Sending(to Side, line []byte)
}

// Call is a client's message on its way to codex. A handler may rewrite it, answer
// it, or ask for its answer; with an error the client is told that and codex hears
// nothing. Handlers of one method run in the order of their features; the first
// that answers or refuses is the last.
type ClientMessage struct {
	*rpc.Message
	// Line is what codex will get.
	Line []byte

	internal   bool          // of the bridge's own: Peer.Request
	reading    *atomic.Int32 // of the goroutine that handles it and reads the client; nil: another reads
	reply      []byte
	onResponse []func(*ServerResponse)
	async      func(context.Context, *AsyncRequest)
}

// Aside has the request answered by f, on a goroutine of its own, in place of codex and
// of the features behind this one. The message changes with the next: what f needs of
// it has to be a copy.
func (c *ClientMessage) HandleAsync(f func(context.Context, *AsyncRequest)) { c.async = f }

// Reply answers the client in codex's place.
func (c *ClientMessage) Reply(result []byte) { c.reply = rpc.EncodeResult(c.ID, result) }

// OnAnswer has f called with codex's answer to this request, before the client
// gets it. f runs with codex's messages: it must not wait for another of them. When
// the request is refused after all, or codex has not answered it in a long time and its
// place is needed, f gets an Answer without an Envelope.
func (c *ClientMessage) OnResponse(f func(*ServerResponse)) { c.onResponse = append(c.onResponse, f) }

// refused tells who waits for the answer that codex was not asked.
func (c *ClientMessage) notifyUnsent() { (&ServerResponse{unsent: true}).runHandlers(c.onResponse) }

// Answer is codex's answer to a client's request.
type ServerResponse struct {
	*rpc.Envelope
	// Line is what the client will get.
	Line []byte

	withheld      bool
	unsent        bool
	afterHandlers []func()
	afterSent     []func()
}

// handle has the handlers of a request see its answer.
func (a *ServerResponse) runHandlers(handlers []func(*ServerResponse)) {
	for _, f := range handlers {
		f(a)
	}
	for _, f := range a.afterHandlers {
		f()
	}
}

// Outcome is what is known of the effect of a request.
type Outcome uint8

// What an Answer says.
const (
	Unknown   Outcome = iota // codex may have done what it was asked, or may do it
	Succeeded                // it says so
	Failed                   // it says so, or was not asked
)

// Outcome is what the answer says of its request.
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

// Keep keeps an answer to Aside.Ask from the client.
func (a *ServerResponse) Withhold() { a.withheld = true }

// AfterHandlers has f called when all handlers have seen the answer, and before the client
// gets it.
func (a *ServerResponse) AfterHandlers(f func()) { a.afterHandlers = append(a.afterHandlers, f) }

// After has f called once the client got the answer.
func (a *ServerResponse) AfterSent(f func()) { a.afterSent = append(a.afterSent, f) }

// Result is the result; Absent when codex answered with an error or with more than
// can be looked at, or was never asked.
func (a *ServerResponse) Result() rpc.Value {
	if a.Envelope == nil || a.Truncated() {
		return rpc.Value{}
	}
	return a.Root().Get("result")
}

// Said is a notification or request of codex on its way to the client.
type ServerMessage struct {
	*rpc.Envelope
	// Line is what the client will get; nil, and it hears nothing.
	Line []byte

	p          *Proxy
	reply      []byte
	withheld   bool
	request    *pendingServerRequest // made for Hold and Either; registered once all routes have run
	onResponse []func(*ClientResponse)
	timeout    time.Duration
	fallback   func(rpc.ID) []byte // the answer's line
}

// Within has codex's request answered with the result that instead gives when the
// client has not answered in time; what it answers then is an answer to nothing. The
// shortest time counts.
func (s *ServerMessage) TimeoutResult(d time.Duration, fallback func() (result []byte)) {
	s.setTimeout(d, func(id rpc.ID) []byte { return rpc.EncodeResult(id, fallback()) })
}

// WithinOr is Within for a request to which only an error says no.
func (s *ServerMessage) TimeoutError(d time.Duration, fallback func() *rpc.Error) {
	s.setTimeout(d, func(id rpc.ID) []byte { return rpc.EncodeError(id, fallback()) })
}

func (s *ServerMessage) setTimeout(d time.Duration, fallback func(rpc.ID) []byte) {
	if s.fallback == nil || d < s.timeout {
		s.timeout, s.fallback = d, fallback
	}
}

// Reply answers codex's request in the client's place.
func (s *ServerMessage) Reply(result []byte) { s.reply, s.Line = rpc.EncodeResult(s.ID, result), nil }

// Refuse answers codex's request with an error in the client's place.
func (s *ServerMessage) Refuse(err *rpc.Error) { s.reply, s.Line = rpc.EncodeError(s.ID, err), nil }

// Hold keeps codex's request from the client, and from the features behind this one:
// it waits for the Held's Reply. Without one in time it is answered with the result
// that instead gives.
func (s *ServerMessage) Withhold(d time.Duration, fallback func() (result []byte)) *ServerRequest {
	s.Line, s.withheld = nil, true
	s.TimeoutResult(d, fallback)
	return s.serverRequest()
}

// Either lets the client have the request, and others answer it: the first answer counts.
// Codex tells the client when that was not the client's.
func (s *ServerMessage) Share() *ServerRequest { return s.serverRequest() }

func (s *ServerMessage) serverRequest() *ServerRequest {
	if s.request == nil {
		s.request = &pendingServerRequest{id: s.ID.Clone()}
	}
	return &ServerRequest{p: s.p, pending: s.request}
}

// OnReply has f called with the client's answer to this request, before codex gets
// it; not when the request is held, or ends without an answer of the client's. The Envelope outlives the call then.
func (s *ServerMessage) OnResponse(f func(*ClientResponse)) { s.onResponse = append(s.onResponse, f) }

// Reply is the client's answer to a request of codex.
type ClientResponse struct {
	*rpc.Message
	// Line is what codex will get.
	Line []byte
}
