package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"codex-bridge/rpc"
)

// ParseThreadSettings returns the settings of a thread, in the form of thread/settings/updated, as a Thread that has nothing else.
func ParseThreadSettings(settings rpc.Value) *Thread {
	return threadSettings(settings, settings.Get("sandboxPolicy"))
}

func threadSettings(settings, sandbox rpc.Value) *Thread {
	stored := ParseSandbox(sandbox)
	return &Thread{
		Cwd: textOf(settings.Get("cwd")), Sandbox: stored.Mode,
		Network: stored.Network, NoTmpdir: stored.NoTmpdir, NoSlashTmp: stored.NoSlashTmp,
		SandboxSummary: SummarizeSandbox(sandbox, settings.Get("activePermissionProfile")), Roots: WritableRoots(sandbox),
		Approval: cloneRaw(settings.Get("approvalPolicy")), Reviewer: textOf(settings.Get("approvalsReviewer")),
	}
}

// Update gives a thread the settings that Codex now says are in force, in the form of thread/settings/updated.
func (t *Thread) Update(settings rpc.Value) {
	now := ParseThreadSettings(settings)
	if now.Cwd == "" {
		now.Cwd = t.Cwd
	}
	t.Cwd, t.Sandbox, t.Network, t.NoTmpdir, t.NoSlashTmp = now.Cwd, now.Sandbox, now.Network, now.NoTmpdir, now.NoSlashTmp
	t.SandboxSummary, t.Roots, t.Approval, t.Reviewer = now.SandboxSummary, now.Roots, now.Approval, now.Reviewer
	t.LacksProfile = LacksProfile(t.Profile, settings)
}

// ParseSandbox returns the members of a sandbox or sandboxPolicy as Codex echoes it.
func ParseSandbox(sandbox rpc.Value) SandboxSettings {
	stored := SandboxSettings{Mode: SandboxMode(sandbox)}
	stored.Network, _ = sandbox.Get("networkAccess").Bool()
	stored.NoTmpdir, _ = sandbox.Get("excludeTmpdirEnvVar").Bool()
	stored.NoSlashTmp, _ = sandbox.Get("excludeSlashTmp").Bool()
	return stored
}

// stored returns the sandbox that is in force for a thread.
func (t *Thread) sandboxSettings() SandboxSettings {
	return SandboxSettings{t.Sandbox, t.Network, t.NoTmpdir, t.NoSlashTmp}
}

// Intersect returns what both sandboxes allow.
func (s SandboxSettings) Intersect(t SandboxSettings) SandboxSettings {
	a, _ := parseMode(s.Mode)
	b, _ := parseMode(t.Mode)
	return SandboxSettings{min(a, b).String(), s.Network && t.Network, s.NoTmpdir || t.NoTmpdir, s.NoSlashTmp || t.NoSlashTmp}
}

// IsLooser reports whether a thread may do anything that another one, than, may not. It may
//   - with another sandbox or another cwd, unless its sandbox is read-only without network,
//   - with approvals that ask less, and
//   - with a reviewer other than the user, unless both have the same one.
func IsLooser(than, one *Thread) bool {
	narrowest := one.SandboxSummary == readOnly.String() || one.SandboxSummary == readOnly.String()+`, profile "`+builtinProfiles[readOnly]+`"`
	// Under workspace-write the cwd is writable, and the sandbox does not list it.
	if (one.SandboxSummary != than.SandboxSummary || one.Cwd != than.Cwd) && !narrowest {
		return true
	}
	before, err := rpc.ParseValue(than.Approval)
	if err != nil {
		return true
	}
	now, err := rpc.ParseValue(one.Approval)
	if err != nil {
		return true
	}
	return looserApproval(before.Root(), now.Root()) || than.Gated && !one.Gated ||
		one.Reviewer != "user" && normalizeReviewer(one.Reviewer) != normalizeReviewer(than.Reviewer)
}

// SameSettings reports whether two threads have the same sandbox, cwd, approvals and reviewer.
func SameSettings(a, b *Thread) bool {
	return a.SandboxSummary == b.SandboxSummary && a.Cwd == b.Cwd && bytes.Equal(a.Approval, b.Approval) && normalizeReviewer(a.Reviewer) == normalizeReviewer(b.Reviewer)
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

// SandboxSettings is what Codex has written down of a thread. Sandbox is a mode, "" if there is
// none.
type SandboxSettings struct {
	Mode                 string
	Network              bool
	NoTmpdir, NoSlashTmp bool // the temporary folders are not writable
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
	thread := threadSettings(result, result.Get("sandbox"))
	thread.ID, thread.Workspace, thread.Cwd = id, folder, cwd
	thread.RerunsOutside, thread.Rollout, thread.Gated = RerunsOutside(thread.Approval), rollout, sent.isGated(st)
	if sent != nil {
		thread.Project, thread.Profile = sent.Project, sent.Profile
	}
	thread.LacksProfile = lacksProfile(thread.Profile, result.Get("sandbox"), result.Get("activePermissionProfile"))
	return thread, nil
}

// SummarizeSandbox describes what an echoed sandbox or sandboxPolicy allows, in one line; "" unknown.
// Two sandboxes that differ in a member that Codex 0.169 has differ here.
func SummarizeSandbox(sandbox, profile rpc.Value) string {
	if sandbox.Kind() != rpc.Object {
		return ""
	}
	kind := textOf(sandbox.Get("type"))
	if l, ok := levelNamed(sandbox.Get("type"), typeNames[:]); ok {
		kind = l.String()
	}
	var parts []string
	for root := range sandbox.Get("writableRoots").Elements() {
		parts = append(parts, "writes "+string(root.Raw()))
	}
	for member, says := range map[string]string{"networkAccess": "network", "excludeTmpdirEnvVar": "without $TMPDIR", "excludeSlashTmp": "without /tmp"} {
		if is, isBool := sandbox.Get(member).Bool(); is || !isBool && !isUnset(sandbox.Get(member)) {
			parts = append(parts, says)
		}
	}
	if !isUnset(profile) {
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
	e := verifier{sandbox: sandbox}
	return e.level().String()
}

// unfenced tells whether a thread that has the profile runs without it.
func lacksProfile(fence Profile, sandbox, profile rpc.Value) bool {
	_, ok := parseProfileName(textOf(profile.Get("id")))
	return fence.Defined && !ok && SandboxMode(sandbox) == workspaceWrite.String()
}

// LacksProfile tells whether a thread that has the profile runs without it, by its settings.
func LacksProfile(fence Profile, settings rpc.Value) bool {
	return lacksProfile(fence, settings.Get("sandboxPolicy"), settings.Get("activePermissionProfile"))
}
