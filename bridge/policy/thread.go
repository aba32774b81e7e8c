package policy

import (
	"bytes"

	"codex-bridge/rpc"
)

// ParseThreadSettings returns the settings of a thread, in the form of thread/settings/updated, as a Thread that has nothing else.
func ParseThreadSettings(settings rpc.Value) *Thread {
	return inForce(settings, settings.Get("sandboxPolicy"))
}

func inForce(settings, sandbox rpc.Value) *Thread {
	stored := ParseSandbox(sandbox)
	return &Thread{
		Cwd: textOf(settings.Get("cwd")), Sandbox: stored.Mode,
		Network: stored.Network, NoTmpdir: stored.NoTmpdir, NoSlashTmp: stored.NoSlashTmp,
		SandboxSummary: SummarizeSandbox(sandbox, settings.Get("activePermissionProfile")), Roots: WritableRoots(sandbox),
		Approval: clone(settings.Get("approvalPolicy")), Reviewer: textOf(settings.Get("approvalsReviewer")),
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
func (t *Thread) stored() SandboxSettings {
	return SandboxSettings{t.Sandbox, t.Network, t.NoTmpdir, t.NoSlashTmp}
}

// Intersect returns what both sandboxes allow.
func (s SandboxSettings) Intersect(t SandboxSettings) SandboxSettings {
	a, _ := levelOf(s.Mode)
	b, _ := levelOf(t.Mode)
	return SandboxSettings{min(a, b).String(), s.Network && t.Network, s.NoTmpdir || t.NoTmpdir, s.NoSlashTmp || t.NoSlashTmp}
}

// IsLooser reports whether a thread may do anything that another one, than, may not. It may
//   - with another sandbox or another cwd, unless its sandbox is read-only without network,
//   - with approvals that ask less, and
//   - with a reviewer other than the user, unless both have the same one.
func IsLooser(than, one *Thread) bool {
	narrowest := one.SandboxSummary == readOnly.String() || one.SandboxSummary == readOnly.String()+`, profile "`+profileNames[readOnly]+`"`
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
		one.Reviewer != "user" && reviewerOf(one.Reviewer) != reviewerOf(than.Reviewer)
}

// SameSettings reports whether two threads have the same sandbox, cwd, approvals and reviewer.
func SameSettings(a, b *Thread) bool {
	return a.SandboxSummary == b.SandboxSummary && a.Cwd == b.Cwd && bytes.Equal(a.Approval, b.Approval) && reviewerOf(a.Reviewer) == reviewerOf(b.Reviewer)
}
