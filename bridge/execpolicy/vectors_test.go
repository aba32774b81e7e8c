package execpolicy_test

import (
	"slices"
	"strings"
	"testing"

	"codex-bridge/bridge/bridgetest/vectors"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"codex-bridge/bridge/execpolicy"
)

func TestExecPolicyVectors(t *testing.T) {
	type tools struct{ Exec execpolicy.Layer }
	var v struct {
		Cases []struct {
			Name  string
			Input struct {
				AgentID string
				Config  struct {
					Tools  tools
					Agents struct {
						List []struct {
							ID    string
							Tools tools
						}
					}
				}
				ExecOverrides execpolicy.Layer
				Approvals     struct {
					Defaults execpolicy.Layer
					Agents   map[string]execpolicy.Layer
				}
			}
			Output execpolicy.Policy
		}
	}
	vectors.Read(t, "exec_policy.json", &v)
	if len(v.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range v.Cases {
		t.Run(c.Name, func(t *testing.T) {
			in := c.Input
			layers := []execpolicy.Layer{in.Config.Tools.Exec}
			for _, agent := range in.Config.Agents.List {
				if strings.EqualFold(agent.ID, in.AgentID) {
					layers = append(layers, agent.Tools.Exec)
				}
			}
			layers = append(layers, in.ExecOverrides)
			floor := execpolicy.Floor(in.Approvals.Agents[in.AgentID], in.Approvals.Agents["*"], in.Approvals.Defaults)
			if diff := cmp.Diff(c.Output, execpolicy.Resolve(layers, floor)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A floor never loosens, and what is said twice is said once.
func TestLaws(t *testing.T) {
	securities, asks := []string{"deny", "allowlist", "full"}, []string{"off", "on-miss", "always"}
	rapid.Check(t, func(t *rapid.T) {
		word := func(from []string) string {
			return rapid.SampledFrom(append([]string{"", "bogus"}, from...)).Draw(t, "word")
		}
		layer := func() execpolicy.Layer {
			return execpolicy.Layer{Mode: word([]string{"deny", "allowlist", "ask", "auto", "full"}), Security: word(securities), Ask: word(asks)}
		}
		layers, floor := []execpolicy.Layer{layer(), layer()}, layer()
		free, held := execpolicy.Resolve(layers, execpolicy.Layer{}), execpolicy.Resolve(layers, floor)
		if slices.Index(securities, held.Security) > slices.Index(securities, free.Security) || slices.Index(asks, held.Ask) < slices.Index(asks, free.Ask) {
			t.Fatalf("%+v held to %+v is %+v", free, floor, held)
		}
		if i := slices.Index(securities, floor.Security); i >= 0 && slices.Index(securities, held.Security) > i || slices.Index(asks, held.Ask) < slices.Index(asks, floor.Ask) {
			t.Fatalf("%+v is below the floor %+v", held, floor)
		}
		if again := execpolicy.Resolve(append(layers, layers[1]), floor); again != held {
			t.Fatalf("said twice: %+v, once: %+v", again, held)
		}
		if held.Touched != (held.Mode != "") {
			t.Fatalf("%+v", held)
		}
	})
}

func TestFloorIsTheFirst(t *testing.T) {
	got := execpolicy.Floor(execpolicy.Layer{Security: "bogus"}, execpolicy.Layer{Security: "allowlist"}, execpolicy.Layer{Security: "deny", Ask: "always"})
	if got != (execpolicy.Layer{Security: "allowlist", Ask: "always"}) {
		t.Errorf("the floor is %+v", got)
	}
}
