package acp_test

import (
	"encoding/json"
	"strings"
	"testing"

	"codex-bridge.example/lifecycle/acp"
)

// Only a shell's command becomes its script: a rule for the script must not match another program
// with the same arguments.
func TestCommandOf(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"git status"}`:                     "git status",
		`{"cmd":"git status"}`:                         "git status",
		`{"command":["/bin/bash","-lc","git status"]}`: "git status in /bin/bash -lc",
		`{"command":["sh","-c","git status"]}`:         "git status in sh -c",
		`{"command":["git","it's"]}`:                   `git 'it'\''s'`,
		`{"command":["make","A=b","-j4","x y","~"]}`:   `make A=b -j4 'x y' '~'`,
		`{"command":["A=b","time"]}`:                   `'A=b' time`,
		`{"command":["time","make","","=ls","a*"]}`:    `'time' make '' '=ls' 'a*'`,
		`{"command":"ls","args":["-l",";","rm"]}`:      "?",
		`{"Command":"ls","command":"rm"}`:              "?",
		`{"command":["./evil","-c","git status"]}`:     "./evil -c 'git status'",
		`{"command":["./bash","-c","git status"]}`:     "./bash -c 'git status'",
		`{"command":["python3","-c","git status"]}`:    "python3 -c 'git status'",
		`{"command":["bash","-c","git status","x"]}`:   "bash -c 'git status' x",
		`{"command":"git status","cmd":"rm x"}`:        "?",
		`{"command":["git","status"],"cmd":["rm"]}`:    "?",
		`{"command":["git",1]}`:                        "?",
		`{"command":1}`:                                "", `{"path":"x"}`: "", `["git status"]`: "",
	} {
		var v any
		if err := json.Unmarshal([]byte(input), &v); err != nil {
			t.Fatal(err)
		}
		got, shell, told := acp.CommandOf(v)
		if shell != "" {
			got += " in " + shell
		}
		if told && got == "" {
			got = "?"
		}
		if got != want {
			t.Errorf("%s: %q", input, got)
		}
	}
}

// A request for permission is read with what the agent has announced of its call. A part that neither states is unknown.
func TestAnnouncedCall(t *testing.T) {
	const push = `{"toolCallId":"t","sessionUpdate":"tool_call","title":"","kind":"execute","rawInput":{"command":"git push"}}`
	for _, test := range []struct{ name, announced, update, request, command, files string }{
		{"by its id", push, "", `{"toolCallId":"t"}`, "git push", "-"},
		{"with more in an update", push, `{"toolCallId":"t","sessionUpdate":"tool_call_update","rawInput":{"command":"git fetch"}}`, `{"toolCallId":"t"}`, "git fetch", "-"},
		{"with another input", push, "", `{"toolCallId":"t","rawInput":{"command":"ls"}}`, "ls", "-"},
		{"another id", push, "", `{"toolCallId":"u"}`, "?", "?"},
		{"no kind", "", "", `{"toolCallId":"t","rawInput":{"path":"x"}}`, "?", "?"},
		{"no input", "", "", `{"toolCallId":"t","kind":"fetch"}`, "?", "?"},
		{"too large", strings.Replace(push, "push", strings.Repeat("x", 1<<20), 1), "", `{"toolCallId":"t"}`, "?", "?"},
		{"too large, and named in part", strings.Replace(push, "push", strings.Repeat("x", 1<<20), 1), "", `{"toolCallId":"t","kind":"edit","locations":[{"path":"/a"}]}`, "?", "/a "},
		{"too large, and more in an update", strings.Replace(push, "push", strings.Repeat("x", 1<<20), 1), `{"toolCallId":"t","sessionUpdate":"tool_call_update","kind":"edit","locations":[{"path":"/a"}]}`,
			`{"toolCallId":"t"}`, "?", "/a "},
		{"an input", "", "", `{"toolCallId":"t","kind":"fetch","rawInput":{"url":"x"}}`, "-", "-"},
		{"a diff and a location", "", "", `{"toolCallId":"t","kind":"edit","content":[{"type":"diff","path":"/a","newText":""}],"locations":[{"path":"/b"},{"path":"/a"}]}`, "-", "/a /b"},
		{"a file of the input", "", "", `{"toolCallId":"t","kind":"edit","rawInput":{"file_path":"/etc/x","content":"y"},"locations":[{"path":"/a"}]}`, "-", "/a /etc/x"},
		{"a relative file of the input", "", "", `{"toolCallId":"t","kind":"edit","rawInput":{"path":"a"}}`, "-", "/w/a"},
		{"a move", "", "", `{"toolCallId":"t","kind":"move","rawInput":{"source":"/a","destination":"/b","overwrite":true,"reason":"r"},"locations":[{"path":"/a"}]}`, "-", "/a /b"},
		{"a move with other members", "", "", `{"toolCallId":"t","kind":"move","rawInput":{"from":"/a","to":"/etc/x"},"locations":[{"path":"/a"}]}`, "-", "/a "},
		{"a removal with other members", "", "", `{"toolCallId":"t","kind":"delete","rawInput":{"path":"/a","also":["/etc/x"]}}`, "-", "/a "},
		{"an edit with its content", "", "", `{"toolCallId":"t","kind":"edit","rawInput":{"path":"/a","new_string":"b"}}`, "-", "/a"},
		{"a file in another form", "", "", `{"toolCallId":"t","kind":"edit","rawInput":{"path":["a"]}}`, "-", "?"},
	} {
		command, files := acp.ReadAnnounced(t, test.announced, test.update, test.request)
		if command != test.command || files != test.files {
			t.Errorf("%s: the command %q, the files %q", test.name, command, files)
		}
	}
}

