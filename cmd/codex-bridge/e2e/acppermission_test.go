//go:build linux

package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// A request of an agent is judged by what it has announced of the call, and by the policy of its folder; what a person
// allows is in the decision log.
func TestPermissionsOfAgents(t *testing.T) {
	t.Parallel()
	const agent = `
read x; echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"a","version":"1"},"agentCapabilities":{}}}'
read x; echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read x; echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"t","kind":"execute","title":"git push","rawInput":{"command":"git push"}}}}'
echo '{"jsonrpc":"2.0","id":7,"method":"session/request_permission","params":{"sessionId":"s","toolCall":CALL,"options":[{"optionId":"yes","name":"y","kind":"KIND"},{"optionId":"no","name":"n","kind":"reject_once"}]}}'
read x; case "$x" in *'"yes"'*) touch allowed;; esac
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
cat`
	const full, short = `{"toolCallId":"t","kind":"execute","rawInput":{"command":"git push"}}`, `{"toolCallId":"t"}`
	const work, elsewhere = `{"toolCallId":"t","kind":"execute","rawInput":{"command":["git","push"]}}`, `{"toolCallId":"t","kind":"execute","rawInput":{"command":"git push","cwd":"/etc"}}`
	const environment, always = `{"toolCallId":"t","kind":"execute","rawInput":{"command":"git push","env":{"GIT_SSH":"x"}}}`, full + " "
	const edit, more = `{"toolCallId":"u","kind":"edit","rawInput":{"path":"a","content":"x"}}`, `{"toolCallId":"u","kind":"edit","rawInput":{"path":"a","also":["/etc/x"]}}`
	const shown = `{"toolCallId":"v","kind":"edit","content":[{"type":"diff","path":"/x/a","oldText":"a","newText":"rm x"}]}`
	const address = `{"toolCallId":"t","kind":"execute","rawInput":{"command":"git push","cwd":"file:///etc"}}`
	const read, readMore = `{"toolCallId":"u","kind":"read","rawInput":{"file_path":"a"}}`, `{"toolCallId":"u","kind":"read","rawInput":{"file_path":"a","cmdline":"git push"}}`
	const reads, noRuns = "[[policy.rule]]\ntool = \"read\"\ndecision = \"allow\"\nescalated = true\n", "[[policy.rule]]\ntool = \"execute\"\ndecision = \"deny\"\n"
	const files = "[[policy.rule]]\npath = \"${workspace}/**\"\ndecision = \"allow\"\nescalated = true\n"
	const allow = "[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"allow\"\nescalated = true\n"
	const deny, all = "[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"deny\"\n", "[[policy.rule]]\ntool = \"*\"\ndecision = \"allow\"\n"
	for _, test := range []struct {
		name, call, user, folder string
		yes                      bool // of the person
		want, logged             bool
	}{
		{"the text of an edit is shown and logged", shown, "", "", true, true, true},
		{"control: a rule denies", full, deny, "", true, false, true},
		{"the call was announced before", short, deny, "", true, false, true},
		{"control: no allow without escalated", full, all, "", false, false, false},
		{"no allow without escalated for an announced call", short, all, "", false, false, false},
		{"a rule of the agent's folder", full, "", "[policy]\n" + deny, true, false, true},
		{"an approval of the person is logged", full, "", "", true, true, true},
		{"control: a rule allows", work, allow, "", false, true, true},
		{"no allow in another folder", elsewhere, allow, "", false, false, false},
		{"no allow with an environment", environment, allow, "", false, false, false},
		{"no allow in a folder that is no path", address, allow, "", false, false, false},
		{"control: a rule allows an edit", edit, files, "", false, true, true},
		{"no allow for further files of an edit", more, files, "", false, false, false},
		{"no allow against a rule for the kind", work, allow + noRuns, "", true, false, true},
		{"control: a rule allows a read", read, reads, "", false, true, true},
		{"no allow for unknown members of a read", readMore, reads, "", false, false, false},
		{"no yes for once can be given", always, allow, "", true, false, false},
	} {
		w := newWorld(t, options{mute: "bridge", codex: codexPath, config: "[policy]\napproval = [\"on-request\"]\nescalation = \"ask\"\n" + test.user + "[acp]\ndefault_agent = \"a\"\n[acp.agents.a]\ncommand = [\"/bin/sh\", \"agent.sh\"]\n"})
		kind := "allow_once"
		if test.call == always {
			kind = "allow_always"
		}
		script := strings.NewReplacer("CALL", test.call, "KIND", kind).Replace(agent)
		w.write("workspace/sub/agent.sh", script)
		if test.folder != "" {
			w.write("workspace/sub/.codex-bridge.toml", test.folder)
		}
		asked := make(chan string, 1)
		e := w.start(proxyArgv, editor.Options{Answer: func(_ context.Context, m editor.Message) (any, *editor.Error) {
			asked <- string(m.Raw)
			if test.yes {
				return map[string]any{"decision": "allow"}, nil
			}
			return map[string]any{"decision": "deny"}, nil
		}})
		c := &conversation{world: w, Editor: e, ctx: deadline(t)}
		c.initialize(map[string]any{"experimentalApi": true, "bridge": map[string]any{"version": 1, "hooks": []string{"permissionRequest"}}})
		child := c.spawn(map[string]any{"task": "x", "cwd": w.workspace + "/sub"})
		child.waitEnd(child.run)
		if got := exists(w.workspace + "/sub/allowed"); got != test.want {
			t.Errorf("%s: allowed %t", test.name, got)
		}
		c.Close(10 * time.Second)
		list, _, _ := w.runCommand("decisions", "list")
		if strings.Contains(list, "session/request_permission") != test.logged {
			t.Errorf("%s: the log has %q", test.name, list)
		}
		allowed := `{"agent":"a","tool":"execute","command":"git push","cwd":"`
		switch test.call {
		case edit:
			allowed = `{"agent":"a","tool":"edit","files":["`
		case read:
			allowed = `{"agent":"a","tool":"read","cwd":"`
		}
		if test.call == shown {
			allowed = `"content":[{"newText":"rm x","oldText":"a","path":"/x/a","type":"diff"}]`
			if payload := <-asked; !strings.Contains(payload, allowed) {
				t.Errorf("%s: the person is asked %s", test.name, payload)
			}
		}
		if test.want && !strings.Contains(strings.Join(strings.Fields(list), " "), allowed) {
			t.Errorf("%s: the log does not have what is allowed: %q", test.name, list)
		}
	}
}
