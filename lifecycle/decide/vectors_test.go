package decide_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/lifecycle/binding"
	"codex-bridge/lifecycle/engine"
	"codex-bridge/lifecycle/fingerprint"
)

var now = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// vector is one case of thread_decision.json: what was asked of the system, and what it did.
type vector struct {
	Name  string
	Input struct {
		Tools           []map[string]json.RawMessage
		ExistingBinding json.RawMessage
		Config          json.RawMessage // the host's: mcp.servers, memory.citations
		Config0         json.RawMessage // of the thread
		Provider        *string
		AppServer       map[string]json.RawMessage
		Params          struct {
			ContextEngine struct {
				Info map[string]json.RawMessage
			}
			ContextTokenBudget   json.RawMessage
			BootstrapContextMode string
		}
		Call struct {
			MCPServersFingerprint          string
			MCPServersFingerprintEvaluated bool
			ContextEngineProjection        json.RawMessage
			FinalConfigPatch               json.RawMessage
			NativeCodeModeEnabled          *bool
			EnvironmentSelection           json.RawMessage
			NativeHookRelayGeneration      string
		}
		Plugin *struct {
			Enabled                 bool
			InputFingerprint        string
			EnabledPluginConfigKeys []string
		}
		PluginBuilt *struct {
			ConfigPatch                   json.RawMessage
			Fingerprint, InputFingerprint string
			PolicyContext                 json.RawMessage
		}
		PluginBuildError bool
		ResumeError      string
		ResumeReturns    string
	}
	Seed, Tree20260601 *done
}

type done struct {
	Requests                    []string
	Action                      string
	RotatedContextEngineBinding bool
	ReturnedThreadID            string
	PluginBuildCalls            int
	BindingAfter                json.RawMessage
	LastRequestParams           map[string]any
	Error                       string
	Outcome                     string
}

func TestThreadDecisionVectors(t *testing.T) {
	var v struct{ Cases []vector }
	vectors.Read(t, "thread_decision.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			want, tree := c.Seed, false
			if want == nil { // the seed does not know of it
				want, tree = c.Tree20260601, true
			}
			w := &world{T: t, c: c}
			got, after, stored := w.run()
			if !slices.Equal(w.requests, want.Requests) {
				t.Errorf("requests %v, want %v", w.requests, want.Requests)
			}
			if w.builds != want.PluginBuildCalls {
				t.Errorf("the apps were built %d times, want %d", w.builds, want.PluginBuildCalls)
			}
			if got.Action != want.Action || got.RotatedContextEngineBinding != want.RotatedContextEngineBinding ||
				got.ReturnedThreadID != want.ReturnedThreadID || got.Error != want.Error || got.Outcome != want.Outcome {
				t.Errorf("the outcome is %+v, want %+v", got, *want)
			}
			w.sameBinding(after, stored, want.BindingAfter)
			w.sameParams(want.LastRequestParams, tree)
		})
	}
}

// sameBinding compares fingerprints by what they are of, and times by whether they were
// kept.
func (w *world) sameBinding(after binding.Binding, stored bool, want json.RawMessage) {
	w.Helper()
	if string(want) == "null" || len(want) == 0 {
		if stored {
			w.Errorf("a binding is kept: %+v", after)
		}
		return
	}
	b, dropped, err := binding.Read(want, "<sessionFile>", binding.Options{Now: now})
	if err != nil || len(dropped) > 0 {
		w.Fatal(err, dropped)
	}
	if b.CreatedAt == "<time>" {
		b.CreatedAt = after.Stamped(binding.Options{Now: now}).CreatedAt
	}
	after = after.Stamped(binding.Options{Now: now})
	b.UpdatedAt = after.UpdatedAt
	for _, pair := range [][2]*string{
		{&b.UserMCPServers, &after.UserMCPServers}, {&b.Environments, &after.Environments}, {&b.DynamicTools, &after.DynamicTools},
	} {
		if fingerprint.Same(*pair[0], *pair[1]) {
			*pair[0] = *pair[1]
		}
	}
	if engine.Same(b.ContextEngine, after.ContextEngine) {
		b.ContextEngine = after.ContextEngine
	}
	if diff := cmp.Diff(b, after); diff != "" {
		w.Errorf("the binding (-want +got):\n%s", diff)
	}
}

// sameParams compares the last request. What is another here is in DEVIATIONS.md.
func (w *world) sameParams(want map[string]any, tree bool) {
	w.Helper()
	var got map[string]any
	d := json.NewDecoder(bytes.NewReader(w.last))
	if err := d.Decode(&got); err != nil {
		w.Fatal(err)
	}
	if w.requests[len(w.requests)-1] == "thread/resume" {
		want["cwd"] = "/w"
		delete(want, "persistExtendedHistory")
	} else {
		want["serviceName"] = "codex-bridge"
	}
	if tree {
		delete(want, "personality")
		config, _ := want["config"].(map[string]any)
		config["features.code_mode_only"] = true
		delete(config, "features.apply_patch_streaming_events")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("the parameters (-want +got):\n%s", diff)
	}
}
