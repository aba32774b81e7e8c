package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"codex-bridge.example/rpc"
)

// ParseThreadSettings returns a Thread with only the settings of a thread/settings/updated.
func ParseThreadSettings(settings rpc.Value) *Thread {
	return threadSettings(settings, settings.Get("sandboxPolicy"))
}

func threadSettings(settings, sandbox rpc.Value) *Thread {
	stored, roots := ParseSandbox(sandbox), WritableRoots(sandbox)
	if stored.Mode == FullAccess.String() {
		roots = nil // it may list all folders
	}
	return &Thread{
		Cwd: TextOf(settings.Get("cwd")), Sandbox: stored.Mode,
		Network: stored.Network, NoTmpdir: stored.NoTmpdir, NoSlashTmp: stored.NoSlashTmp,
		SandboxSummary: SummarizeSandbox(sandbox, settings.Get("activePermissionProfile")), Roots: roots,
		Approval: CloneRaw(settings.Get("approvalPolicy")), Reviewer: TextOf(settings.Get("approvalsReviewer")),
	}
}

// Update sets the settings of a thread from a thread/settings/updated.
func (t *Thread) Update(settings rpc.Value) {
	now := ParseThreadSettings(settings)
	if now.Cwd == "" {
		now.Cwd = t.Cwd
	}
	t.Cwd, t.Sandbox, t.Network, t.NoTmpdir, t.NoSlashTmp = now.Cwd, now.Sandbox, now.Network, now.NoTmpdir, now.NoSlashTmp
	t.SandboxSummary, t.Roots, t.Approval, t.Reviewer = now.SandboxSummary, now.Roots, now.Approval, now.Reviewer
	t.LacksProfile = LacksProfile(t.Profile, settings)
}

// ParseSandbox returns the members of a sandbox or sandboxPolicy that Codex echoed.
func ParseSandbox(sandbox rpc.Value) SandboxSettings {
	stored := SandboxSettings{Mode: SandboxMode(sandbox)}
	stored.Network, _ = sandbox.Get("networkAccess").Bool()
	stored.NoTmpdir, _ = sandbox.Get("excludeTmpdirEnvVar").Bool()
	stored.NoSlashTmp, _ = sandbox.Get("excludeSlashTmp").Bool()
	return stored
}

// sandboxSettings returns the thread's current sandbox.
func (t *Thread) sandboxSettings() SandboxSettings {
	return SandboxSettings{Mode: t.Sandbox, Network: t.Network, NoTmpdir: t.NoTmpdir, NoSlashTmp: t.NoSlashTmp}
}

// Intersect returns what both sandboxes allow, with the profile of s.
func (s SandboxSettings) Intersect(t SandboxSettings) SandboxSettings {
	a, _ := ParseMode(s.Mode)
	b, _ := ParseMode(t.Mode)
	return SandboxSettings{
		Mode: min(a, b).String(), Network: s.Network && t.Network, NoTmpdir: s.NoTmpdir || t.NoTmpdir, NoSlashTmp: s.NoSlashTmp || t.NoSlashTmp, Profile: s.Profile,
	}
}

// IsLooser reports whether the thread one may do something that the thread than may not:
//
//   - its sandbox or cwd differs, unless its sandbox is read-only without network;
//   - its approval policy asks less;
//   - its reviewer is a model, unless both have the same one.
func IsLooser(than, one *Thread) bool {
	narrowest := one.SandboxSummary == ReadOnly.String()
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
	return LooserApproval(before.Root(), now.Root()) || than.Gated && !one.Gated ||
		one.Reviewer != "user" && NormalizeReviewer(one.Reviewer) != NormalizeReviewer(than.Reviewer)
}

// SameSettings reports whether two threads have the same sandbox, cwd, approval policy and
// reviewer.
func SameSettings(a, b *Thread) bool {
	return a.SandboxSummary == b.SandboxSummary && a.Cwd == b.Cwd && bytes.Equal(a.Approval, b.Approval) && NormalizeReviewer(a.Reviewer) == NormalizeReviewer(b.Reviewer)
}

