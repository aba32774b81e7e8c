package setting

import "slices"

// The approval policies that are a word.
const (
	Untrusted = "untrusted"
	OnRequest = "on-request"
	Never     = "never"
	// OnFailure is in older records and files only: Codex refuses it (-32600).
	OnFailure = "on-failure"
)

var approvals = []string{Never, OnRequest, OnFailure, Untrusted}

// IsApproval tells whether a word is an approval policy, of today or of before.
func IsApproval(word string) bool { return slices.Contains(approvals, word) }

// Approval is the approval policy as Codex takes it. on-failure asked when a command had
// failed in the sandbox; what is left of that is on-request.
func Approval(word string) string {
	if word == OnFailure {
		return OnRequest
	}
	return word
}

// The reviewers of approvals.
const (
	User             = "user"
	AutoReview       = "auto_review"
	GuardianSubagent = "guardian_subagent" // the older name of auto_review
)
