package policy

import (
	"bytes"

	"codex-bridge/rpc"
)

// InForce returns the settings of a thread, in the form of thread/settings/updated, as a Thread that has nothing else.
func InForce(settings rpc.Value) *Thread { return inForce(settings, settings.Get("sandboxPolicy")) }

func inForce(settings, sandbox rpc.Value) *Thread {
	stored := StoredOf(sandbox)
	return &Thread{
		Cwd: textOf(settings.Get("cwd")), Sandbox: stored.Sandbox,
		Network: stored.Network, NoTmpdir: stored.NoTmpdir, NoSlashTmp: stored.NoSlashTmp,
		Reach: Reach(sandbox, settings.Get("activePermissionProfile")), Roots: WritableRoots(sandbox),
		Approval: clone(settings.Get("approvalPolicy")), Reviewer: textOf(settings.Get("approvalsReviewer")),
	}
}

// Change gives a thread the settings that Codex now says are in force, in the form of thread/settings/updated.
func (t *Thread) Change(settings rpc.Value) {
	now := InForce(settings)
	if now.Cwd == "" {
		now.Cwd = t.Cwd
	}
	t.Cwd, t.Sandbox, t.Network, t.NoTmpdir, t.NoSlashTmp = now.Cwd, now.Sandbox, now.Network, now.NoTmpdir, now.NoSlashTmp
	t.Reach, t.Roots, t.Approval, t.Reviewer = now.Reach, now.Roots, now.Approval, now.Reviewer
	t.Unfenced = Unfenced(t.Fence, settings)
}

// StoredOf returns the members of a sandbox or sandboxPolicy as Codex echoes it.
func StoredOf(sandbox rpc.Value) Stored {
	stored := Stored{Sandbox: SandboxMode(sandbox)}
	stored.Network, _ = sandbox.Get("networkAccess").Bool()
	stored.NoTmpdir, _ = sandbox.Get("excludeTmpdirEnvVar").Bool()
	stored.NoSlashTmp, _ = sandbox.Get("excludeSlashTmp").Bool()
	return stored
}

// stored returns the sandbox that is in force for a thread.
func (t *Thread) stored() Stored { return Stored{t.Sandbox, t.Network, t.NoTmpdir, t.NoSlashTmp} }

// Lower returns what both sandboxes allow.
func (s Stored) Lower(t Stored) Stored {
	a, _ := levelOf(s.Sandbox)
	b, _ := levelOf(t.Sandbox)
	return Stored{min(a, b).String(), s.Network && t.Network, s.NoTmpdir || t.NoTmpdir, s.NoSlashTmp || t.NoSlashTmp}
}

// Looser reports whether a thread may do anything that another one, than, may not. It may
//   - with another sandbox or another cwd, unless its sandbox is read-only without network,
//   - with approvals that ask less, and
//   - with a reviewer other than the user, unless both have the same one.
func Looser(than, one *Thread) bool {
	narrowest := one.Reach == readOnly.String() || one.Reach == readOnly.String()+`, profile "`+profileNames[readOnly]+`"`
	// Under workspace-write the cwd is writable, and the sandbox does not list it.
	if (one.Reach != than.Reach || one.Cwd != than.Cwd) && !narrowest {
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
	return a.Reach == b.Reach && a.Cwd == b.Cwd && bytes.Equal(a.Approval, b.Approval) && reviewerOf(a.Reviewer) == reviewerOf(b.Reviewer)
}
