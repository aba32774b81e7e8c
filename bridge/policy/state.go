package policy

import (
	"codex-bridge/bridge/rules"
)

// State is what the world looks like when a message is decided.
type State struct {
	// Start is the canonical folder the bridge was started in: codex's own, the
	// workspace of a thread that names none, the base of relative paths.
	StartFolder string
	// Home is the user's home, canonical; "" unknown.
	Home string
	// Temps are the temporary folders that Codex lets commands write: /tmp and $TMPDIR.
	Temps []TempFolder
	// CodexHome is codex's own folder (CODEX_HOME), canonical; "" unknown. Its
	// configuration, rules and credentials lie there.
	CodexHome string
	// Kept are the canonical places of what the policy itself rests on: the user's
	// configuration file and the state folder.
	Sensitive []string
	// Programs are the canonical paths of programs that run outside of the sandbox, such as the
	// bridge's own, and of the folders of PATH, in which Codex looks for programs.
	Programs []string
	// Links are canonical paths of links through which PATH or the configuration names such a
	// program, or $TMPDIR a folder.
	Links []string
	// Hidden are canonical folders that commands must not read: that of the hooks' socket, with its
	// token.
	Hidden []string
	// Writable are the canonical folders that commands of any thread can write, or could since the bridge
	// was started.
	Writable []string
	// Consented reports that a person has agreed to the message, where policy.methods wants one asked.
	Consented bool
	// Workspaces are the canonical workspaces of all verified threads.
	Workspaces []string
	// Thread is the verified thread that the message speaks of; nil when there is
	// none. A change of policy makes every thread unverified.
	Thread *Thread
	// CodexInternal reports that a tool call without a verified thread is work of Codex's own.
	CodexInternal bool
	// Forgotten reports that the client has opened the thread in which Codex asks, or the one whose subagent asks,
	// and that it may take no turn any more.
	ThreadRevoked bool
	// Defaults is what codex's own configuration gives for fields left out; nil =
	// unknown. Only thread/start insists on it; resume and fork use it when it is
	// there.
	Defaults *Defaults
	// Stands is the canonical folder that the thread of a resume or fork stands in,
	// as codex says; "" unknown.
	ThreadFolder string
	// Opened is the canonical folder in which the thread of a resume or fork was opened. It is "" unless a turn has
	// moved the thread since, and Codex has not loaded it.
	OpenedIn string
	// Loaded is the permissions profile with which Codex has loaded the thread of a resume: empty if Codex has loaded the
	// thread with another profile than a known one; nil if it has not loaded it (NotLoaded), or was not asked yet.
	LoadedProfile *Profile
	NotLoaded     bool
	// Unsubscribed reports that the client has sent thread/unsubscribe since, so that Codex may load the thread anew.
	Unsubscribed bool
	// Stored is the sandbox of the thread's last turn, of a resume or fork; nil: not
	// asked for yet.
	StoredSandbox *SandboxSettings
	// Nowhere: codex knows no such thread, and will say so to a resume or fork.
	UnknownThread bool
	Paths         Paths
	// Files are the paths that the item in question changes, as Codex has said; empty
	// unknown.
	Files []string
	// Escalation is what the model's own call says of the command in question.
	Escalation rules.Escalation
	// Requested reports that this call surely asks to run outside of the sandbox.
	EscalationRequested bool
	// Agent is what an agent gets that the tool call in question starts; nil: unknown.
	Agent *AgentSettings
	// Unpinned reports that Codex was started without Policy.PinArgs.
	Unpinned bool
	// With are the policies that judge the message together, from the second round of Together on.
	Policies []*Policy
	// Repositories may be nil: then a folder has no roots.
	Repositories Repositories
	// PolicyFiles may be nil: then no file of a workspace governs its threads.
	PolicyFiles PolicyFiles
}

// DefaultRoots returns the canonical writable roots of Codex's configuration; nil if that is not known.
func (st State) DefaultRoots() (roots []string) {
	if st.Defaults == nil {
		return nil
	}
	for _, path := range st.Defaults.WritableRoots {
		if at, err := st.canonical(path); err == nil {
			roots = append(roots, at)
		}
	}
	return roots
}
