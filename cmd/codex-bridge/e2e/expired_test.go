//go:build linux

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// expiredConfig denies mkdir but for two exceptions, of which the first has expired.
const expiredConfig = `
[policy]
mode = "enforce"
approval = ["on-request"]
sandbox = "workspace-write"
[[policy.rule]]
command = "mkdir old"
decision = "allow"
ticket = "OPS-7"
until = "2020-03-31"
[[policy.rule]]
command = "mkdir new"
decision = "allow"
until = "9999-12-31"
[[policy.rule]]
command = "mkdir **"
decision = "deny"
reason = "Folders are for people."
owner = "platform"
`

// An exception counts until its end, and each use of it is logged. After it the denial holds, and names who
// answers for it.
func TestExpiredRuleAllowsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: expiredConfig})
	a := w.newAcceptingEditor(proxyArgv...)
	thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
	for _, test := range []struct{ command, output string }{
		{"mkdir new", "Process exited with code 0"},
		{"mkdir old", "Folders are for people (owner platform): mkdir old (policy.rule, user "},
	} {
		if asked := a.turn(thread, "RUN: "+test.command); len(asked) > 0 || !strings.Contains(w.lastToolOutput(), test.output) {
			t.Errorf("%s: questions %q, the model got %q", test.command, asked, w.lastToolOutput())
		}
	}
	a.closeAndWait()
	a.checkPresent("new")
	a.checkAbsent("old")
	out, problems, status := w.runCommand("decisions", "list", "--json", "--verdict", "accept")
	var log []struct{ Method, Rule, Reason, Thread, Turn string }
	if err := json.Unmarshal([]byte(out), &log); status != 0 || err != nil {
		t.Fatalf("decisions list: status %d, %s, %v", status, problems, err)
	}
	if len(log) != 1 || log[0].Method != "hook/preToolUse" || log[0].Rule != "policy.rule" || log[0].Reason != "a rule says allow (until 9999-12-31): mkdir new" ||
		log[0].Thread != thread || log[0].Turn == "" {
		t.Errorf("the log of accepted calls is %+v", log)
	}
}
