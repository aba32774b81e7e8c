package preset_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"
	"codex-bridge/bridge/setting"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge/execpolicy"
	"codex-bridge/bridge/preset"
	"codex-bridge/bridge/requirements"
)

// settings are what the vectors' configuration says of policies. The other keys belong to
// other parts of the bridge.
type settings struct {
	AppServer struct {
		Mode, ApprovalPolicy, Sandbox, ApprovalsReviewer, ServiceTier string

		Command, Args, ClearEnv, RequestTimeoutMs, TurnCompletionIdleTimeoutMs json.RawMessage
		PostToolRawAssistantCompletionIdleTimeoutMs, CodeModeOnly              json.RawMessage
	}
}

func (s settings) settings() preset.Settings {
	a := s.AppServer
	return preset.Settings{Preset: a.Mode, Approval: a.ApprovalPolicy, Sandbox: a.Sandbox, Reviewer: a.ApprovalsReviewer, ServiceTier: a.ServiceTier}
}

// isInvalid reports whether a configuration has an unknown key, or an unknown approval policy.
func isInvalid(t *testing.T, text json.RawMessage) bool {
	t.Helper()
	if text == nil {
		return false
	}
	var members map[string]json.RawMessage
	var s settings
	for _, to := range []any{&members, &s} {
		if err := json.Unmarshal(text, to); err != nil {
			t.Fatal(err)
		}
	}
	delete(members, "appServer")
	return len(members) > 0 || s.AppServer.ApprovalPolicy != "" && !setting.IsApproval(s.AppServer.ApprovalPolicy)
}

func TestAppServerRuntimeOptionsVectors(t *testing.T) {
	type result struct {
		ApprovalPolicy       string
		ApprovalPolicySource preset.Source
		Sandbox              string
		ApprovalsReviewer    string
		ServiceTier          string
	}
	var v struct {
		Cases []struct {
			Name  string
			Input struct {
				Env              map[string]string
				RequirementsToml *string
				HostName         string
				PluginConfig     json.RawMessage
				ExecPolicy       execpolicy.Policy
			}
			Result *result
		}
	}
	vectors.Read(t, "app_server_runtime_options.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		if len(c.Input.Env) > 0 {
			continue // see DEVIATIONS.md
		}
		t.Run(c.Name, func(t *testing.T) {
			want := c.Result
			if isInvalid(t, c.Input.PluginConfig) { // DEVIATIONS.md: it is refused, and not left out
				want = nil
			}
			if want != nil && want.ApprovalPolicy == "on-failure" { // DEVIATIONS.md: Codex refuses it
				want.ApprovalPolicy = "on-request"
			}
			got, err := func() (preset.Result, error) {
				in := preset.Input{Exec: c.Input.ExecPolicy}
				var s settings
				if c.Input.PluginConfig != nil {
					d := json.NewDecoder(bytes.NewReader(c.Input.PluginConfig))
					d.DisallowUnknownFields() // as the configuration does
					if err := d.Decode(&s); err != nil {
						return preset.Result{}, err
					}
				}
				in.Config = s.settings()
				if c.Input.RequirementsToml != nil {
					r, err := requirements.Parse([]byte(*c.Input.RequirementsToml), c.Input.HostName)
					if err != nil {
						t.Fatal(err)
					}
					in.Requirements = r
				}
				return preset.Resolve(in)
			}()
			if (err != nil) != (want == nil) {
				t.Fatalf("%+v, %v; want %+v", got, err, want)
			}
			if want == nil {
				return
			}
			diff := cmp.Diff(*want, result{got.Approval, got.ApprovalSource, got.Sandbox, got.Reviewer, got.ServiceTier})
			if diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
