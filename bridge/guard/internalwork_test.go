package guard

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// Codex does not say for which thread its memories agent works. So the rules of all projects count,
// also of a thread that has not opened, and those of the agent's own folder. All policies of threads
// count, also of threads that are closed.
func TestInternalWorkHasStrictestPolicy(t *testing.T) {
	const allow = "prefix_rule(pattern=[\"make\"], decision=\"allow\")\n"
	const kept = `{"command":"{ make\n}"}`
	denying := func(command string) *policy.Policy {
		cfg := config.Default().Policy
		cfg.Mode, cfg.Rules = config.Enforce, []config.Rule{{Command: command, Decision: "deny"}}
		p, err := policy.New(cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, test := range map[string]struct {
		rules   string // a file with rules
		before  func(w *agentWorld)
		input   string
		refusal string
	}{
		"nothing":                {},
		"project":                {rules: "project/.codex/rules/own.rules", before: func(w *agentWorld) { w.g.threads.recordSent(w.root+"/project", nil) }, input: kept},
		"folder of a project":    {rules: "project/.codex/rules/own.rules", before: func(w *agentWorld) { w.g.threads.recordSent(w.root+"/project/folder", nil) }, input: kept},
		"another project":        {rules: "other/.codex/rules/own.rules", before: func(w *agentWorld) { w.g.threads.recordSent(w.root+"/project", nil) }},
		"its folder":             {rules: "home/memories_v2/.codex/rules/own.rules", input: kept},
		"policy of a request":    {before: func(w *agentWorld) { w.g.threads.recordSent("", []*policy.Policy{denying("make")}) }, refusal: "policy.rule"},
		"policy of another rule": {before: func(w *agentWorld) { w.g.threads.recordSent("", []*policy.Policy{denying("rm")}) }},
		"earlier policy": {before: func(w *agentWorld) {
			is := w.g.Policy()
			w.g.SetPolicy(denying("make"))
			w.g.SetPolicy(is)
		}, refusal: "policy.rule"},
		"too many policies": {before: func(w *agentWorld) {
			for n := range maxExtraPolicies + 1 {
				w.g.threads.recordSent("", []*policy.Policy{denying(strconv.Itoa(n))})
			}
		}, refusal: "the bridge does not know the thread's rights"},
		"threads of a time without a policy": {before: func(w *agentWorld) {
			is := w.g.Policy()
			w.g.SetPolicy(newAgentWorld(t, func(p *config.Policy) { p.Mode = config.Audit }).g.Policy())
			w.g.SetPolicy(is)
		}, refusal: "the bridge does not know the thread's rights"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newAgentWorld(t, nil)
			folder := filepath.Join(w.root, "home", "memories_v2")
			if err := os.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if test.rules != "" {
				w.write(test.rules, allow)
			}
			if test.before != nil {
				test.before(w)
			}
			use := toolcall.Call{Name: "Bash", Input: value(t, `{"command":"make"}`), Cwd: folder}
			payload := []byte(`{"transcript_path":null}`)
			refusal := w.g.Tool(t.Context(), "internal", "u", use, payload).Refusal
			var input []byte
			if refusal == "" {
				input, refusal = w.g.Confine(t.Context(), "internal", "u", use, payload)
			}
			if string(input) != test.input || (refusal == "") != (test.refusal == "") || !strings.Contains(refusal, test.refusal) {
				t.Errorf("input %s, refusal %q", input, refusal)
			}
		})
	}
}