// A command runs in the folder that the request states; an unclear one is unknown. Other members are named.
func TestFolderOfCommand(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"make"}`:                                   "/w",
		`{"command":"make","cwd":null}`:                        "/w",
		`{"command":"make","cwd":"/etc"}`:                      "/etc",
		`{"command":"make","working_directory":"sub/.."}`:      "/w/sub/..",
		`{"command":["make"],"workdir":"/etc"}`:                "/etc",
		`{"command":"make","workDir":"/w","cwd":"/etc"}`:       "",
		`{"command":"make","cwd":["/w"]}`:                      "",
		`{"command":"make","cwd":"~"}`:                         "",
		`{"command":"make","timeout_ms":1,"description":"d"}`:  "/w",
		`{"command":"make","env":{"A":"b"},"stdin":"x"}`:       "/w env stdin",
		`{"command":"make","cwd":"/etc","Environment-X":true}`: "/etc environmentx",
	} {
		if got := acp.FolderOf(t, input); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
}

// An answer selects no option that allows for longer than the answer.
func TestSelectedOptionIsNotLonger(t *testing.T) {
	always, session, once, no := [2]string{"accept_execpolicy_amendment", "allow_always"}, [2]string{"for_session", "allow_always"}, [2]string{"yes", "allow_once"}, [2]string{"no", "reject_once"}
	for _, test := range []struct {
		answer  acp.Answer
		options [][2]string
		want    string
	}{
		{acp.Answer{Allow: true, Lasts: true, Always: true}, [][2]string{once, session, always, no}, always[0]},
		{acp.Answer{Allow: true, Lasts: true, Always: true}, [][2]string{once, session, no}, session[0]},
		{acp.Answer{Allow: true, Lasts: true}, [][2]string{always, session, once, no}, session[0]},
		{acp.Answer{Allow: true, Lasts: true}, [][2]string{always, once, no}, once[0]},
		{acp.Answer{Allow: true, Lasts: true}, [][2]string{always, no}, ""},
		{acp.Answer{Allow: true}, [][2]string{session, once, no}, once[0]},
		{acp.Answer{Always: true}, [][2]string{always, session, once, no}, no[0]},
	} {
		if got := acp.SelectedOption(test.answer, test.options...); got != test.want {
			t.Errorf("%+v of %v: %q, want %q", test.answer, test.options, got, test.want)
		}
	}
}
