package policy_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/rpc"
)

// drawTogether is drawPolicy with keys on which policies can differ.
func drawTogether(t *rapid.T) config.Policy {
	cfg := drawPolicy(t)
	cfg.Gate = rapid.Bool().Draw(t, "gate")
	cfg.ProtectedPaths = rapid.SampledFrom([][]string{nil, {".vscode"}, {".zed"}, {".vscode", "zeta"}}).Draw(t, "protected")
	return cfg
}

// drawTightened returns cfg as a workspace's policy file may tighten it.
func drawTightened(t *rapid.T, cfg config.Policy) config.Policy {
	change := func(name string) bool { return rapid.Bool().Draw(t, "tighten "+name) }
	some := func(name string, all []string) []string {
		n := rapid.IntRange(1, max(1, len(all))).Draw(t, "left of "+name)
		return all[:min(n, len(all))]
	}
	scale := func(name, now string, scale ...string) string {
		return rapid.SampledFrom(scale[slices.Index(scale, now):]).Draw(t, name)
	}
	cfg.Sandbox = scale("tightened sandbox", cfg.Sandbox, "danger-full-access", "workspace-write", "read-only")
	cfg.ProjectTrust = scale("tightened trust", cfg.ProjectTrust, "codex", "user", "never")
	cfg.UnknownMethods = scale("tightened unknown", cfg.UnknownMethods, "allow", "deny")
	cfg.Network = cfg.Network && !change("network")
	cfg.Gate = cfg.Gate || change("gate")
	cfg.ProtectedPaths = append(slices.Clip(cfg.ProtectedPaths), rapid.SampledFrom([]string{"zeta", ".idea"}).Draw(t, "protected, too"))
	cfg.WritableRoots, cfg.ConfigKeys = some("roots", cfg.WritableRoots), some("keys", cfg.ConfigKeys)
	if slices.Contains(cfg.Approval, "untrusted") && change("approval") {
		cfg.Approval = []string{"untrusted"}
	}
	if change("reviewers") {
		cfg.Reviewers = []string{"user"}
	}
	if change("models") {
		cfg.Models = []string{"gpt-5.5"}
	}
	if change("efforts") {
		cfg.Efforts = []string{"low"}
	}
	return cfg
}

// together has policies decide a message. Codex's configuration is the same for all folders.
func together(t tester, cfgs []config.Policy, m *rpc.Message, st policy.State) policy.Decision {
	policies := make([]*policy.Policy, len(cfgs))
	for i, cfg := range cfgs {
		policies[i] = compile(t, cfg)
	}
	decide := func(p *policy.Policy, m *rpc.Message, with []*policy.Policy) policy.Decision {
		st := st
		st.Policies, st.Unpinned, st.Rewritten = with, true, with != nil || p != policies[0]
		d := p.Decide(m, st)
		if d.Want == policy.WantConfiguration {
			read := *st.Defaults
			read.Cwd, st.Defaults = d.ConfigCwd, &read
			d = p.Decide(m, st)
		}
		return d
	}
	return policy.DecideTogether(policies, decide(policies[0], m, nil), decide)
}

func drawTogetherState(t *rapid.T) policy.State {
	st := drawState(t)
	if rapid.Bool().Draw(t, "stored") {
		st.StoredSandbox = &policy.SandboxSettings{Mode: "workspace-write", Network: true}
	}
	if st.Thread != nil && rapid.Bool().Draw(t, "fenced") {
		st.Thread.Profile = policy.Profile{Defined: true, Roots: []string{"/srv/out"}}
	}
	return st
}

// readOnlyPaths returns the protected paths of the profile that a message defines.
func readOnlyPaths(line []byte) (paths []string) {
	var m struct {
		Params struct {
			Config struct {
				Permissions map[string]struct{ Filesystem map[string]any }
			}
		}
	}
	_ = json.Unmarshal(line, &m)
	relative, _ := m.Params.Config.Permissions["codex-bridge"].Filesystem[":workspace_roots"].(map[string]any)
	for path, access := range relative {
		if access == "read" {
			paths = append(paths, path)
		}
	}
	return paths
}

var trustScale = []string{"codex", "user", "never"}

