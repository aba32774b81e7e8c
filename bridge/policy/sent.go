package policy

import "encoding/json"

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
