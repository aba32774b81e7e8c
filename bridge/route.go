package bridge

import (
	"bytes"
	"context"

	"codex-bridge.example/rpc"
)

// Side is the sender or receiver of a message.
type Side uint8

// The two sides of a Proxy.
const (
	Client Side = iota
	Codex
)

func (p Side) String() string { return [...]string{"client", "codex"}[p] }

// Values of Route.Method that are not methods.
const (
	// Other matches every method that the feature has no other route for. Of Codex's messages it
	// matches only requests, since there are many notifications.
	Other = "*"
	// Unsolicited matches a response of the client without a pending request of Codex. Codex may
	// send that request a moment later, so a feature that checks responses must stop them.
	Unsolicited = ""
)

// Route is one row of the route table: a method that a feature handles. From decides which of
// the two handlers is set.
type Route struct {
	From         Side
	Method       string
	Why          string // one line for `codex-bridge methods`
	HandleClient func(context.Context, *ClientMessage) *rpc.Error
	HandleServer func(context.Context, *ServerMessage)
	// When reports whether the feature wants the message now; nil means always. The handler may
	// be called even so, if another feature wants the message. A change is effective from the
	// client's next message. For notifications of Codex see rpc.Filter.
	When func() bool
	// Required reports whether the client must not opt out of the notification; nil means
	// Options.Enforces. It is called when the client sends initialize.
	Required func() bool
	// ReadOnly states that HandleServer only reads notifications: it sets nothing in the
	// ServerMessage and keeps nothing of it, except a Clone. A notification that only such routes
	// want is written together with those around it, soon after the handlers.
	ReadOnly bool
	// Match reports by the bytes of a notification of Codex whether the feature wants it; nil
	// means true. It must be fast and not allocate.
	Match func(line []byte) bool
}

// isWanted reports whether a notification of Codex is wanted.
func (r *Route) isWanted() bool {
	if r.When != nil {
		return r.When()
	}
	return r.Method != Other
}

// Feature is a part of the bridge that handles messages. NewProxy refuses features whose stages are not in order.
type Feature interface {
	Routes() []Route
	Stage() Stage
}

// Stage is a place in the order in which features handle a message. The order is a security property: the guard does
// not judge a message that an earlier stage answers, and a later stage sees only messages that the policy has passed.
type Stage uint8

// The stages, in their order.
const (
	BeforeGuard Stage = iota // answers the bridge's own methods, and keeps the clients of one Codex apart
	Guarding                 // enforces the policy
	AfterGuard               // asks people, installs hooks and offers tools
	Last                     // records messages as they are sent
)

func (s Stage) String() string {
	return [...]string{"before the guard", "guard", "after the guard", "last"}[s]
}

// Attacher is a Feature that sends messages itself. Attach is called once, before any
// message.
type Attacher interface {
	Attach(*Conn)
}

// Start of a notification about an item, and the text between its method and the item's
// type, as Codex 0.169.0 writes it.
var (
	methodFirst = []byte(`{"method":"`)
	typeFirst   = []byte(`","params":{"item":{"type":"`)
)

// MatchItemType returns a Route.Match for item/started and item/completed: it reports whether
// the item may have the type name. An item can be as long as a command's output, so the
// function reads only its start; if the type is not there it searches the whole line.
func MatchItemType(name string) func(line []byte) bool {
	quoted := []byte(`"` + name + `"`)
	return func(line []byte) bool {
		if is, ok := itemType(line); ok {
			return string(is) == name // does not allocate
		}
		return bytes.Contains(line, quoted)
	}
}

// itemType returns the type if it comes first. Codex's types need no escapes.
func itemType(line []byte) (name []byte, ok bool) {
	rest, ok := bytes.CutPrefix(line, methodFirst)
	if !ok {
		return nil, false
	}
	end := bytes.IndexByte(rest, '"')
	if end < 0 {
		return nil, false
	}
	if rest, ok = bytes.CutPrefix(rest[end:], typeFirst); !ok {
		return nil, false
	}
	end = bytes.IndexByte(rest, '"')
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return nil, false
	}
	return rest[:end], true
}
