package policy

import (
	"encoding/json"

	"codex-bridge/rpc"
)

// Verdict is what becomes of a message.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"    // Codex gets the line as it came
	Rewrite Verdict = "rewrite" // Codex gets Decision.Message
	Deny    Verdict = "deny"    // Codex gets nothing, the client Decision.Err
	// Accept is a rule's consent to a question of Codex's, in the person's place: Codex
	// gets Decision.Answer, and the client hears nothing.
	Accept Verdict = "accept"
)

// Change is one thing that a decision did to a message.
type Change struct {
	Field  string          `json:"field"` // "params.config.features.x"
	Rule   string          `json:"rule"`  // the configuration key, "policy.sandbox"
	Reason string          `json:"reason"`
	Origin string          `json:"origin,omitempty"` // "user FILE:LINE"; absent: no file sets the rule
	From   json.RawMessage `json:"from,omitempty"`   // absent: it was left out
	To     json.RawMessage `json:"to,omitempty"`     // absent: it was taken out
}

// Decision is the answer to one message. It is the same under audit and under
// enforce; Policy.Mode says whether the caller acts on it.
type Decision struct {
	Verdict Verdict
	// Message is the line for Codex, without a line end; nil when denied. When
	// the verdict is pass it is the line that was parsed.
	Message []byte
	Changes []Change
	// Err is for the client, when denied.
	Err *rpc.Error
	// Answer is the result that Codex gets in place of the client's, when one of its
	// questions is denied and a plain no can be said; else it gets Err.
	Answer []byte
	// Marked is the reason that the client is shown with a question of Codex's, a JSON
	// text; nil: that of Codex.
	ShownReason json.RawMessage
	// Ask: a tool call that passes the rules is for a person to say. Asked is what they
	// are told why, "" nothing, and LeavesSandbox that it would leave the sandbox.
	Ask           bool
	AskReason     string
	LeavesSandbox bool
	// Gated tells whether the bridge asks in Codex's place in the thread from now on; nil:
	// the message does not speak of it.
	Gated *bool
	// Sent is what Verify compares the answer with; nil but for thread/start,
	// thread/resume and thread/fork.
	Sent *SentSettings
	// Workspace is the canonical folder that a thread request gives its thread;
	// "" when the message does not tell (resume and fork without a cwd).
	Workspace string
	// Writable are canonical folders, without the workspace, that a message to an open thread lets its
	// commands write, now or in a later turn.
	Writable []string
	// NeedsDefaults: the verdict is deny only because State.Defaults is not
	// known, or was read for another folder than ConfigCwd. Read the configuration
	// for ConfigCwd and ask again; where it can't be read, the denial stands.
	NeedsDefaults bool
	// ConfigCwd is the cwd that config/read is to be asked for, "" for none.
	ConfigCwd string
	// NeedsThreadFolder: the verdict is deny only because State.ThreadFolder is not known. Ask
	// codex (thread/read) and decide again; where there is no answer, the denial
	// stands.
	// NeedsStoredSandbox: State.StoredSandbox is missing.
	NeedsStoredSandbox bool
	// NeedsLoadedProfile: State.LoadedProfile or State.NotLoaded is missing.
	NeedsLoadedProfile bool
	NeedsThreadFolder  bool
	// Untrusted is the folder whose own configuration is kept from being loaded; ""
	// when it is loaded, or when the user's own configuration distrusts it anyway.
	Untrusted string
}

// decisionJSON is a Decision as `policy explain --json` prints it.
type decisionJSON struct {
	Verdict       Verdict         `json:"verdict"`
	Message       json.RawMessage `json:"message,omitempty"`
	Changes       []Change        `json:"changes"`
	Error         *errorJSON      `json:"error,omitempty"`
	Workspace     string          `json:"workspace,omitempty"`
	NeedsDefaults bool            `json:"needsDefaults,omitempty"`
	NeedsFolder   bool            `json:"needsFolder,omitempty"`
	Untrusted     string          `json:"untrusted,omitempty"`
}

// errorJSON is an rpc.Error: encoding/json would write its data as base64.
type errorJSON struct {
	Code    rpc.Code        `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// MarshalJSON is stable: the changes stand in the order of the rules, the
// message in its own bytes but for white space.
func (d Decision) MarshalJSON() ([]byte, error) {
	out := decisionJSON{d.Verdict, d.Message, d.Changes, nil, d.Workspace, d.NeedsDefaults, d.NeedsThreadFolder, d.Untrusted}
	if d.Err != nil {
		out.Error = &errorJSON{d.Err.Code, d.Err.Message, json.RawMessage(d.Err.Data)}
	}
	if out.Changes == nil {
		out.Changes = []Change{}
	}
	return json.Marshal(out)
}

// SentSettings is what a thread request asked of Codex once policy was through with it:
// what the answer is compared with. Nothing in it stands for a field that was
// left out.
type SentSettings struct {
	Method      string
	Approval    json.RawMessage // approvalPolicy
	Gated       *bool           // whether the bridge asks in codex's place; nil: as it did before
	Reviewer    json.RawMessage // approvalsReviewer
	Sandbox     string          // mode, also for a builtin permissions profile
	Workspace   string          // the canonical folder that the echoed cwd must be
	CwdWithin   string          // the workspace that an echoed cwd must lie in, when Workspace is ""
	Project     string          // the folder whose own configuration may be loaded; "" none
	Profile     Profile         // the profile that the overlay defines
	ProfileName string          // the variant of it that was named; "" none, or any of a thread that Codex has loaded
}
