package bridge

import (
	"context"
	"fmt"

	"codex-bridge/rpc"
)

// Party is where a message comes from.
type Party uint8

// The two sides of the bridge.
const (
	Client Party = iota
	Codex
)

func (p Party) String() string { return [...]string{"client", "codex"}[p] }

// Route is one row of the route table: a method that a feature wants to see.
// Exactly one of the handlers is set, that of the side.
type Route struct {
	From   Party
	Method string
	Why    string // one line for people
	Call   func(context.Context, *Call) *rpc.Error
	Said   func(context.Context, *Said)
}

// Feature is a part of the product that takes part in the conversation.
type Feature interface {
	Routes() []Route
}

// Attacher is a Feature that wants to speak itself. Attach is called once, before
// any message.
type Attacher interface {
	Attach(*Peer)
}

// Call is a client's message on its way to codex. A handler may rewrite it, answer
// it, or ask for its answer; with an error the client is told that and codex hears
// nothing. Handlers of one method run in the order of their features; the first
// that answers or refuses is the last.
type Call struct {
	*rpc.Message
	// Line is what codex will get.
	Line []byte

	reply    []byte
	onAnswer []func(*Answer)
}

// Reply answers the client in codex's place.
func (c *Call) Reply(result []byte) { c.reply = rpc.Reply(c.ID, result) }

// OnAnswer has f called with codex's answer to this request, before the client
// gets it. f runs with codex's messages: it must not wait for another of them. When
// the request is refused after all, f gets an Answer without an Envelope.
func (c *Call) OnAnswer(f func(*Answer)) { c.onAnswer = append(c.onAnswer, f) }

// Answer is codex's answer to a client's request.
type Answer struct {
	*rpc.Envelope
	// Line is what the client will get.
	Line []byte
}

// Result is the result; Absent when codex answered with an error or with more than
// can be looked at, or was never asked.
func (a *Answer) Result() rpc.Value {
	if a.Envelope == nil {
		return rpc.Value{}
	}
	return a.Root().Get("result")
}

// Said is a notification or request of codex on its way to the client.
type Said struct {
	*rpc.Envelope
	// Line is what the client will get; nil, and it hears nothing.
	Line []byte
}

// table is all routes by side and method.
type table [2]map[string][]Route

func newTable(features []Feature) (table, error) {
	t := table{make(map[string][]Route), make(map[string][]Route)}
	for _, f := range features {
		for _, r := range f.Routes() {
			if (r.From == Client) != (r.Call != nil) || (r.From == Codex) != (r.Said != nil) {
				return t, fmt.Errorf("route %s from %s: the handler is not that side's", r.Method, r.From)
			}
			t[r.From][r.Method] = append(t[r.From][r.Method], r)
		}
	}
	return t, nil
}
