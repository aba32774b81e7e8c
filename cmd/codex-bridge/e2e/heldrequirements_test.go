//go:build linux

package e2e_test

import (
	"strings"
	"testing"
)

const heldPolicy = `
[policy]
mode = "enforce"
approval = ["on-request", "never"]
reviewers = ["user", "auto_review"]
sandbox = "workspace-write"
config_keys = ["web_search", "features.*"]
`

// replaced returns how many values Codex has replaced by those of the requirements.
func (c *conversation) replaced() (n int) {
	for _, m := range c.Messages() {
		if !m.Sent && m.Method == "configWarning" && strings.Contains(m.Param("summary"), "disallowed by requirements") {
			n++
		}
	}
	return n
}

// Codex alone replaces values that the machine's requirements exclude, and goes on. The bridge sends an
// allowed value, or refuses the thread. Without requirements Codex gets the client's.
func TestBridgeSendsWhatRequirementsAllow(t *testing.T) {
	t.Parallel()
	write := map[string]any{"sandbox": "workspace-write"}
	for _, tt := range []struct {
		name, requirements string
		params             map[string]any
		field              string
		want               string // with requirements: a part of the member, or "refused"
		free               string // without; "": as in another row
		alone              bool   // Codex alone replaces a value
	}{
		{"approval policy", `allowed_approval_policies = ["never"]`, map[string]any{"approvalPolicy": "on-request"}, "approvalPolicy", `"never"`, `"on-request"`, true},
		{"more questions", `allowed_approval_policies = ["on-request"]`, map[string]any{"approvalPolicy": "never"}, "approvalPolicy", "refused", `"never"`, true},
		{"no questions", `allowed_approval_policies = ["on-request", { granular = { sandbox_approval = false, rules = false, skill_approval = false, request_permissions = false, mcp_elicitations = false } }]`,
			map[string]any{"approvalPolicy": "never"}, "approvalPolicy", `"never"`, "", true},
		{"no common approval policy", `allowed_approval_policies = ["untrusted"]`, map[string]any{"approvalPolicy": "on-request"}, "approvalPolicy", "refused", `"on-request"`, true},
		{"reviewer", `allowed_approvals_reviewers = ["user"]`, map[string]any{"approvalsReviewer": "auto_review"}, "approvalsReviewer", `"user"`, `"auto_review"`, true},
		{"sandbox", `allowed_sandbox_modes = ["read-only"]`, write, "sandbox", `"readOnly"`, `"workspaceWrite"`, true},
		{"sandbox of this host", "[[remote_sandbox_config]]\nhostname_patterns = [\"*\"]\nallowed_sandbox_modes = [\"read-only\"]", write, "sandbox", `"readOnly"`, "", true},
		{"permission profiles", "default_permissions = \":workspace\"\n[allowed_permission_profiles]\n\":workspace\" = true",
			map[string]any{"permissions": ":read-only"}, "sandbox", "refused", `"readOnly"`, true},
		{"web search", `allowed_web_search_modes = ["cached"]`, map[string]any{"config": map[string]any{"web_search": "live"}}, "sandbox", `"`, `"`, true},
		{"feature", "[features]\ngoals = false", map[string]any{"config": map[string]any{"features.goals": true}}, "sandbox", `"`, `"`, false},
		{"network", "[experimental_network]\nenabled = true\n[experimental_network.domains]\n\"example.com\" = \"allow\"", write, "sandbox", "refused", "", false},
		{"a feature that the policy disables", "[features]\nskill_mcp_dependency_install = true", write, "sandbox", "refused", "", false},
		{"managed hooks", `allow_managed_hooks_only = true`, write, "sandbox", "refused", "", false},
		{"no hooks", "[features]\nhooks = false", write, "sandbox", "refused", "", false},
	} {
		if !isSampledName(4, tt.name) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, try := range []struct {
				argv         []string
				requirements string
				want         string
				replaced     bool
			}{
				{[]string{codexPath, "app-server"}, tt.requirements, "", tt.alone},
				{proxyArgv, tt.requirements, tt.want, false},
				{proxyArgv, "", tt.free, false},
			} {
				if try.requirements+try.want == "" {
					continue
				}
				w := newWorld(t, options{config: heldPolicy})
				c := w.open(w.requiring(try.requirements, try.argv...)...)
				c.initialize(nil)
				if got := c.openedWith(tt.field, tt.params); !strings.Contains(got, try.want) {
					t.Errorf("%s with %q: %s, want %s", try.argv[0], try.requirements, got, try.want)
				}
				if c.closeAndWait(); c.replaced() > 0 != try.replaced {
					t.Errorf("%s with %q: codex has replaced %d values", try.argv[0], try.requirements, c.replaced())
				}
				if try.want != "refused" {
					continue
				}
				if log, _, _ := w.runCommand("decisions", "list", "--verdict", "deny"); !strings.Contains(log, "thread/start") {
					t.Errorf("%s with %q: the refusal is not in the decision log:\n%s", try.argv[0], try.requirements, log)
				}
			}
		})
	}
}

// If a requirement has Codex ask about a command, a person is asked, although a rule of the bridge or a
// remembered answer allows it.
func TestRequiredQuestionIsAsked(t *testing.T) {
	t.Parallel()
	const allowed = "[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"allow\"\n[approvals]\nremember = \"always\"\n"
	const prompt = "[[rules.prefix_rules]]\npattern = [{ any_of = [\"mkdir\", \"touch\"] }]\ndecision = \"prompt\"\n"
	w := newWorld(t, options{config: heldPolicy + allowed})
	w.write("home/rules/own.rules", "prefix_rule(pattern = [\"touch\"], decision = \"prompt\")\n")
	anyCase := strings.ReplaceAll(prompt, "touch", "TOUCH") + "canonical_matching = true\n"
	for _, required := range []string{"", prompt, anyCase} {
		c := w.open(w.requiring(required, proxyArgv...)...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		for range 2 {
			turn, mark := c.startTurn(thread, "RUN: touch made")
			if required != "" {
				if err := c.Reply(c.waitFor(mark, commandApproval, nil), decision("acceptForSession")); err != nil {
					t.Fatal(err)
				}
			}
			c.waitTurn(thread, turn, mark)
			for _, m := range c.Messages()[mark:] {
				if required == "" && !m.Sent && m.Method == commandApproval {
					t.Error("without requirements the client is asked")
				}
			}
			c.checkPresent("made")
		}
		c.closeAndWait()
	}
}

// The bridge keeps a command in the sandbox that a rule of the user lets leave. Its form must not keep
// Codex from seeing the command that a requirement forbids.
func TestForbiddenCommandIsNotHidden(t *testing.T) {
	t.Parallel()
	const forbidden = "[[rules.prefix_rules]]\npattern = [{ token = \"touch\" }]\ndecision = \"forbidden\"\n"
	anyCase := strings.ReplaceAll(forbidden, "touch", "TOUCH") + "canonical_matching = true\n"
	for _, required := range []string{"", forbidden, anyCase} {
		w := newWorld(t, options{config: heldPolicy})
		w.write("home/rules/own.rules", "prefix_rule(pattern = [\"touch\"], decision = \"allow\")\n")
		c := w.open(w.requiring(required, proxyArgv...)...)
		c.initialize(nil)
		thread := c.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
		t.Log(c.toolOutput(thread, "RUN: touch made"))
		if required == "" {
			c.checkPresent("made")
		} else {
			c.checkAbsent("made")
		}
		c.closeAndWait()
	}
}
