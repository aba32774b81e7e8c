package policy

import (
	"encoding/json"
	"time"

	"codex-bridge.example/bridge/rules"
)

// State has the facts that a decision depends on. All paths are canonical unless noted.
type State struct {
	// Now returns the time, for rules that expire; nil if it is unknown, and then they have.
	Now func() time.Time
	// StartFolder is the folder in which the bridge and Codex were started. It is the default
	// workspace and the base of relative paths.
	StartFolder string
	// Home is the user's home folder; "" if unknown.
	Home string
	// Temps are the temporary folders that Codex lets commands write: /tmp and $TMPDIR.
	Temps []TempFolder
	// CodexHome is CODEX_HOME, with Codex's configuration, rules and credentials; "" if unknown.
	CodexHome string
	// Sensitive are paths that commands must never write, such as the user's configuration file and
	// the state folder.
	Sensitive []string
	// Programs are programs that run outside the sandbox, such as the bridge itself, and folders of
	// PATH.
	Programs []string
	// Scripts are relative paths by which commands of the configuration may name a file. If there is one
	// in a thread's folder, it runs outside the sandbox, too.
	Scripts []string
	// PathFolders are the folders of PATH among Programs. They may not exist.
	PathFolders []string
	// Links are links by which PATH or the configuration names such a program, or $TMPDIR a folder.
	Links []string
	// Secrets are files, and folders of such files, with passwords and tokens of the bridge. If there
	// are any, each thread has a profile that hides them from its commands.
	Secrets []string
	// Hidden are other folders that commands must not read, such as the folder of the hooks' socket
	// and its token. They are no reason for a profile.
	Hidden []string
	// Writable are folders that commands of any thread can write, or could since the bridge
	// started.
	Writable []string
	// Consented reports that a person consented to the message, as policy.methods requires.
	Consented bool
	// Workspaces are the workspaces of all verified threads.
	Workspaces []string
	// Thread is the verified thread of the message; nil if there is none. A new policy makes every
	// thread unverified.
	Thread *Thread
	// CodexInternal reports that a tool call without a verified thread is Codex's internal work.
	CodexInternal bool
	// ThreadRevoked reports that the client opened the thread of a request of Codex, or its parent
	// thread, and that the thread may not take turns any more.
	ThreadRevoked bool
	// Defaults are the values of Codex's configuration for omitted fields; nil if unknown. Only
	// thread/start requires them.
	Defaults *Defaults
	// Models are the models that Codex lists, its default first; nil if unknown. A policy needs them if
	// each name in policy.models has a wildcard.
	Models []string
	// ThreadFolder is the folder that Codex reports for the thread of a resume or fork; "" if
	// unknown.
	ThreadFolder string
	// Stored is the profile that Codex would restore for a resume or fork, without entries if it would
	// restore none; nil if Codex was not asked yet.
	Stored *StoredProfile
	// StoredProblem is why Stored, StoredSandbox and StoredApproval can't be known; "" if they can.
	StoredProblem string
	// Rewritten reports that another policy has decided about the message, and may have put in a key that no
	// client may set, such as its own profile.
	Rewritten bool
	// NamedProfile is the permissions profile that the client's request names; "" if it names none. A
	// message that several policies decide has it no more after the first.
	NamedProfile string
	// OpenedIn is the folder in which the thread of a resume or fork was opened. It is "" unless a
	// turn has moved the thread and Codex has not loaded it. MovedTo is the folder of the last turn, in
	// which Codex alone would open the thread; "" if unknown.
	OpenedIn, MovedTo string
	// LoadedProfile is the permissions profile of a thread that Codex has loaded, for a resume. It
	// is empty if that profile is unknown, and nil if Codex has not loaded the thread (NotLoaded)
	// or was not asked yet.
	LoadedProfile *Profile
	NotLoaded     bool
	// Unsubscribed reports that the client has sent thread/unsubscribe, so that Codex may load the
	// thread again.
	Unsubscribed bool
	// Left is the thread as it was verified before the client left it; nil if it has not, or it never was.
	Left *Thread
	// StoredSandbox is the sandbox that Codex would restore for a resume or fork, without a mode if it
	// would take its default; nil if Codex was not asked yet.
	StoredSandbox *SandboxSettings
	// StoredApproval is the approval policy that Codex would restore for a resume or fork; null if it
	// would take its default, and nil if Codex was not asked yet.
	StoredApproval json.RawMessage
	// StoredGate reports whether the bridge asked in Codex's place in the thread of a resume or fork when
	// it last had the thread; nil if there is no record of that.
	StoredGate *bool
	// KnownFolder is the folder in which the thread of a resume or fork was started, or a thread of which it
	// is a fork, if Codex alone would have stored its project as trusted then. It is "" otherwise, and
	// without a record.
	KnownFolder string
	// FolderAdded reports that the bridge has added the cwd of a new thread, which the client has not named.
	FolderAdded bool
	// InnerRoots are the roots inside others that Codex alone would have given the thread of a resume. The bridge has
	// removed them from earlier requests.
	InnerRoots []string
	// RootsProblem says why InnerRoots are not known; "" if they are.
	RootsProblem string
	// UnknownThread reports that Codex does not know the thread, so that a resume or fork will
	// fail.
	UnknownThread bool
	Paths         Paths
	// CallKnown reports that a question about a tool of an MCP server is Codex's own. The question does not show
	// that: a server writes the same fields into a question of its own.
	CallKnown bool
	// Approved is what the approvers of a rule have approved of the command that Codex asks about.
	Approved Approval
	// Files are the paths of the patch in question, as Codex sent them; empty if unknown.
	Files []string
	// Escalation says whether the model's call requests to leave the sandbox.
	Escalation rules.Escalation
	// EscalationRequested reports that exactly this call requests to run outside the sandbox.
	EscalationRequested bool
	// ProgramStarts reports that DecideProgram decides each program that a command line of the thread
	// starts. Then lines that the bridge can't read need no refusal by rules that hold there.
	ProgramStarts bool
	// Accepted are the commands of the tool call about which a person was asked; see Decision.Asked and AskedCommands.
	Accepted []rules.AskedCommand
	// Agent has the settings of the agent that the tool call starts; nil if unknown.
	Agent *AgentSettings
	// Unpinned reports that Codex was started without Policy.PinArgs.
	Unpinned bool
	// Policies are the policies that decide together, from the second round of DecideTogether on.
	Policies []*Policy
	// Repositories may be nil; then a folder has no roots.
	Repositories Repositories
	// IsFile reports whether a path is a regular file; nil: none is.
	IsFile func(path string) bool
	// PolicyFiles may be nil; then no workspace policy file applies.
	PolicyFiles PolicyFiles

	Lines *rules.LineCache // of the decision; nil: each question reads its line
}

// DefaultRoots returns the canonical writable roots of Codex's configuration; nil if unknown.
func (st State) DefaultRoots() (roots []string) {
	if st.Defaults == nil {
		return nil
	}
	for _, path := range st.Defaults.WritableRoots {
		if at, err := st.Canonical(path); err == nil {
			roots = append(roots, at)
		}
	}
	return roots
}

// Approval is what the approvers of a rule have approved of a call.
type Approval int

// The approvals. The approvers see whether the call may leave the sandbox.
const (
	NotApproved Approval = iota
	ApprovedInside
	ApprovedOutside
)

// AgentSettings has the models and efforts that a subagent gets besides the call's arguments: from
// roles, from Codex's configuration, or from its own last turn.
type AgentSettings struct {
	Models, Efforts []string
	UnknownReason   string // why they are unknown; "" if they are known
}
