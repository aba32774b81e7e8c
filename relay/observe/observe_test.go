package observe_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/bridgetest"
	"codex-bridge/relay/observe"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

// own is the source of the bridge's hooks.
const own = "/<session-flags>/config.toml"

// list is an Observer that keeps what it is told.
type list struct {
	deaf   bool
	events []observe.Event
}

func (l *list) Wants() bool             { return !l.deaf }
func (l *list) Observe(e observe.Event) { l.events = append(l.events, e) }

var events = []observe.Event{
	{Kind: observe.Hook, ThreadID: "t", TurnID: "u", Name: "preToolUse", Status: "running", Own: true},
	{Kind: observe.Hook, ThreadID: "t", TurnID: "u", Name: "preToolUse", Status: "blocked", DurationMs: 6, Own: true, Reason: "No."},
	{Kind: observe.Hook, ThreadID: "t", Name: "sessionStart", Status: "failed", Reason: "hook exited with code 1\ns"},
	{Kind: observe.Compaction, ThreadID: "t", TurnID: "v", Status: "running"},
	{Kind: observe.Compaction, ThreadID: "t", TurnID: "v", Status: "completed", DurationMs: 30},
	{Kind: observe.Compaction, ThreadID: "t", TurnID: "w", Status: "completed"},
	{Kind: observe.Review, ThreadID: "t", TurnID: "u", Name: "command", Status: "running"},
	{Kind: observe.Review, ThreadID: "t", TurnID: "u", Name: "command", Status: "denied", DurationMs: 42, Risk: "high", Reason: "bad"},
}

// Those who want to hear are told, in order, and the client as before.
func TestSession(t *testing.T) {
	script, err := os.ReadFile("../../testdata/sessions/observe.txt")
	if err != nil {
		t.Fatal(err)
	}
	heard, deaf := &list{}, &list{deaf: true}
	bridgetest.Start(t, observe.New(own, deaf, heard)).Play("observe.txt", string(script))
	if diff := cmp.Diff(events, heard.events); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if len(deaf.events) > 0 {
		t.Errorf("who did not want to hear was told %v", deaf.events)
	}
}

// While nobody wants to hear nothing is read: a line that is no JSON passes.
func TestNobody(t *testing.T) {
	var script strings.Builder
	script.WriteString("editor> {\"method\":\"initialized\"}\ncodex<= {\"method\":\"initialized\"}\n")
	for _, method := range []string{
		"hook/started", "hook/completed", "item/started", "item/completed", "thread/compacted",
		"item/autoApprovalReview/started", "item/autoApprovalReview/completed",
	} {
		fmt.Fprintf(&script, "codex>  {\"method\":%q,\"params\":{x}\neditor<= {\"method\":%q,\"params\":{x}\n", method, method)
	}
	bridgetest.Start(t, observe.New(own, &list{deaf: true})).Play("nobody", script.String())
	bridgetest.Start(t, observe.New(own)).Play("nobody", script.String())
}

func TestCounts(t *testing.T) {
	told := 0
	c := &observe.Counts{Ran: func() { told++ }}
	if !c.Wants() {
		t.Error("it does not want to hear")
	}
	for _, e := range events {
		c.Observe(e)
	}
	failed := observe.Run{ThreadID: "t", Event: "sessionStart", Status: "failed", Reason: "hook exited with code 1\ns"}
	wantHooks := observe.Hooks{Others: observe.Runs{Failed: 1}, Last: &failed, Failures: []observe.Run{failed}}
	if diff := cmp.Diff(wantHooks, c.Hooks()); diff != "" {
		t.Errorf("hooks: -want +got\n%s", diff)
	}
	wantCompactions := observe.Compactions{Started: 1, Completed: 2, Last: &observe.Compacted{ThreadID: "t", TurnID: "w"}}
	if diff := cmp.Diff(wantCompactions, c.Compactions()); diff != "" {
		t.Errorf("compactions: -want +got\n%s", diff)
	}
	wantReviews := observe.Reviews{Started: 1, Denied: 1, Last: &observe.Reviewed{
		ThreadID: "t", TurnID: "u", Action: "command", Status: "denied", Risk: "high", DurationMs: 42, Reason: "bad",
	}}
	if diff := cmp.Diff(wantReviews, c.Reviews()); diff != "" {
		t.Errorf("reviews: -want +got\n%s", diff)
	}
	if told != 2 {
		t.Errorf("told %d times of the 2 runs that ended", told)
	}
}

// The last failures are kept, and no more than some.
func TestFailures(t *testing.T) {
	c := &observe.Counts{Wanted: func() bool { return false }}
	if c.Wants() {
		t.Error("it wants to hear what nobody can ask for")
	}
	for n := range 20 {
		c.Observe(observe.Event{Kind: observe.Hook, Status: "failed", TurnID: fmt.Sprint(n)})
	}
	var got []string
	for _, run := range c.Hooks().Failures {
		got = append(got, run.TurnID)
	}
	if diff := cmp.Diff([]string{"12", "13", "14", "15", "16", "17", "18", "19"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