// Thread is a verified thread.
type Thread struct {
	ID string
	// Workspace is the canonical cwd in which the thread was opened. Turns do not change it.
	Workspace string
	// Cwd is the last cwd that Codex reported; "" if unknown.
	Cwd string
	// Sandbox is the last mode that Codex reported; "" if unknown. A resume or fork without a
	// sandbox gets at most this mode if Codex's default is forbidden.
	Sandbox string
	// Network, NoTmpdir and NoSlashTmp belong to that sandbox; see SandboxSettings.
	Network, NoTmpdir, NoSlashTmp bool
	// WithoutTmpdir and WithoutSlashTmp report that workspace-write does not make a temporary folder writable, by
	// Codex's configuration when the thread was opened. A sandbox that a client sends has its own members.
	WithoutTmpdir, WithoutSlashTmp bool
	// SandboxSummary describes that sandbox, by SummarizeSandbox; "" if unknown.
	SandboxSummary string
	// Approval is the last approvalPolicy that Codex reported; nil if unknown.
	Approval json.RawMessage
	// Reviewer is the last approvalsReviewer that Codex reported; "" if unknown.
	Reviewer string
	// Gated reports that the client sees untrusted, Codex has on-request, and the bridge asks in
	// its place.
	Gated bool
	// RerunsOutside reports that the thread had an approval policy since its opening under which
	// Codex may run an accepted command again outside the sandbox. A turn may still run under it.
	RerunsOutside bool
	// Rollout is Codex's file of the thread; "" if unknown.
	Rollout string
	// Project is the folder whose project configuration Codex may have loaded, with that of folders
	// above it; "" if none.
	Project string
	// Projects are the values of Project of all threads since the bridge started.
	Projects []string
	// SettingsChanged reports that sandbox, cwd, approval policy or reviewer changed since Codex
	// loaded the thread.
	SettingsChanged bool
	// Profile is the permissions profile of the thread's overlay.
	Profile Profile
	// Roots are the echoed writable roots from a turn or Codex's configuration.
	Roots []string
	// Writable are folders that its commands can write, or could since Codex loaded it.
	Writable []string
	// LacksProfile reports that the thread has a sandbox without the profile that belongs to it.
	LacksProfile bool
	// KnownFolder is a folder whose project Codex alone would know, whatever its configuration says; "" if
	// there is none. See State.KnownFolder.
	KnownFolder string
	// InnerRoots are roots that Codex alone would have given the thread; see State.InnerRoots.
	InnerRoots []string
}

// SandboxSettings are the members of a sandbox. Mode is "" if unknown.
type SandboxSettings struct {
	Mode                 string
	Network              bool
	NoTmpdir, NoSlashTmp bool // the temporary folders are not writable
	// Profile is the name of the permissions profile that gives the sandbox of a stored thread; "" if none
	// does, or for another sandbox.
	Profile string
}

// WritableFolders returns the folders that the thread's settings make writable, without temporary
// folders.
func (t *Thread) WritableFolders() []string {
	if t.Sandbox != WorkspaceWrite.String() {
		return nil
	}
	return slices.Concat([]string{t.Workspace}, t.Roots, t.Profile.Roots)
}

// WorkspaceRoots returns the outermost folders that the thread writes now and in which the profile protects paths,
// without temporary folders.
func (t *Thread) WorkspaceRoots(st State) []string {
	if t.Sandbox != WorkspaceWrite.String() {
		return nil
	}
	roots := []string{t.Workspace}
	for _, path := range append([]string{t.Cwd}, t.Roots...) {
		at, err := st.Canonical(path)
		inConfigured := WithinAny(t.Profile.Roots, at) && !slices.Contains(t.Profile.Roots, at) // a mount of the profile
		if err == nil && !WithinAny(roots, at) && !st.OverlapsTemp(at) && !inConfigured {
			roots = append(roots, at)
		}
	}
	return roots
}

// NewThread returns the thread of a response that reported.Verify accepted.
func NewThread(sent *SentSettings, result rpc.Value, st State) (*Thread, error) {
	id, _ := result.Get("thread").Get("id").Text()
	text, _ := result.Get("cwd").Text()
	folder, err := st.Canonical(text)
	cwd := folder
	if id == "" || err != nil {
		return nil, fmt.Errorf("the response has no thread.id, or no valid cwd")
	}
	if sent != nil && sent.CwdWithin != "" {
		// A turn had moved the cwd of a known thread.
		folder = sent.CwdWithin
	}
	rollout, _ := result.Get("thread").Get("path").Text()
	thread := threadSettings(result, result.Get("sandbox"))
	thread.ID, thread.Workspace, thread.Cwd = id, folder, cwd
	thread.RerunsOutside, thread.Rollout, thread.Gated = RerunsOutside(thread.Approval), rollout, sent.IsGated(st)
	if sent != nil {
		thread.Project, thread.Profile = sent.Project, sent.Profile
		thread.KnownFolder, thread.InnerRoots = sent.KnownFolder, sent.RemovedRoots(st)
		thread.WithoutTmpdir, thread.WithoutSlashTmp = sent.WithoutTmpdir, sent.WithoutSlashTmp
		if sent.Trusts && thread.Sandbox != ReadOnly.String() {
			thread.KnownFolder = folder
		}
	}
	thread.LacksProfile = lacksProfile(thread.Profile, result.Get("sandbox"), result.Get("activePermissionProfile"))
	return thread, nil
}

