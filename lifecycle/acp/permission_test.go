package acp_test

import (
	"encoding/json"
	"testing"

	"codex-bridge.example/lifecycle/acp"
)

// Only a shell's command becomes its script: a rule for the script must not match another program
// with the same arguments.
func TestCommandOf(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"git status"}`:                     "git status",
		`{"cmd":"git status"}`:                         "git status",
		`{"command":["/bin/bash","-lc","git status"]}`: "git status",
		`{"command":["sh","-c","git status"]}`:         "git status",
		`{"command":["git","it's"]}`:                   `'git' 'it'\''s'`,
		`{"command":["./evil","-c","git status"]}`:     "'./evil' '-c' 'git status'",
		`{"command":["./bash","-c","git status"]}`:     "'./bash' '-c' 'git status'",
		`{"command":["python3","-c","git status"]}`:    "'python3' '-c' 'git status'",
		`{"command":["bash","-c","git status","x"]}`:   "'bash' '-c' 'git status' 'x'",
		`{"command":"git status","cmd":"rm x"}`:        "?",
		`{"command":["git","status"],"cmd":["rm"]}`:    "?",
		`{"command":["git",1]}`:                        "?",
		`{"command":1}`:                                "", `{"path":"x"}`: "", `["git status"]`: "",
	} {
		var v any
		if err := json.Unmarshal([]byte(input), &v); err != nil {
			t.Fatal(err)
		}
		got, told := acp.CommandOf(v)
		if told && got == "" {
			got = "?"
		}
		if got != want {
			t.Errorf("%s: %q", input, got)
		}
	}
}
