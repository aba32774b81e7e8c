package setting

import (
	"fmt"
	"slices"
	"strings"
)

// Sandbox modes of a thread, from the narrowest to the widest.
const (
	ReadOnly         = "read-only"
	WorkspaceWrite   = "workspace-write"
	DangerFullAccess = "danger-full-access"
)

// Sandboxes are the modes, from the narrowest to the widest.
var Sandboxes = [...]string{ReadOnly, WorkspaceWrite, DangerFullAccess}

// IsSandbox reports whether a word is a sandbox mode.
func IsSandbox(word string) bool { return slices.Contains(Sandboxes[:], word) }

// Types of a turn's sandbox.
const (
	readOnly         = "readOnly"
	workspaceWrite   = "workspaceWrite"
	dangerFullAccess = "dangerFullAccess"
)

// ThreadSandbox returns the mode of a thread for the type of a turn's sandbox, or "".
func ThreadSandbox(kind string) string {
	return map[string]string{readOnly: ReadOnly, workspaceWrite: WorkspaceWrite, dangerFullAccess: DangerFullAccess}[kind]
}

// SandboxPolicy is the sandbox of a turn, in the form of Codex.
type SandboxPolicy struct {
	Type                string   `json:"type"`
	WritableRoots       []string `json:"writableRoots,omitempty"`
	NetworkAccess       *bool    `json:"networkAccess,omitempty"`
	ExcludeTmpdirEnvVar *bool    `json:"excludeTmpdirEnvVar,omitempty"`
	ExcludeSlashTmp     *bool    `json:"excludeSlashTmp,omitempty"`
}

// Excluded are temporary folders that workspace-write does not make writable.
type Excluded struct{ Tmpdir, SlashTmp bool }

// And returns what either excludes.
func (e Excluded) And(other Excluded) Excluded {
	return Excluded{e.Tmpdir || other.Tmpdir, e.SlashTmp || other.SlashTmp}
}

// Config returns keys of Codex's configuration that exclude the same.
func (e Excluded) Config() map[string]bool {
	keys := make(map[string]bool)
	if e.Tmpdir {
		keys["sandbox_workspace_write.exclude_tmpdir_env_var"] = true
	}
	if e.SlashTmp {
		keys["sandbox_workspace_write.exclude_slash_tmp"] = true
	}
	return keys
}

// TurnSandbox returns the sandbox of a turn in the folder cwd for a thread's mode: without network, and
// only that folder is writable, with the temporary folders that are not excluded.
func TurnSandbox(mode, cwd string, excluded Excluded) (SandboxPolicy, error) {
	no := new(bool)
	switch mode {
	case DangerFullAccess:
		return SandboxPolicy{Type: dangerFullAccess}, nil
	case ReadOnly:
		return SandboxPolicy{Type: readOnly, NetworkAccess: no}, nil
	case WorkspaceWrite:
		if cwd == "" {
			return SandboxPolicy{}, fmt.Errorf("the sandbox %s needs a folder", mode)
		}
		return SandboxPolicy{
			Type: workspaceWrite, WritableRoots: []string{cwd},
			NetworkAccess: no, ExcludeTmpdirEnvVar: &excluded.Tmpdir, ExcludeSlashTmp: &excluded.SlashTmp,
		}, nil
	}
	return SandboxPolicy{}, fmt.Errorf("%q is not a sandbox mode; write read-only, workspace-write or danger-full-access", mode)
}

// Approval policies with a simple name.
const (
	Untrusted = "untrusted"
	OnRequest = "on-request"
	Never     = "never"
	// OnFailure is in older records and files. Codex refuses it (-32600).
	OnFailure = "on-failure"
)

var approvals = []string{Never, OnRequest, OnFailure, Untrusted}

// IsApproval reports whether a word is an approval policy, current or older.
func IsApproval(word string) bool { return slices.Contains(approvals, word) }

// Approval returns the approval policy in its current form: on-request for on-failure, which asked
// after a command had failed in the sandbox.
func Approval(word string) string {
	if word == OnFailure {
		return OnRequest
	}
	return word
}

// Reviewers of approvals.
const (
	User             = "user"
	AutoReview       = "auto_review"
	GuardianSubagent = "guardian_subagent" // the older name of auto_review
)

// Providers with special meaning.
const (
	openAI      = "openai"
	openAICodex = "openai-codex" // older name of openai
	codexOwn    = "codex"        // Codex's default
)

// RequestProvider returns the model provider for a request; "" means Codex's default.
func RequestProvider(name string) string {
	name = strings.TrimSpace(name)
	switch strings.ToLower(name) {
	case codexOwn:
		return ""
	case openAICodex:
		return openAI
	}
	return name
}

// BoundProvider returns the model provider for a binding; "" means none.
func BoundProvider(name string) string { return strings.TrimSpace(name) }

// Service tiers with several spellings.
const (
	Priority = "priority"
	Flex     = "flex"
)

// ServiceTier returns a service tier in Codex's spelling: priority for "fast". Unknown tiers are
// returned unchanged, without white space around them.
func ServiceTier(text string) string {
	text = strings.TrimSpace(text)
	switch strings.ToLower(text) {
	case "fast", Priority:
		return Priority
	case Flex:
		return Flex
	}
	return text
}

const (
	minimal = "minimal"
	low     = "low"
)

// efforts are passed to Codex unchanged. Newer models have max and ultra.
var efforts = []string{low, "medium", "high", "xhigh", "max", "ultra"}

// refusesMinimalModels are models without minimal, for a Codex that does not list them.
var refusesMinimalModels = []string{"gpt-5.5", "gpt-5.4", "gpt-5.4-mini", "gpt-5.3-codex-spark", "gpt-5.2"}

// Effort returns the reasoning effort of a turn for a level of thinking; "" means the model's
// default. offered are the model's efforts in model/list, or nil if it is not listed. A model
// without minimal gets low.
func Effort(level, model string, offered []string) string {
	switch {
	case slices.Contains(efforts, level):
		return level
	case level != minimal:
		return ""
	case offered != nil && !slices.Contains(offered, minimal), offered == nil && refusesMinimal(model):
		return low
	}
	return minimal
}

// IsMinimal reports whether the effort for a level depends on the model.
func IsMinimal(level string) bool { return level == minimal }

func refusesMinimal(model string) bool {
	return slices.Contains(refusesMinimalModels, strings.ToLower(strings.TrimSpace(model)))
}
