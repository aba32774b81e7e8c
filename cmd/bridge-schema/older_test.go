package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/methods"
)

// The shapes of an older release stay, also those that a newer one lacks. Only a member that both need is required.
func TestKeepOlder(t *testing.T) {
	t.Parallel()
	older := &methods.ShapeTable{
		Requests: map[string]*methods.Shape{"thread/old": {Kinds: "o"}, "thread/list": {Kinds: "o"}},
		Answers:  map[string]*methods.Shape{"currentTime/read": {Kinds: "n"}},
		Definitions: map[string]*methods.Shape{
			"Mode": {Kinds: "s", Enum: []string{"a", "b"}}, "Gone": {Kinds: "b"},
			"Params": {Kinds: "o", Members: map[string]*methods.Shape{"mode": {Ref: "Mode"}, "was": {Kinds: "s"}}, Required: []string{"mode", "was"}},
			"Item":   {Kinds: "o", Tag: "type", Variants: map[string]*methods.Shape{"text": {Kinds: "o"}}},
			"Name":   {Kinds: "s"},
		},
	}
	now := &methods.ShapeTable{
		Requests: map[string]*methods.Shape{"thread/list": {Kinds: "oz"}}, Answers: map[string]*methods.Shape{},
		Definitions: map[string]*methods.Shape{
			"Mode":   {Kinds: "s", Enum: []string{"b", "c"}},
			"Params": {Kinds: "o", Members: map[string]*methods.Shape{"mode": {Ref: "Mode", Kinds: "z"}, "is": {Kinds: "n"}}, Required: []string{"mode", "is"}},
			"Item":   {Kinds: "o", Tag: "type", Variants: map[string]*methods.Shape{"image": {Kinds: "o"}}},
			"Name":   {Kinds: "s", Enum: []string{"x"}},
		},
	}
	kept := keepOlder(now, older)
	wantKept := []string{"answers | currentTime/read", "definitions | Gone", "definitions | Item", "definitions | Mode", "definitions | Name", "definitions | Params"}
	if diff := cmp.Diff(wantKept, kept); diff != "" {
		t.Errorf("kept: %s", diff)
	}
	if err := checkOlder("# names\n"+strings.Join(wantKept, "\n"), slices.Clone(kept)); err != nil {
		t.Error(err)
	}
	if err := checkOlder("definitions | Other", []string{"definitions | Mode"}); err == nil || !strings.Contains(err.Error(), "Other") || !strings.Contains(err.Error(), "Mode") {
		t.Errorf("checkOlder: %v", err)
	}
	if err := checkOlder(string(withOlder("# names\ndefinitions | Other\n", wantKept)), slices.Clone(kept)); err != nil {
		t.Errorf("the lines of withOlder: %v", err)
	}
	want := &methods.ShapeTable{
		Requests: map[string]*methods.Shape{"thread/list": {Kinds: "oz"}},
		Answers:  map[string]*methods.Shape{"currentTime/read": {Kinds: "n"}},
		Definitions: map[string]*methods.Shape{
			"Mode": {Kinds: "s", Enum: []string{"b", "c", "a"}}, "Gone": {Kinds: "b"},
			"Params": {Kinds: "o", Members: map[string]*methods.Shape{"mode": {Ref: "Mode", Kinds: "z"}, "is": {Kinds: "n"}, "was": {Kinds: "s"}}, Required: []string{"mode"}},
			"Item":   {Kinds: "o", Tag: "type", Variants: map[string]*methods.Shape{"image": {Kinds: "o"}, "text": {Kinds: "o"}}},
			"Name":   {Kinds: "s"},
		},
	}
	if diff := cmp.Diff(want, now); diff != "" {
		t.Error(diff)
	}
}
