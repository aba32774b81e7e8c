package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// Paths is the only way to the file system.
type Paths interface {
	// Canonical is the absolute path with all symbolic links resolved; for a path
	// that does not exist yet, its longest existing prefix is resolved and the
	// rest appended. On a file system that ignores case it is the one spelling
	// that the system itself gives. path is absolute and may hold . and ..
	Canonical(path string) (string, error)
}

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

// SandboxSettings is what Codex has written down of a thread. Sandbox is a mode, "" if there is
// none.
type SandboxSettings struct {
	Mode                 string
	Network              bool
	NoTmpdir, NoSlashTmp bool // the temporary folders are not writable
}

// Thread is a thread whose echoed policy was verified.
type Thread struct {
	ID string
	// Workspace is the canonical cwd that thread/start gave it. It stays when a
	// turn moves the cwd.
	Workspace string
	// Cwd is the folder that Codex last said the thread works in; "" unknown.
	Cwd string
	// Sandbox is the mode that Codex last said is in force; "" unknown. A resume
	// or fork that leaves it out gets no more than this where codex's own default
	// is not allowed.
	Sandbox string
	// Network, NoTmpdir and NoSlashTmp are those of that sandbox; see Stored.
	Network, NoTmpdir, NoSlashTmp bool
	// Reach is what that sandbox allows, by Reach; "" unknown.
	SandboxSummary string
	// Approval is the approvalPolicy that Codex last said is in force; nil unknown.
	Approval json.RawMessage
	// Reviewer is the approvalsReviewer that Codex last said is in force; "" unknown.
	Reviewer string
	// Gated: the approval policy that the client is shown is untrusted; Codex's is
	// on-request, and the bridge asks in its place.
	Gated bool
	// Reruns: an approval policy was in force since the thread was opened here under
	// which an accept may let a command out. A turn may still run under it.
	RerunsOutside bool
	// Rollout is codex's own file of the thread; "" unknown.
	Rollout string
	// Project is the folder whose own configuration, and that of the folders above it,
	// codex may have loaded for the thread; "" none.
	Project string
	// Projects are the values of Project of all threads since the bridge started.
	Projects []string
	// Varied: the sandbox, the cwd, the approvals or the reviewer have changed since Codex has loaded the thread.
	SettingsChanged bool
	// Fence is the permissions profile that the thread's overlay defines.
	Profile Profile
	// Roots are the writable roots that a turn or Codex's configuration has named, as Codex echoes them.
	Roots []string
	// Writable are the folders that its commands can write, or could since Codex has loaded it.
	Writable []string
	// LacksProfile: the thread has workspace-write without that profile.
	LacksProfile bool
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

// WritableFolders returns the folders that Codex's last settings of the thread let its commands write, but for the
// temporary ones.
func (t *Thread) WritableFolders() []string {
	if t.Sandbox != workspaceWrite.String() {
		return nil
	}
	return slices.Concat([]string{t.Workspace}, t.Roots, t.Profile.Roots)
}

// NewThread returns the thread of an answer that Verify found right.
func NewThread(sent *SentSettings, result rpc.Value, st State) (*Thread, error) {
	id, _ := result.Get("thread").Get("id").Text()
	text, _ := result.Get("cwd").Text()
	folder, err := st.canonical(text)
	cwd := folder
	if id == "" || err != nil {
		return nil, fmt.Errorf("the answer has no thread.id, or no cwd that can be judged")
	}
	if sent != nil && sent.CwdWithin != "" {
		// A turn had moved the cwd of a thread that was known before.
		folder = sent.CwdWithin
	}
	rollout, _ := result.Get("thread").Get("path").Text()
	thread := inForce(result, result.Get("sandbox"))
	thread.ID, thread.Workspace, thread.Cwd = id, folder, cwd
	thread.RerunsOutside, thread.Rollout, thread.Gated = RerunsOutside(thread.Approval), rollout, sent.gated(st)
	if sent != nil {
		thread.Project, thread.Profile = sent.Project, sent.Profile
	}
	thread.LacksProfile = unfenced(thread.Profile, result.Get("sandbox"), result.Get("activePermissionProfile"))
	return thread, nil
}

// SummarizeSandbox describes what an echoed sandbox or sandboxPolicy allows, in one line; "" unknown.
// Two sandboxes that differ in a member that Codex 0.169 has differ here.
func SummarizeSandbox(sandbox, profile rpc.Value) string {
	if sandbox.Kind() != rpc.Object {
		return ""
	}
	kind := textOf(sandbox.Get("type"))
	if l, ok := named(sandbox.Get("type"), typeNames[:]); ok {
		kind = l.String()
	}
	var parts []string
	for root := range sandbox.Get("writableRoots").Elements() {
		parts = append(parts, "writes "+string(root.Raw()))
	}
	for member, says := range map[string]string{"networkAccess": "network", "excludeTmpdirEnvVar": "without $TMPDIR", "excludeSlashTmp": "without /tmp"} {
		if is, isBool := sandbox.Get(member).Bool(); is || !isBool && !nothing(sandbox.Get(member)) {
			parts = append(parts, says)
		}
	}
	if !nothing(profile) {
		parts = append(parts, "profile "+string(profile.Get("id").Raw()))
	}
	slices.Sort(parts)
	return strings.Join(append([]string{kind}, parts...), ", ")
}

// WritableRoots are the writable roots of an echoed sandbox or sandboxPolicy.
func WritableRoots(sandbox rpc.Value) []string {
	var roots []string
	for root := range sandbox.Get("writableRoots").Elements() {
		if text, ok := root.Text(); ok {
			roots = append(roots, text)
		}
	}
	return roots
}

// SandboxMode is the mode of an echoed sandbox or sandboxPolicy: what
// Thread.Sandbox holds.
func SandboxMode(sandbox rpc.Value) string {
	e := echo{sandbox: sandbox}
	return e.level().String()
}
