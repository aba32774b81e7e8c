// Package cases reads the files of `codex-bridge policy test`: what a client says,
// or how codex is started, and what must become of it. It promises that a file it
// accepts has no key that nobody looks at; it judges nothing.
//
// Nothing in it is shared, so that any number of goroutines may use it.
package cases

import (
	"encoding/json"
	"fmt"

	"codex-bridge/bridge/policy"
)

// Case is one message or one command line, and what is expected of it.
type Case struct {
	File string
	Line int // where it begins
	Name string

	Policy    *string // the configuration, TOML; nil: the one at hand
	Workspace string  // the folder; "": an empty one, made for the case

	Message []byte // JSON, as the client's line would be; nil: a command line
	Server  bool   // the message is codex's, not the client's
	Asked   []byte // what codex asked, JSON, when Message is the client's answer
	Thread  *Thread
	Config  json.RawMessage // codex's own configuration; nil: it says nothing

	Args []string // a command line; nil: a message

	Want Want
}

// Thread is a verified thread.
type Thread struct{ ID, Workspace, Sandbox string }

// Want is what must become of it. What is nil or empty is not looked at.
type Want struct {
	Verdict policy.Verdict
	Fields  map[string]any // all the changes: the new value, or TakenOut
	Error   *int64
	Rule    string
	Gets    any      // the message that codex gets
	Args    []string // the arguments that codex gets
	Flags   []string // the flags that were taken out
}

// TakenOut stands for the value of a field that is taken out.
const TakenOut = "taken out"

// Fault is what is wrong with a file.
type Fault struct {
	File    string
	Line    int
	Problem string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Problem) }
