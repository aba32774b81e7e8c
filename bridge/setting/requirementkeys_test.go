package setting_test

import (
	"encoding/json"
	"slices"
	"testing"

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/bridge/setting"

	"github.com/google/go-cmp/cmp"
)

// Every requirement that the schema of the tested Codex has is a key that the bridge knows.
func TestRequirementKeysHaveAllOfTheSchema(t *testing.T) {
	var schema struct{ Requirements map[string][]string }
	if err := json.Unmarshal(methods.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, one := range setting.RequirementKeys {
		if one.Member != "" {
			all = append(all, one.Member)
		}
		for _, name := range []string{one.Key, one.Member} {
			if found, ok := setting.FindRequirement(name); name != "" && (!ok || found != one) {
				t.Errorf("%q is found as %v", name, found)
			}
		}
	}
	slices.Sort(all)
	if diff := cmp.Diff(schema.Requirements["ConfigRequirements"], all); diff != "" {
		t.Errorf("-schema +known\n%s", diff)
	}
	for _, name := range []string{"", "moon"} {
		if found, ok := setting.FindRequirement(name); ok {
			t.Errorf("%q is found as %v", name, found)
		}
	}
	if old, ok := setting.FindRequirement("feature_requirements"); !ok || old.Key != "features" {
		t.Errorf("feature_requirements is found as %v", old)
	}
}

func TestRequirementNames(t *testing.T) {
	names, err := setting.RequirementNames([]byte("b = 1\n[a.c]\nd = 2\n"))
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" || err != nil {
		t.Error(diff, err)
	}
	if names, err := setting.RequirementNames([]byte("a =")); err == nil {
		t.Errorf("read as %v", names)
	}
}
