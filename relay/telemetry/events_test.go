package telemetry_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/relay/telemetry"
)

// own is the source of the bridge's hooks.
const own = "/<session-flags>/config.toml"

func yes() bool { return true }
func no() bool  { return false }

var events = []telemetry.Event{
	{Kind: telemetry.KindHook, ThreadID: "t", TurnID: "u", Name: "preToolUse", Status: "running", Own: true},
	{Kind: telemetry.KindHook, ThreadID: "t", TurnID: "u", Name: "preToolUse", Status: "blocked", DurationMs: 6, Own: true, Reason: "No."},
	{Kind: telemetry.KindHook, ThreadID: "t", Name: "sessionStart", Status: "failed", Reason: "hook exited with code 1\ns"},
	{Kind: telemetry.KindCompaction, ThreadID: "t", TurnID: "v", Status: "running"},
	{Kind: telemetry.KindCompaction, ThreadID: "t", TurnID: "v", Status: "completed", DurationMs: 30},
	{Kind: telemetry.KindCompaction, ThreadID: "t", TurnID: "w", Status: "completed"},
	{Kind: telemetry.KindReview, ThreadID: "t", TurnID: "u", Name: "command", Status: "running"},
	{Kind: telemetry.KindReview, ThreadID: "t", TurnID: "u", Name: "command", Status: "denied", DurationMs: 42, Risk: "high", Reason: "bad"},
}

// Events are reported in order, and the client gets every message.
func TestEventsAreReportedInOrder(t *testing.T) {
	script, err := os.ReadFile("../../testdata/sessions/observe.txt")
	if err != nil {
		t.Fatal(err)
	}
	var heard []telemetry.Event
	f := telemetry.NewEventFeature(own, yes, func(e telemetry.Event) { heard = append(heard, e) })
	bridgetest.Start(t, f).Play("observe.txt", string(script))
	if diff := cmp.Diff(events, heard); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// Unless events are wanted nothing is parsed: a line that is not JSON passes.
func TestNothingIsParsedUnlessWanted(t *testing.T) {
	var script strings.Builder
	script.WriteString("editor> {\"method\":\"initialized\"}\ncodex<= {\"method\":\"initialized\"}\n")
	for _, method := range []string{
		"hook/started", "hook/completed", "item/started", "item/completed", "thread/compacted",
		"item/autoApprovalReview/started", "item/autoApprovalReview/completed",
	} {
		fmt.Fprintf(&script, "codex>  {\"method\":%q,\"params\":{x}\neditor<= {\"method\":%q,\"params\":{x}\n", method, method)
	}
	bridgetest.Start(t, telemetry.NewEventFeature(own, no, nil)).Play("nobody", script.String())
}

func TestCounts(t *testing.T) {
	told := 0
	c := &telemetry.Counts{OnHookRun: func() { told++ }}
	for _, e := range events {
		c.Observe(e)
	}
	failed := telemetry.HookRun{ThreadID: "t", Event: "sessionStart", Status: "failed", Reason: "hook exited with code 1\ns"}
	wantHooks := telemetry.HookCounts{Others: hook.RunCounts{Failed: 1}, Last: &failed, Failures: []telemetry.HookRun{failed}}
	if diff := cmp.Diff(wantHooks, c.Hooks()); diff != "" {
		t.Errorf("hooks: -want +got\n%s", diff)
	}
	wantCompactions := telemetry.CompactionCounts{Started: 1, Completed: 2, Last: &telemetry.CompactionResult{ThreadID: "t", TurnID: "w"}}
	if diff := cmp.Diff(wantCompactions, c.Compactions()); diff != "" {
		t.Errorf("compactions: -want +got\n%s", diff)
	}
	wantReviews := telemetry.ReviewCounts{Started: 1, Denied: 1, Last: &telemetry.ReviewResult{
		ThreadID: "t", TurnID: "u", Action: "command", Status: "denied", Risk: "high", DurationMs: 42, Reason: "bad",
	}}
	if diff := cmp.Diff(wantReviews, c.Reviews()); diff != "" {
		t.Errorf("reviews: -want +got\n%s", diff)
	}
	if told != 2 {
		t.Errorf("told %d times of the 2 runs that ended", told)
	}
}

// Only the last failures are kept.
func TestLastFailuresAreKept(t *testing.T) {
	c := &telemetry.Counts{OnHookRun: func() {}}
	for n := range 20 {
		c.Observe(telemetry.Event{Kind: telemetry.KindHook, Status: "failed", TurnID: fmt.Sprint(n)})
	}
	var got []string
	for _, run := range c.Hooks().Failures {
		got = append(got, run.TurnID)
	}
	if diff := cmp.Diff([]string{"12", "13", "14", "15", "16", "17", "18", "19"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
