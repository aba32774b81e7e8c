package inject_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"

	"codex-bridge/relay/hook"
	"codex-bridge/relay/inject"

	"github.com/google/go-cmp/cmp"
)

// names of the events in the vectors: one is that of the system they come from.
func event(name string) hook.Event {
	if name == "before_agent_finalize" {
		return hook.Stop
	}
	return hook.Event(name)
}

type hookConfig struct {
	Events []struct {
		ApprovalPolicy           json.RawMessage
		ConfiguredEvents, Events []string
	}
	Cases []struct {
		Name    string
		Options struct {
			Events             []string
			ClearOmittedEvents bool
			HookTimeoutSec     *float64
		}
		RelayHasNoWorkFor []string
		CommandTemplate   string
		Config            map[string]any
	}
}

func readVectors(t *testing.T) (v hookConfig) {
	t.Helper()
	vectors.Read(t, "hook_config.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	return v
}

func TestHookConfigVectorsCases(t *testing.T) {
	for _, c := range readVectors(t).Cases {
		t.Run(c.Name, func(t *testing.T) {
			plan := inject.Plan{
				Events: hook.Events, Status: "OpenClaw native hook relay", Clear: c.Options.ClearOmittedEvents,
				Command: func(e hook.Event) string {
					name := string(e)
					if e == hook.Stop {
						name = "before_agent_finalize"
					}
					return strings.ReplaceAll(c.CommandTemplate, "<event>", name)
				},
				Idle: func(e hook.Event) bool {
					return slices.ContainsFunc(c.RelayHasNoWorkFor, func(name string) bool { return event(name) == e })
				},
			}
			if len(c.Options.Events) > 0 {
				plan.Events = nil
				for _, name := range c.Options.Events {
					plan.Events = append(plan.Events, event(name))
				}
			}
			if s := c.Options.HookTimeoutSec; s != nil {
				plan.Timeout = time.Duration(*s * float64(time.Second))
			}
			if diff := cmp.Diff(c.Config, values(t, plan.Keys())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func values(t *testing.T, keys []inject.Key) map[string]any {
	t.Helper()
	config := make(map[string]any)
	for _, key := range keys {
		var value any
		if err := json.Unmarshal(key.Value, &value); err != nil {
			t.Fatalf("%s: %v", key.Name, err)
		}
		if _, twice := config[key.Name]; twice {
			t.Errorf("%s twice", key.Name)
		}
		config[key.Name] = value
	}
	return config
}

// The check value of the protocol's description.
func TestTrusted(t *testing.T) {
	plan := inject.Plan{
		Events: []hook.Event{hook.PreToolUse}, Timeout: 4001 * time.Millisecond,
		Command: func(hook.Event) string { return "/opt/hook pre" },
	}
	want := map[string]string{
		"/<session-flags>/config.toml:pre_tool_use:0:0": "sha256:b270f1c8131833c84071d8334dc47b86324d336d93f8d7dc8e9e25ca8f4c5e10",
	}
	if diff := cmp.Diff(want, plan.Trusted()); diff != "" {
		t.Error(diff)
	}
}
