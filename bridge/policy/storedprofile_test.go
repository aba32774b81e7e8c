package policy_test

import (
	"strings"
	"testing"

	"codex-bridge.example/bridge/policy"
)

// TestStoredProfileReadsRoot checks for which access to the root folder commands can read what no entry denies.
func TestStoredProfileReadsRoot(t *testing.T) {
	for access, want := range map[string]bool{"read": true, "write": true, "deny": false, "later": false} {
		s := policy.ParseStoredProfile(value(t, `{"permissionProfile":{"file_system":{"entries":[{"path":{"value":{"kind":"root"}},"access":"`+access+`"}]}}}`))
		if s.ReadsRoot != want || len(s.Denied) > 0 {
			t.Errorf("%s: %+v", access, s)
		}
	}
}

// A resume or fork that leaves out what Codex restores is refused if Codex's record can't be read, with what to
// send. One that names it needs no record.
func TestUnreadableRecordOpensNoThread(t *testing.T) {
	st := state()
	st.Thread, st.ThreadFolder, st.Stored, st.StoredApproval = nil, "/code/proj", nil, nil
	st.StoredProblem = "it is unreadable"
	cfg := contract()
	for params, hint := range map[string]string{
		``:                               `send approvalPolicy, and sandbox or permissions`,
		`,"approvalPolicy":"on-request"`: `send sandbox or permissions`,
		`,"sandbox":"workspace-write"`:   `send approvalPolicy`,
		`,"permissions":":workspace"`:    `send approvalPolicy`,
		`,"approvalPolicy":"on-request","sandbox":"workspace-write"`: "",
		`,"approvalPolicy":"on-request","permissions":":read-only"`:  "",
	} {
		for _, method := range []string{"thread/resume", "thread/fork"} {
			for _, sandbox := range []string{"read-only", "workspace-write"} {
				cfg.Sandbox = sandbox
				d := compile(t, cfg).Decide(message(t, `{"id":1,"method":"`+method+`","params":{"threadId":"T"`+params+`}}`), st)
				switch {
				case hint == "" && d.Err != nil:
					t.Errorf("%s %s: %v", method, params, d.Err)
				case hint != "" && (d.Err == nil || !strings.Contains(string(d.Err.Data), hint)):
					t.Errorf("%s %s under %s: %v, want %q; Codex gets %s", method, params, sandbox, d.Err, hint, d.Message)
				}
			}
		}
	}
}
