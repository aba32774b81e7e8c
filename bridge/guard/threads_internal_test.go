package guard

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
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
		if err := threads.registerOpened(w.g.Policy, sent, value(t, strings.ReplaceAll(readOnlyResult, "ROOT", root)), w.g.world, 1, nil); err != nil {
			t.Fatal(err)
		}
		settings := value(t, `{"cwd":"`+root+`","approvalPolicy":"`+approval+`","approvalsReviewer":"user","model":"gpt-5.5","sandboxPolicy":{"type":"readOnly","networkAccess":false},"activePermissionProfile":null}`)
		if err := threads.updateSettings(w.g.Policy, new(gotUpdates), "t", settings); err != nil {
			t.Fatal(err)
		}
		threads.verifyAll(later)
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
	b.writable.add("", []string{fmt.Sprint("/busy", b.n)})
	return b.Paths.Canonical(path)
}

// A thread does not open while other threads keep changing what commands can write.
func TestThreadOpensWhileFoldersChange(t *testing.T) {
	for _, busy := range []bool{false, true} {
		w := newAgentWorld(t, func(cfg *config.Policy) {
			cfg.Sandbox, cfg.Approval, cfg.WritableRoots = "workspace-write", []string{"on-request"}, []string{"${workspace}"}
		})
		threads, world, root := &w.g.threads, w.g.world, filepath.Dir(w.write("work/x", ""))
		if busy {
			world.Paths = &busyPaths{Paths: world.Paths, writable: &threads.writable}
		}
		sent := &policy.SentSettings{Method: "thread/start", Workspace: root, Profile: policy.Profile{Defined: true}}
		result := `{"thread":{"id":"t"},"cwd":"` + root + `","approvalPolicy":"on-request","approvalsReviewer":"user","model":"gpt-5.5","activePermissionProfile":{"id":"codex-bridge","extends":":workspace"},` +
			`"sandbox":{"type":"workspaceWrite","writableRoots":[],"networkAccess":false,"excludeTmpdirEnvVar":false,"excludeSlashTmp":false}}`
		err := threads.registerOpened(w.g.Policy, sent, value(t, result), world, 1, nil)
		if (err != nil) != busy || (threads.peek("t") == nil) != busy {
			t.Errorf("other threads change folders: %v; refused: %v", busy, err)
		}
	}
}

// A notice is new once. A full set takes no other.
func TestNoticeSetIsBounded(t *testing.T) {
	var set noticeSet
	for i := range maxNotices {
		if !set.add(fmt.Sprint(i)) {
			t.Fatalf("notice %d is not new", i)
		}
	}
	if set.add("0") || set.add("other") || len(set.sent) != maxNotices {
		t.Errorf("a full set takes more: %d", len(set.sent))
	}
}

// The consent of a hook reaches Codex in a verified thread, and not in one that was revoked.
func TestPermitsNoCallOfARevokedThread(t *testing.T) {
	for _, verified := range []bool{true, false} {
		w := newAgentWorld(t, nil)
		w.g.threads.openedByClient = map[string]bool{"t": true}
		if verified {
			w.g.threads.verified = map[string]*thread{"t": {Thread: *w.thread}}
		}
		use := policy.ToolCall{Name: "mcp__x__y", Input: value(t, `{}`)}
		if got := w.g.Permits(t.Context(), "t", "u", use, nil); got != verified {
			t.Errorf("verified %t: permits %t", verified, got)
		}
	}
}
