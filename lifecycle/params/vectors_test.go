package params_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/lifecycle/params"
)

func decoded(t *testing.T, text []byte) (v any) {
	t.Helper()
	if text == nil {
		return nil
	}
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func same(t *testing.T, got, want []byte) {
	t.Helper()
	if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestConfigMergeVectors(t *testing.T) {
	var v struct {
		Cases []struct {
			Configs []json.RawMessage
			Result  json.RawMessage
		}
		RuntimeThreadConfig struct {
			Seed []struct {
				Config, Result json.RawMessage
				Options        struct{ NativeCodeModeEnabled *bool }
			}
		}
	}
	vectors.Read(t, "config_merge.json", &v)
	if len(v.Cases) == 0 || len(v.RuntimeThreadConfig.Seed) == 0 {
		t.Fatal("no cases")
	}
	for i, c := range v.Cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			got, err := params.Merge(c.Configs...)
			if err != nil {
				t.Fatal(err)
			}
			same(t, got, c.Result)
		})
	}
	for i, c := range v.RuntimeThreadConfig.Seed {
		t.Run(fmt.Sprintf("code mode %d", i), func(t *testing.T) {
			mode := params.CodeModeOnly
			if on := c.Options.NativeCodeModeEnabled; on != nil && !*on {
				mode = params.CodeModeOff
			}
			got, err := params.Config{Asked: c.Config, CodeMode: mode}.Start()
			if err != nil {
				t.Fatal(err)
			}
			want := c.Result
			var asked struct{ Features map[string]any }
			if json.Unmarshal(c.Config, &asked) == nil && asked.Features != nil { // the mode is put into the table: see DEVIATIONS.md
				asked.Features["code_mode"], asked.Features["code_mode_only"] = mode != params.CodeModeOff, mode == params.CodeModeOnly
				text, err := json.Marshal(map[string]any{"features": asked.Features})
				if err != nil {
					t.Fatal(err)
				}
				want = text
			}
			same(t, got, want)
		})
	}
}
