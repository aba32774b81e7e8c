package guard

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/rpc"
)

const readOnlyResult = `{"thread":{"id":"t"},"cwd":"ROOT","approvalPolicy":"on-request","approvalsReviewer":"user","model":"gpt-5.5","sandbox":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null}`

// A new policy is compared with the settings that Codex has last reported, not with those from the
// time when the thread was opened.
func TestNewPolicyAndReportedSettings(t *testing.T) {
	for approval, kept := range map[string]bool{"on-request": true, "untrusted": true, "never": false} {
		w := newAgentWorld(t, func(cfg *config.Policy) {
			cfg.Sandbox, cfg.Gate, cfg.Approval = "read-only", false, []string{"on-request", "untrusted", "never"}
		})
		cfg := config.Default().Policy
		cfg.Mode, cfg.Sandbox, cfg.Gate, cfg.Approval = config.Enforce, "read-only", false, []string{"on-request", "untrusted"}
		later, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		threads, root := &w.g.threads, filepath.Dir(w.write("work/x", ""))
		sent := &policy.SentSettings{Method: "thread/start", Workspace: root}
		if err := threads.registerOpened(w.g.Policy, w.g, openedThread{sent: sent, result: value(t, strings.ReplaceAll(readOnlyResult, "ROOT", root)), world: w.g.world, order: 1}); err != nil {
			t.Fatal(err)
		}
		settings := value(t, `{"cwd":"`+root+`","approvalPolicy":"`+approval+`","approvalsReviewer":"user","model":"gpt-5.5","sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null}`)
		if err := threads.updateSettings(w.g.Policy, w.g, "t", settings); err != nil {
			t.Fatal(err)
		}
		threads.verifyAll(func() *policy.Policy { return later })
		one := threads.peek("t")
		if (one != nil) != kept || kept && string(one.Approval) != `"`+approval+`"` {
			t.Errorf("%s: %+v, want it kept: %v", approval, one, kept)
		}
	}
}

// busyPaths makes another folder writable whenever a path is resolved.
type busyPaths struct {
	policy.Paths
	writable *writableFolders
	n        int
}

func (b *busyPaths) Canonical(path string) (string, error) {
	b.n++
	b.writable.add([]string{fmt.Sprint("/busy", b.n)})
	return b.Paths.Canonical(path)
}

// A thread opens while other threads change what commands can write. It is verified with all of that.
func TestThreadOpensWhileFoldersChange(t *testing.T) {
	for _, busy := range []bool{false, true} {
		w := newAgentWorld(t, func(cfg *config.Policy) {
			cfg.Sandbox, cfg.Approval, cfg.WritableRoots = "workspace-write", []string{"on-request"}, []string{"${workspace}"}
		})
		threads, world, root := &w.g.threads, w.g.world, filepath.Dir(w.write("work/x", ""))
		paths := &busyPaths{Paths: world.Paths, writable: &threads.writable}
		if busy {
			world.Paths = paths
		}
		sent := &policy.SentSettings{Method: "thread/start", Workspace: root, Profile: policy.Profile{Defined: true}}
		result := `{"thread":{"id":"t"},"cwd":"` + root + `","approvalPolicy":"on-request","approvalsReviewer":"user","model":"gpt-5.5","activePermissionProfile":{"id":"codex-bridge","extends":":workspace"},` +
			`"sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`
		if err := threads.registerOpened(w.g.Policy, w.g, openedThread{sent: sent, result: value(t, result), world: world, order: 1}); err != nil {
			t.Fatal(err)
		}
		if known := threads.records["t"].verified.world.Writable; len(known) != paths.n {
			t.Errorf("verified with %q, want %d folders", known, paths.n)
		}
	}
}

// A notice is new once. A full set forgets the oldest, so no notice is lost.
func TestNoticeSetIsBounded(t *testing.T) {
	var set noticeSet
	for i := range maxNotices {
		if !set.add(fmt.Sprint(i)) {
			t.Fatalf("notice %d is not new", i)
		}
	}
	for _, one := range []struct {
		notice string
		isNew  bool
	}{{"0", false}, {"other", true}, {"other", false}, {"1", false}, {"0", true}, {"2", false}, {"1", true}} {
		if set.add(one.notice) != one.isNew {
			t.Errorf("%s is new: %t", one.notice, !one.isNew)
		}
	}
	if len(set.sent) != maxNotices || len(set.inOrder) != maxNotices {
		t.Errorf("a full set has %d and %d notices", len(set.sent), len(set.inOrder))
	}
}

// The consent of a hook reaches Codex in a verified thread, and not in one that was revoked.
func TestPermitsNoCallOfARevokedThread(t *testing.T) {
	for _, verified := range []bool{true, false} {
		w := newAgentWorld(t, nil)
		record := w.g.threads.recordLocked("t")
		record.openedByClient = true
		if verified {
			record.allow(&thread{Thread: *w.thread})
		}
		use := toolcall.Call{Name: "mcp__x__y", Input: value(t, `{}`)}
		if got := w.g.Permits(t.Context(), "t", "u", use, nil); got != verified {
			t.Errorf("verified %t: permits %t", verified, got)
		}
	}
}

// setVerified makes threads the only verified ones.
func (t *threads) setVerified(all map[string]*thread) {
	for _, record := range t.records {
		record.end(refused)
	}
	for id, one := range all {
		t.recordLocked(id).allow(one)
	}
}

// registerOpened verifies a response that opened a thread.
func (t *threads) registerOpened(active func() *policy.Policy, client *Guard, o openedThread) *rpc.Error {
	opened := newOpenedThread(o)
	return t.finishOpened(active, t.beginOpened(active, client, opened), opened)
}

// updateSettings verifies settings that Codex reports.
func (t *threads) updateSettings(active func() *policy.Policy, client *Guard, id string, settings rpc.Value) *rpc.Error {
	v := t.beginUpdate(active, client, id, settings)
	if v == nil {
		return nil
	}
	return t.finish(active, id, v)
}
