//go:build linux

package e2e_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// A client that knows the bridge sees the runs of all hooks, and the numbers of compactions and of
// reviews by a model.
func TestStatusCountsEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		config:      strings.Replace(hooksPolicy, "[policy]", "[policy]\nreviewers = [\"auto_review\"]\nescalation = \"ask\"", 1),
		codexConfig: "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"echo broken >&2; exit 1\"\n",
	})
	w.trustHooks()
	c := w.open(proxyArgv...)
	c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1}})
	thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write", "approvalsReviewer": "auto_review"})
	mark := c.Mark()
	c.toolOutput(thread, "RUN: touch denied")
	for _, run := range []struct{ event, status, own, reason string }{
		{"preToolUse", "blocked", "true", "Nothing is touched here"},
		{"stop", "failed", "false", "exited with code 1"},
	} {
		c.waitFor(mark, "bridge/hooks/state", func(m editor.Message) bool {
			last := func(name string) string { return m.Param("last", name) }
			return m.Param("active") == "true" && last("threadId") == thread && last("turnId") != "" && last("durationMs") != "" &&
				last("event") == run.event && last("status") == run.status && last("own") == run.own && strings.Contains(last("reason"), run.reason)
		})
	}
	c.toolOutput(thread, "ESCALATE: echo x > "+filepath.Join(w.root, "out"))
	mark = c.Mark()
	c.must("thread/compact/start", map[string]any{"threadId": thread})
	c.waitFor(mark, "turn/completed", nil)
	var status struct {
		Hooks struct {
			Active       bool
			Runs, Others struct{ Completed, Blocked, Failed int }
			Failures     []struct{ Event string }
		}
		Compactions struct{ Started, Completed int }
		Reviews     struct {
			Started int
			Last    struct{ Action, Status string }
		}
	}
	if err := json.Unmarshal(c.must("bridge/status", map[string]any{}), &status); err != nil {
		t.Fatal(err)
	}
	h := status.Hooks
	if !h.Active || h.Runs.Blocked != 1 || h.Runs.Failed != 0 || h.Others.Failed < 2 || len(h.Failures) != h.Others.Failed || h.Failures[0].Event != "stop" {
		t.Errorf("hooks: %+v", h)
	}
	if status.Compactions.Started != 1 || status.Compactions.Completed != 1 {
		t.Errorf("compactions: %+v", status.Compactions)
	}
	if r := status.Reviews; r.Started != 1 || r.Last.Action != "command" || r.Last.Status == "" {
		t.Errorf("reviews: %+v", r)
	}
}
