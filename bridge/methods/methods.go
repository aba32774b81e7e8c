// Package methods is the table of all methods of Codex's protocol: what each does, and whether an
// enforcing policy forwards, checks or refuses it. A method without a row is unknown. The
// package has no knowledge of a particular policy.
//
// CheckRequest and its neighbours check that a client's messages have the shape of Codex's own JSON
// schema. Codex decodes with serde, which accepts several forms of a value: an array for a struct,
// a map with one key for the name of an enum, an array for a tagged object. The policy examines
// only the form in the schema, so messages with another form must be refused. The shapes of a
// method are decoded at its first message: few methods are used in a conversation, and all shapes
// take 12 ms and 2 MiB.
//
// cmd/bridge-schema (`make schema`) writes the names (schema.json) and the shapes (shapes.json) from
// the schema that Codex itself prints. Tests compare the rows with the names. The data does not
// change, so all functions may be called concurrently.
package methods

import "fmt"

// Side is the sender and kind of a message. A method may exist on more than one side.
type Side uint8

// The sides.
const (
	ClientRequest Side = iota
	ClientNotification
	ServerRequest
	ServerNotification

	sides // number of sides
)

// Class is the effect of a message; for a message of Codex, its subject.
type Class string

// The classes.
const (
	Read          Class = "read"          // changes nothing
	Thread        Class = "thread"        // opens a thread, or sets the permissions of its turns
	Turn          Class = "turn"          // starts, steers or ends a turn
	ModelWork     Class = "model work"    // uses the model without turn/start
	Execute       Class = "execute"       // runs a program
	FileWrite     Class = "file write"    // changes files that the client names
	FileRead      Class = "file read"     // reads files or names of files
	Configuration Class = "configuration" // changes Codex's configuration, for all threads
	Extension     Class = "extension"     // adds code, skills, servers or executors
	Account       Class = "account"       // credentials and costs of the account
	Remote        Class = "remote"        // admits other devices, or sends data out
	State         Class = "state"         // changes Codex's own records: names, archives, memories
)

// Verdict is what an enforcing policy does with a message unless it overrides the method.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"    // forwarded
	Rewrite Verdict = "rewrite" // its Fields are checked, and rewritten if necessary
	Gate    Verdict = "gate"    // like Rewrite, and only on a verified thread
	Deny    Verdict = "deny"    // refused
	Ask     Verdict = "ask"     // the user decides; only by policy.methods
)

// Row describes one method of one side.
type Row struct {
	Side    Side
	Method  string
	Class   Class
	Verdict Verdict
	// Rules are the names of the policy's rules that judge the request as a whole.
	Rules []string
	// Params are the members of params (for a server request, of the response) that the policy knows.
	Params []Field
	// Fields are the names of those of Params that a rule checks. They are empty if the method alone decides.
	Fields []string
	// Since and Until are the first and the last release of Codex with the method. Empty: the oldest supported one,
	// and the newest.
	Since, Until string
	// Why is one line for people: the effect, or the reason for the verdict.
	Why string
}

// Field is a member of the params of a method, or of the response to a server request.
type Field struct {
	Name string
	Rule string // the name of the policy's rule for it, or AnyValue or one of its neighbours
	// Since and Until are as in Row.
	Since, Until string
}

// Rules of fields that are not the policy's.
const (
	AnyValue     = "any"      // no rule limits the field
	KnownThread  = "thread"   // the guard checks the thread
	ClientAnswer = "answer"   // a field of the client's response
	Applied      = "settings" // the guard compares the field with the policy
	Unjudged     = "unjudged" // the policy removes the field, which a person has not judged yet
)

var sideNames = [sides]string{"client request", "client notification", "server request", "server notification"}

// Sides returns all sides.
func Sides() []Side {
	return []Side{ClientRequest, ClientNotification, ServerRequest, ServerNotification}
}

// String returns the side as `codex-bridge methods` prints it.
func (s Side) String() string {
	if s < sides {
		return sideNames[s]
	}
	return fmt.Sprintf("side %d", uint8(s))
}

// IsFromClient reports whether the client sends the message.
func (s Side) IsFromClient() bool { return s == ClientRequest || s == ClientNotification }

// IsOverridable reports whether policy.methods applies. It does not apply to notifications of
// Codex, which report past events.
func (s Side) IsOverridable() bool { return s != ServerNotification }

// MarshalText returns the text of String.
func (s Side) MarshalText() ([]byte, error) {
	if s >= sides {
		return nil, fmt.Errorf("unknown side %d", uint8(s))
	}
	return []byte(sideNames[s]), nil
}

// UnmarshalText parses the text of MarshalText.
func (s *Side) UnmarshalText(text []byte) error {
	for side, name := range sideNames {
		if name == string(text) {
			*s = Side(side)
			return nil
		}
	}
	return fmt.Errorf("unknown side %q", text)
}

// Override returns the verdict with an override of [policy.methods]: "allow", "deny", "ask", or
// "" for none. Notifications of Codex can't be overridden. For a request of Codex, "deny"
// declines in the client's place, and with "ask" no rule consents. "allow" only lifts Deny: Fields
// are still checked, since the policy has rules for them.
func (r Row) Override(override string) Verdict {
	if !r.Side.IsOverridable() {
		return r.Verdict
	}
	switch override {
	case "deny":
		return Deny
	case "ask":
		return Ask
	case "allow":
		if r.Verdict == Deny {
			return Pass
		}
	}
	return r.Verdict
}
