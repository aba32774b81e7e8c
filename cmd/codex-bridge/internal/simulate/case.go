package simulate

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
	Thread  *CaseThread
	Config  json.RawMessage // Codex's own configuration; nil: empty
	Models  []string        // that Codex lists, its default first; nil: unknown

	Args    []string // a command line
	Command *string  // a shell command of the model in the sandbox

	Want CaseWant
}

// CaseThread is a verified thread.
type CaseThread struct{ ID, Workspace, Sandbox string }

// CaseWant is the expected decision. Members that are nil or empty are not compared.
type CaseWant struct {
	Verdict policy.Verdict // of a shell command: Allow, Ask or policy.Deny
	Fields  map[string]any // all changes: the new value, or RemovedField
	Error   *int64
	Rule    string
	Gets    any      // the message that Codex gets
	Args    []string // the arguments that Codex gets
	Flags   []string // the removed flags
}

// Verdicts of shell commands, besides policy.Deny.
const (
	CaseAllow policy.Verdict = "allow"
	CaseAsk   policy.Verdict = "ask"
)

// RemovedField stands for the value of a removed field.
const RemovedField = "taken out"

// CaseError is an error in a file.
type CaseError struct {
	File    string
	Line    int
	Problem string
}

func (f *CaseError) Error() string { return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Problem) }
