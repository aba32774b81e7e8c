package releasediff

import (
	"slices"
	"testing"

	"codex-bridge.example/bridge/codex/release"
	"codex-bridge.example/bridge/methods"
)

// An older release has no new or gone name where the table says since and until when Codex has it.
func TestCompareKnowsOlderRelease(t *testing.T) {
	tested, _ := releases(t)
	older := recorded(t)
	changes, err := Compare(tested, older)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		row, _ := methods.Lookup(methods.ClientRequest, c.Method)
		if slices.Contains([]Kind{Method, Command, HookEvent, Flag}, c.Kind) || c.Kind == Field && len(row.Params) > 0 {
			t.Errorf("reported for %s: %s", older.Version, c)
		}
	}
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == Type }) {
		t.Error("a type has no row, and is a difference")
	}
	delete(older.Methods[methods.ClientRequest], "thread/start")
	older.Commands = append(older.Commands, "zebra")
	if changes, err = Compare(tested, older); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"gone method", "new command"} {
		if !slices.ContainsFunc(changes, func(c Change) bool { return c.Change == want }) {
			t.Errorf("no %s that the table does not have for %s", want, older.Version)
		}
	}
	// The other way round each is a difference.
	if changes, err = Compare(recorded(t), tested); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Kind == Command && c.Name == "stdio-to-uds" }) {
		t.Error("a newer release lacks a command")
	}
}

// Since and until of features count, too.
func TestCompareKnowsOlderFeatures(t *testing.T) {
	tested, other := releases(t)
	other.Version = "0.168.0"
	features, err := methods.Features()
	if err != nil {
		t.Fatal(err)
	}
	other.Features = make(map[string]string)
	for _, f := range features {
		if methods.IsBetween(other.Version, f.Since, f.Until) {
			other.Features[f.Name] = f.Stage + " " + f.Default
		}
	}
	changes, err := Compare(tested, other)
	if err != nil || len(changes) > 0 || len(other.Features) == len(features) {
		t.Errorf("%v, %v", changes, err)
	}
	other.Unread = map[release.Part]string{}
	delete(other.Features, "shell_tool")
	if changes, err = Compare(tested, other); err != nil || len(changes) != 1 {
		t.Errorf("%v, %v", changes, err)
	}
}
