//go:build linux

package e2e_test

import (
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

// An exception counts until its end. After it the denial holds, and names who answers for it.
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
}
