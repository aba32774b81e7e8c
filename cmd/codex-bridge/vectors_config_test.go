//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/lifecycle/binding"
)

// The first configuration is that of the section [thread], the second the client's.
func TestConfigMergeVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type merge struct {
		Configs []map[string]any
		Result  any
	}
	type codeMode struct {
		Config  map[string]any
		Result  map[string]any
		Options struct{ NativeCodeModeEnabled *bool }
	}
	started := func(t *testing.T, configuration string, config map[string]any) any {
		w := starting(t, configuration)
		p := map[string]any{}
		if config != nil {
			p["config"] = config
		}
		w.must("thread/start", p)
		return withMethod(w.takeRequests(), "thread/start")[0].Params["config"]
	}
	notThere := func(c merge) bool { return len(c.Configs) > 0 && hasNull(c.Configs[0]) || len(c.Configs) > 2 }
	eachCase(t, "config_merge.json", "cases", func(t *testing.T, c merge) {
		configuration := "[thread]\n"
		var config map[string]any
		if len(c.Configs) > 0 {
			configuration += "config = " + inlineTOML(t, c.Configs[0]) + "\n"
		}
		if len(c.Configs) > 1 {
			config = c.Configs[1]
		}
		if diff := cmp.Diff(c.Result, started(t, configuration, config)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}, leftOut[merge]{"config_merge.json | a null in the first of two configurations; more than two", notThere})
	eachCase(t, "config_merge.json", "runtimeThreadConfig.seed", func(t *testing.T, c codeMode) {
		mode := "only"
		if on := c.Options.NativeCodeModeEnabled; on != nil && !*on {
			mode = "off"
		}
		want := c.Result
		if features, ok := c.Config["features"].(map[string]any); ok { // see DEVIATIONS.md
			features["code_mode"], features["code_mode_only"] = mode != "off", mode == "only"
			want = map[string]any{"features": features}
		}
		if diff := cmp.Diff(any(want), started(t, fmt.Sprintf("[thread]\ncode_mode = %q\n", mode), c.Config)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// hasNull reports whether a value is null or contains null. TOML has no null.
func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range v {
			if hasNull(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasNull)
	}
	return false
}

// inlineTOML returns a JSON value as TOML.
func inlineTOML(t *testing.T, v any) string {
	t.Helper()
	var members []string
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			members = append(members, fmt.Sprintf("%q = %s", name, inlineTOML(t, member)))
		}
		slices.Sort(members)
		return "{" + strings.Join(members, ", ") + "}"
	case []any:
		for _, member := range v {
			members = append(members, inlineTOML(t, member))
		}
		return "[" + strings.Join(members, ", ") + "]"
	}
	return text(t, v)
}

// agentsOf reports whether a case is about an agent, or about a server for agents.
func agentsOf(agent string, servers map[string]json.RawMessage) bool {
	if agent != "" {
		return true
	}
	for _, s := range servers {
		var def struct {
			Codex struct{ Agents json.RawMessage }
		}
		if json.Unmarshal(s, &def) == nil && def.Codex.Agents != nil {
			return true
		}
	}
	return false
}

func TestUserMCPPatchVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type patch struct {
		Config struct {
			Mcp struct{ Servers map[string]json.RawMessage }
		}
		Patch   any
		Options *struct{ AgentID string }
	}
	eachCase(t, "user_mcp_patch.json", "cases", func(t *testing.T, c patch) {
		w := starting(t, "")
		agent := ""
		if c.Options != nil {
			agent = c.Options.AgentID
		}
		if agentsOf(agent, c.Config.Mcp.Servers) { // see DEVIATIONS.md
			c.Patch = nil
		}
		about := map[string]any{"sessionKey": "s"}
		if c.Config.Mcp.Servers != nil {
			about["mcpServers"] = c.Config.Mcp.Servers
		}
		w.takeRequests()
		w.must("thread/start", map[string]any{"bridge": about})
		if diff := cmp.Diff(c.Patch, withMethod(w.takeRequests(), "thread/start")[0].Params["config"]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// lowerName matches names with the same order by bytes and by language. Other names may be in
// another order here: see DEVIATIONS.md.
var lowerName = regexp.MustCompile(`^[a-z]*$`)

// entries returns the tools of a fingerprint, sorted by their texts, and whether each name matches
// lowerName.
func entries(t *testing.T, print string) (sorted []string, plain bool) {
	t.Helper()
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(print), &list); err != nil {
		t.Fatalf("%s: %v", print, err)
	}
	plain = true
	for _, text := range list {
		var tool struct{ Name string }
		if err := json.Unmarshal(text, &tool); err != nil {
			t.Fatal(err)
		}
		sorted, plain = append(sorted, string(text)), plain && lowerName.MatchString(tool.Name)
	}
	slices.Sort(sorted)
	return sorted, plain
}

// The fingerprint is in the record of a session whose thread starts with the tools.
func TestDynamicToolsFingerprintVectors(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	type pair struct {
		A, B json.RawMessage
		Seed struct {
			Same bool
			A    string `json:"fingerprint_a"`
			B    string `json:"fingerprint_b"`
		}
	}
	type compatibility struct {
		Previous   *string
		Next       string
		Compatible bool
	}
	start := func(t *testing.T, w *assembled, key string, list json.RawMessage) string {
		if _, err := w.call("thread/start", map[string]any{"dynamicTools": list, "bridge": map[string]any{"sessionKey": key}}); err != nil {
			t.Fatal(err)
		}
		return w.recordOf(key).DynamicTools
	}
	eachCase(t, "dynamic_tools_fingerprint.json", "cases", func(t *testing.T, c pair) {
		w := starting(t, "")
		a, b := start(t, w, "a", c.A), start(t, w, "b", c.B)
		if (a == b) != c.Seed.Same {
			t.Errorf("%s\n%s", a, b)
		}
		for _, pair := range [][2]string{{a, c.Seed.A}, {b, c.Seed.B}} {
			got, want := pair[0], pair[1]
			ours, plain := entries(t, got)
			theirs, _ := entries(t, want)
			if !slices.Equal(ours, theirs) || plain && got != want {
				t.Errorf("the fingerprint is\n%s, want\n%s", got, want)
			}
		}
	})
	eachCase(t, "dynamic_tools_fingerprint.json", "compatibility", func(t *testing.T, c compatibility) {
		w := starting(t, "")
		const key = "s"
		was := binding.Binding{SessionFile: key, ThreadID: "old-" + key}
		if c.Previous != nil {
			was.DynamicTools = *c.Previous
		}
		w.putRecord(key, was)
		told := w.must("thread/start", map[string]any{"dynamicTools": json.RawMessage(c.Next), "bridge": map[string]any{"sessionKey": key}}).Get("bridge")
		if resumed := told.Get("action").Is("resumed"); resumed != c.Compatible {
			t.Errorf("%q to %s: %s", was.DynamicTools, c.Next, told.Raw())
		}
	})
}
