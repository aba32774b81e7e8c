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

var reviewers = []string{User, AutoReview, GuardianSubagent}

// IsReviewer tells whether a word is a reviewer of approvals.
func IsReviewer(word string) bool { return slices.Contains(reviewers, word) }

// Granular says for each kind of question whether it may come up. Codex asks for the
// first three; what is nil is left out.
type Granular struct {
	MCPElicitations    bool  `json:"mcp_elicitations"`
	Rules              bool  `json:"rules"`
	SandboxApproval    bool  `json:"sandbox_approval"`
	RequestPermissions *bool `json:"request_permissions,omitempty"`
	SkillApproval      *bool `json:"skill_approval,omitempty"`
}

// Elicitations is the granular form of a policy that is a word, in which the questions of
// MCP servers come through: beside them nothing for never, all else for the others.
func Elicitations(word string) Granular {
	asks := word != Never
	return Granular{MCPElicitations: true, Rules: asks, SandboxApproval: asks}
}

// WithElicitations is g with the questions of MCP servers let through.
func (g Granular) WithElicitations() Granular {
	g.MCPElicitations = true
	return g
}

// Unattended tells whether nothing is asked and nothing held back, so that what still
// comes as a question may be accepted: never, by the word, with danger-full-access.
func Unattended(word, sandbox string) bool { return word == Never && sandbox == DangerFullAccess }