// SummarizeSandbox describes the rights of an echoed sandbox or sandboxPolicy in one line; "" if
// unknown. Two sandboxes that differ in a member of Codex 0.169 have different summaries. A builtin
// profile is the sandbox of its level: Codex echoes it for a thread that was resumed without a
// sandbox, and none for one that was started with it.
func SummarizeSandbox(sandbox, profile rpc.Value) string {
	if sandbox.Kind() != rpc.Object {
		return ""
	}
	kind := TextOf(sandbox.Get("type"))
	if l, ok := levelNamed(sandbox.Get("type"), typeNames[:]); ok {
		kind = l.String()
	}
	var parts []string
	for root := range sandbox.Get("writableRoots").Elements() {
		parts = append(parts, "writes "+string(root.Raw()))
	}
	for member, says := range map[string]string{"networkAccess": "network", "excludeTmpdirEnvVar": "without $TMPDIR", "excludeSlashTmp": "without /tmp"} {
		if is, isBool := sandbox.Get(member).Bool(); is || !isBool && !IsUnset(sandbox.Get(member)) {
			parts = append(parts, says)
		}
	}
	if l, builtin := BuiltinProfileLevel(TextOf(profile.Get("id"))); !IsUnset(profile) && !(builtin && l.String() == kind && IsUnset(profile.Get("extends"))) {
		parts = append(parts, "profile "+string(profile.Get("id").Raw()))
	}
	slices.Sort(parts)
	return strings.Join(append([]string{kind}, slices.Compact(parts)...), ", ")
}

// SandboxKey identifies the effective sandbox of the thread's commands: by SandboxSummary, and by a
// digest of what the bridge's profile protects, which Codex does not echo. It is "" if unknown.
func (t *Thread) SandboxKey() string {
	if !strings.Contains(t.SandboxSummary, `profile "`+bridgeProfile) || !t.Profile.Defined {
		return t.SandboxSummary
	}
	effect := []any{t.Profile.Entries, nil, nil}
	switch {
	case t.Sandbox == ReadOnly.String():
		effect[0], effect[1] = t.Profile.ReadOnly, t.Profile.ReadOnlyBase
	case t.Network:
		effect[2] = t.Profile.Network
	}
	if entries, ok := effect[0].(map[string]any); ok {
		entries = maps.Clone(entries)
		for _, folder := range t.Profile.Hidden {
			delete(entries, folder)
		}
		effect[0] = entries
	}
	if t.Sandbox == WorkspaceWrite.String() && len(t.Profile.RootEntries) > 0 {
		effect = append(effect, t.Profile.RootEntries)
	}
	text, _ := json.Marshal(effect) // texts, and JSON of a parsed text: it can't fail
	sum := sha256.Sum256(text)
	return t.SandboxSummary + ", files " + hex.EncodeToString(sum[:8])
}

// WritableRoots returns the writable roots of an echoed sandbox or sandboxPolicy.
func WritableRoots(sandbox rpc.Value) []string {
	var roots []string
	for root := range sandbox.Get("writableRoots").Elements() {
		if text, ok := root.Text(); ok {
			roots = append(roots, text)
		}
	}
	return roots
}

// SandboxMode returns the mode of an echoed sandbox or sandboxPolicy.
func SandboxMode(sandbox rpc.Value) string {
	return EchoedLevel(sandbox).String()
}

// lacksProfile reports whether a thread has a sandbox without the profile of its overlay: a
// workspace-write one, or if the profile has a variant for it, a read-only one.
func lacksProfile(fence Profile, sandbox, profile rpc.Value) bool {
	f, own := parseProfileName(TextOf(profile.Get("id")))
	switch SandboxMode(sandbox) {
	case WorkspaceWrite.String():
		return fence.Defined && !own
	case ReadOnly.String():
		return fence.HasReadOnly() && !(own && f.readOnly)
	}
	return false
}

// LacksProfile reports whether settings, in the form of thread/settings/updated, have a sandbox
// without the profile of the thread's overlay.
func LacksProfile(fence Profile, settings rpc.Value) bool {
	return lacksProfile(fence, settings.Get("sandboxPolicy"), settings.Get("activePermissionProfile"))
}

// EchoedLevel returns the level of an echoed sandbox or sandboxPolicy; full access if unknown.
//
// Measured with Codex 0.169 and 0.171: full access in a thread whose profile denies something keeps that, and is
// echoed as a workspace-write of all folders.
func EchoedLevel(sandbox rpc.Value) Level {
	l, ok := levelNamed(sandbox.Get("type"), typeNames[:])
	if !ok || l == WorkspaceWrite && slices.Contains(WritableRoots(sandbox), "/") {
		return FullAccess
	}
	return l
}