// TestSeveralPoliciesAreAsStrictAsEach checks that a message that several policies decided stays
// inside each of them.
func TestSeveralPoliciesAreAsStrictAsEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfgs := []config.Policy{drawTogether(t), drawTogether(t)}
		if rapid.Bool().Draw(t, "three") {
			cfgs = append(cfgs, drawTogether(t))
		}
		st, line := drawTogetherState(t), drawLine(t)
		line = strings.Replace(line, `"permissions":"dev"`, `"permissions":"codex-bridge-network-roots"`, 1)
		m, err := rpc.ParseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		d := together(t, cfgs, m, st)
		if d.Verdict == policy.Deny {
			return
		}
		strictest := slices.MaxFunc(cfgs, func(a, b config.Policy) int {
			return slices.Index(trustScale, a.ProjectTrust) - slices.Index(trustScale, b.ProjectTrust)
		})
		readOnly := slices.ContainsFunc(cfgs, func(cfg config.Policy) bool { return cfg.Sandbox == "read-only" })
		protected := readOnlyPaths(d.Message)
		for _, cfg := range cfgs {
			alone := together(t, []config.Policy{cfg}, m, st) // denied if another policy must set an omitted field
			for _, path := range readOnlyPaths(alone.Message) {
				if !readOnly && !slices.Contains(protected, path) {
					t.Fatalf("%s is not protected\n%s\n%s\n%+v", path, line, d.Message, cfgs)
				}
			}
			got := d.Message
			if d.Gated != nil && *d.Gated && !slices.Contains(cfg.Approval, "on-request") {
				got = []byte(strings.Replace(string(got), `"approvalPolicy":"on-request"`, `"approvalPolicy":"untrusted"`, 1))
				got = reducedForm.ReplaceAll(got, []byte(`"approvalPolicy":"untrusted"`))
			}
			cfg.ProjectTrust = strictest.ProjectTrust // "codex" does not say what the table that another puts there must not have
			if bad := exceeds(cfg, st, got); len(bad) > 0 {
				t.Fatalf("%v\n%s\n%s\n%+v\n%+v", bad, line, got, cfgs, st.Thread)
			}
		}
	})
}

// TestTightenedPolicyContradictsNone checks that policies never contradict each other in any order
// if each tightens the one before.
func TestTightenedPolicyContradictsNone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawTogether(t)
		cfgs := []config.Policy{cfg, drawTightened(t, cfg)}
		cfgs = append(cfgs, drawTightened(t, cfgs[1]))
		cfgs = rapid.Permutation(cfgs).Draw(t, "order")
		st, line := drawTogetherState(t), drawLine(t)
		m, err := rpc.ParseMessage([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		if d := together(t, cfgs, m, st); d.Err != nil && strings.Contains(d.Err.Message, "contradict") {
			t.Fatalf("%v\n%s\n%+v", d.Err, line, cfgs)
		}
	})
}

// TestContradictionNamesBothPolicies checks the error for policies that contradict each other.
func TestContradictionNamesBothPolicies(t *testing.T) {
	low, high := contract(), contract()
	low.Efforts, high.Efforts = []string{"low"}, []string{"high"}
	policies := []*policy.Policy{compile(t, low), compile(t, high)}
	decide := func(p *policy.Policy, m *rpc.Message, with []*policy.Policy) policy.Decision {
		st := state()
		st.Policies = with
		return p.Decide(m, st)
	}
	m := message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T","input":[],"effort":"high"}}`)
	d := policy.DecideTogether(policies, decide(policies[0], m, nil), decide)
	const want = `turn/start: params.effort: the policies of this thread contradict each other: "high" is not in policy.efforts [low]; ` +
		`and then "low" is not in policy.efforts [high] (policy.efforts); make the policy files of the thread's folders allow one value in common; ` +
		`if the configuration has changed, open the thread again`
	if d.Err == nil || d.Err.Message != want {
		t.Error(d.Err)
	}
}

// TestPoliciesAgreeInAnyOrder checks that two policies agree if their lists differ only in order.
func TestPoliciesAgreeInAnyOrder(t *testing.T) {
	for name, keys := range map[string][]string{"key not allowed": nil, "key allowed": {"model_reasoning_*"}} {
		a, b := contract(), contract()
		a.ConfigKeys, b.ConfigKeys = keys, keys
		a.Efforts, b.Efforts = []string{"low", "high"}, []string{"high", "low"}
		st := state()
		st.Thread = nil
		st.Defaults = &policy.Defaults{Effort: "xhigh", Cwd: "/code/proj"}
		m := message(t, `{"id":1,"method":"thread/start","params":{"cwd":"/code/proj","sandbox":"read-only","approvalPolicy":"on-request","approvalsReviewer":"user"}}`)
		d := together(t, []config.Policy{a, b}, m, st)
		if d.Err != nil || !strings.Contains(string(d.Message), `"model_reasoning_effort":"low"`) {
			t.Errorf("%s: %s %v", name, d.Message, d.Err)
		}
	}
}

// reducedForm is an approval policy under which nothing may leave the sandbox.
var reducedForm = regexp.MustCompile(`"approvalPolicy":\{"granular":\{"sandbox_approval":false[^}]*\}\}`)
