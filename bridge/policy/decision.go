package policy

import (
	"encoding/json"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// Verdict is the outcome of a decision.
type Verdict string

// These are the verdicts.
const (
	Pass    Verdict = "pass"    // Codex gets the original line
	Rewrite Verdict = "rewrite" // Codex gets Decision.Message
	Deny    Verdict = "deny"    // Codex gets nothing, and the client Decision.Err
	// Accept: a rule answers a request of Codex in the person's place. Codex gets Decision.Answer,
	// and the client does not get the request.
	Accept Verdict = "accept"
)

// Change is one change to a message.
type Change struct {
	Field  string          `json:"field"` // "params.config.features.x"
	Rule   string          `json:"rule"`  // the configuration key, such as "policy.sandbox"
	Reason string          `json:"reason"`
	Origin string          `json:"origin,omitempty"` // "user FILE:LINE"; absent: no file sets the rule
	From   json.RawMessage `json:"from,omitempty"`   // absent if the client omitted it
	To     json.RawMessage `json:"to,omitempty"`     // absent if the bridge removed it
	// Narrows reports that the user must know of the change even if the client omitted the field:
	// the thread may do less than Codex's configuration says, such as in a folder that can't be written, or it loses a
	// workspace root.
	Narrows bool `json:"narrows,omitempty"`
}

// Decision is the result for one message. It is the same under audit and enforce; Policy.Mode says
// whether the caller applies it.
type Decision struct {
	Verdict Verdict
	// Message is the line for Codex without a line end; the parsed line under Pass. Under Deny it is
	// nil, or the response that declines in place of the client's.
	Message []byte
	Changes []Change
	// Err is the error for the client under Deny.
	Err *rpc.Error
	// Answer is the result for Codex if a denied request can be declined by a result; else Codex
	// gets Err.
	Answer []byte
	// ShownReason is the reason that the client gets with a request of Codex, a JSON string; nil
	// for Codex's own.
	ShownReason json.RawMessage
	// Ask reports that a person must decide about a tool call that passes the rules. AskReason is
	// the reason for that person, or "". LeavesSandbox reports that the call would leave the
	// sandbox.
	Ask       bool
	AskReason string
	// Consent names the rules that ask about the start of a program, also if the person has accepted it on the line;
	// "" if there are none, or if others than that person must approve it.
	Consent       string
	LeavesSandbox bool
	// AllowedByRule reports that a rule allows the tool call.
	AllowedByRule bool
	// Asked are the commands of a tool call's line about which rules ask, under State.ProgramStarts. If the
	// call runs, a person was asked about them: they are State.Accepted for the programs of the call.
	Asked []rules.AskedCommand
	// Unasked is why that person must not be asked, so that only a remembered answer lets the call run;
	// "" if they may be.
	Unasked string
	// Approvers are the members of groups who must approve the call besides the person. The rule is in
	// ApproversRule.
	Approvers     []config.Quorum
	ApproversRule *config.Rule
	// Exceptions are the exceptions by which a tool call passes, to be logged if it runs. Those by which Codex
	// may get an answer are in Changes.
	Exceptions []rules.Exception
	// Terms says which remembered answers to that question count.
	AnswerTerms AnswerTerms
	// Gated reports whether the bridge asks in Codex's place in the thread from now on; nil if the
	// message does not change that.
	Gated *bool
	// Sent are the settings that reported.Verify compares with the response; nil except for thread/start,
	// thread/resume and thread/fork.
	Sent *SentSettings
	// Workspace is the canonical workspace of the thread that the request opens; "" if unknown, as
	// for resume and fork without a cwd.
	Workspace string
	// Writable are canonical folders, without the workspace, that a message to an open thread makes
	// writable for its commands, now or in a later turn.
	Writable []string
	// Want is the fact without which the verdict is Deny. Ask Codex for it and decide again; if it stays
	// unknown, the denial stays. See Missing.
	Want Want
	// ConfigCwd is the cwd for config/read, or "".
	ConfigCwd string
	// Untrusted is the folder whose project configuration Codex must not load; "" if Codex loads
	// it, or if the user's own configuration already distrusts it.
	Untrusted string
}

// decisionJSON is the form of a Decision in `policy explain --json`.
type decisionJSON struct {
	Verdict       Verdict         `json:"verdict"`
	Message       json.RawMessage `json:"message,omitempty"`
	Changes       []Change        `json:"changes"`
	Error         *rpc.Error      `json:"error,omitempty"`
	Workspace     string          `json:"workspace,omitempty"`
	NeedsDefaults bool            `json:"needsDefaults,omitempty"`
	NeedsFolder   bool            `json:"needsFolder,omitempty"`
	Untrusted     string          `json:"untrusted,omitempty"`
}

// MarshalJSON is deterministic: changes are in the order of the rules, and the message keeps its
// bytes except white space.
func (d Decision) MarshalJSON() ([]byte, error) {
	out := decisionJSON{d.Verdict, d.Message, d.Changes, d.Err, d.Workspace, d.Want == WantConfiguration, d.Want == WantThreadFolder, d.Untrusted}
	if out.Changes == nil {
		out.Changes = []Change{}
	}
	return json.Marshal(out)
}

// SentSettings are the settings that the bridge sent Codex in a request that opens a thread. reported.Verify
// compares them with the response. A zero field was omitted.
type SentSettings struct {
	Method      string
	Approval    json.RawMessage // approvalPolicy
	Gated       *bool           // whether the bridge asks in Codex's place; nil if unchanged
	Reviewer    json.RawMessage // approvalsReviewer
	Sandbox     string          // the mode, also for a builtin permissions profile
	Workspace   string          // the canonical folder that must equal the echoed cwd
	CwdWithin   string          // the workspace that must contain the echoed cwd if Workspace is ""
	Project     string          // the folder whose project configuration Codex may load; "" for none
	Profile     Profile         // the profile of the overlay
	ProfileName string          // the variant that the request names; "" for none, or any variant of a loaded thread
	// Trusts reports that Codex alone would store the project as trusted, if the thread gets more than
	// read-only. KnownFolder is that of the thread that is resumed or forked; see State.KnownFolder.
	Trusts      bool
	KnownFolder string
	// WithoutTmpdir and WithoutSlashTmp are those of a Thread.
	WithoutTmpdir, WithoutSlashTmp bool
	// InnerRoots are roots that Codex alone would give the thread; see State.InnerRoots.
	InnerRoots []string
	// Loaded reports that Codex had loaded the thread. It then ignores the request's settings, and
	// those of the thread count if the policy allows them.
	Loaded bool
}
