// Package cases reads the test files of `codex-bridge policy test`: messages, arguments of Codex or
// shell commands of the model, and the expected decisions. It refuses files with unknown keys. It decides
// nothing.
//
// Its functions may be called concurrently.
package cases

import (
	"encoding/json"
	"fmt"

	"codex-bridge.example/bridge/policy"
)

// Case is one message, command line or shell command with its expected decision.
type Case struct {
	File string
	Line int // of the case in the file
	Name string

	Policy    *string // TOML; nil: the current configuration
	Workspace string  // "": an empty folder, created for the case

	Message []byte // JSON, as the line of the client; nil: a command line or a shell command
	Server  bool   // Codex sends the message
	Asked   []byte // Codex's request as JSON, if Message is the client's response
	Thread  *Thread
	Config  json.RawMessage // Codex's own configuration; nil: empty

	Args    []string // a command line
	Command *string  // a shell command of the model in the sandbox

	Want Want
}

// Thread is a verified thread.
type Thread struct{ ID, Workspace, Sandbox string }

// Want is the expected decision. Members that are nil or empty are not compared.
type Want struct {
	Verdict policy.Verdict // of a shell command: Allow, Ask or policy.Deny
	Fields  map[string]any // all changes: the new value, or Removed
	Error   *int64
	Rule    string
	Gets    any      // the message that Codex gets
	Args    []string // the arguments that Codex gets
	Flags   []string // the removed flags
}

// Verdicts of shell commands, besides policy.Deny.
const (
	Allow policy.Verdict = "allow"
	Ask   policy.Verdict = "ask"
)

// Removed stands for the value of a removed field.
const Removed = "taken out"

// Fault is an error in a file.
type Fault struct {
	File    string
	Line    int
	Problem string
}

func (f *Fault) Error() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Problem) }
