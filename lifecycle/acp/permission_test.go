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
		{"a move into a folder", "", "", `{"toolCallId":"t","kind":"move","rawInput":{"path":"/a","directory":"/etc"}}`, "-", "/a "},
		{"a recursive removal", "", "", `{"toolCallId":"t","kind":"delete","rawInput":{"path":"/a","recursive":true}}`, "-", "/a "},
		{"a file in another form", "", "", `{"toolCallId":"t","kind":"edit","rawInput":{"path":["a"]}}`, "-", "?"},
	} {
		command, files := acp.ReadAnnounced(t, test.announced, test.update, test.request)
		if command != test.command || files != test.files {
			t.Errorf("%s: the command %q, the files %q", test.name, command, files)
		}
	}
}

// A file that a call changes is stated only if the bridge knows each member of its input: another one may name further
// files. The ordinary edits of agents have known members.
func TestFilesOfEdit(t *testing.T) {
	for input, want := range map[string]string{
		// Claude Code
		`{"file_path":"/w/a","old_string":"x","new_string":"y","replace_all":true}`:                       "/w/a",
		`{"file_path":"/w/a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"/z"}]}`:          "/w/a",
		`{"file_path":"/w/a","content":"text"}`:                                                           "/w/a",
		`{"notebook_path":"/w/a","new_source":"x","cell_id":"1","cell_type":"code","edit_mode":"insert"}`: "/w/a",
		// Gemini
		`{"file_path":"a","instruction":"i","old_string":"x","new_string":"y","expected_replacements":2}`: "/w/a",
		// OpenCode
		`{"filePath":"/w/a","oldString":"x","newString":"y","replaceAll":false}`: "/w/a",
		// OpenCode's request for permission. For a patch, filepath has several names, joined by commas.
		`{"filepath":"/w/a","diff":"x"}`: "/w/a  diff",
		`{"filepath":"a, b","diff":"x"}`: "/w/a, b  diff",
		// Codex
		`{"call_id":"c","turn_id":"t","reason":null,"grant_root":null,"changes":{"/w/a":{"type":"add","content":"x"},` +
			`"/w/b":{"type":"update","unified_diff":"x","move_path":"/w/c"},"d":{"type":"delete","content":"x"}}}`: "/w/a /w/b /w/c /w/d",

		`{"path":"/w/a","also":["/etc/x"]}`:                           "/w/a  also",
		`{"path":"/w/a","target":"/etc/x"}`:                           "/w/a  target",
		`{"path":"/w/a","more":{"x":"/etc/x"}}`:                       "/w/a  more",
		`{"path":"/w/a","paths":["/etc/x"]}`:                          "/w/a  paths",
		`{"path":"/w/a","all":true}`:                                  "/w/a  all",
		`{"path":"/w/a","dir":"/etc"}`:                                "/w/a  dir",
		`{"path":"/w/a","patch":"+++ /etc/x"}`:                        "/w/a  patch",
		`{"path":"/w/a","content":{"path":"/etc/x"}}`:                 "/w/a  content",
		`{"path":"/w/a","description":["/etc/x"]}`:                    "/w/a  description",
		`{"path":"/w/a","cwd":["/etc"]}`:                              "/w/a  cwd",
		`{"path":"/w/a","edits":"/etc/x"}`:                            "/w/a  edits",
		`{"path":"/w/a","edits":["/etc/x"]}`:                          "/w/a  edits",
		`{"path":"/w/a","edits":[{"path":"/etc/x"}]}`:                 "/etc/x /w/a",
		`{"path":"/w/a","edits":[{"also":"/etc/x"}]}`:                 "/w/a  also",
		`{"path":"/w/a","changes":["/etc/x"]}`:                        "/w/a  changes",
		`{"changes":{"/w/a":"/etc/x"}}`:                               "/w/a  changes",
		`{"changes":{"/w/a":{"update":{"move_path":"/etc/x"}}}}`:      "/w/a  update",
		`{"changes":{"/w/a":{"type":"add"}},"grant_root":"/"}`:        "/w/a  grantroot",
		`{"changes":{"/w/a":{"type":"add"}},"Changes":{"/etc/x":{}}}`: "/etc/x /w/a",
		`{"path":"/w/a","unified_diff":"+++ /etc/x"}`:                 "/w/a  unifieddiff",
		`["/w/a","/etc/x"]`:                                           " rawInput",
		`"*** Begin Patch"`:                                           " rawInput",
		`{"path":"/w/a","command":{"x":"y"}}`:                         "/w/a  command",
		`{"path":"/w/a","args":["/etc/x"]}`:                           "/w/a  args",
		`{"path":"file:///etc/x"}`:                                    "",
		`{"path":"~/x"}`:                                              "",
		`{"path":"$HOME/x"}`:                                          "",
		`{"path":"-"}`:                                                "",
		`{"path":"C:\\x"}`:                                            "",
		`{"path":"..\\x"}`:                                            "",
		`{"path":"app/$id.tsx"}`:                                      "/w/app/$id.tsx",
		`{"path":"a","cwd":"sub"}`:                                    "",
	} {
		files, unread := acp.ChangeOf(t, "edit", "", input)
		if got := strings.TrimSuffix(files+" "+unread, " "); got != want {
			t.Errorf("%s: %q, want %q", input, got, want)
		}
	}
	// A call of another kind changes files, too, if it has a diff.
	for _, kind := range []string{"other", "read", "execute"} {
		if files, unread := acp.ChangeOf(t, kind, "/w/a", `{"path":"/w/b","also":["/etc/x"]}`); files != "/w/a /w/b " || !strings.Contains(unread, "also") {
			t.Errorf("%s: the files %q, unknown members %q", kind, files, unread)
		}
	}
}

// A call without command and files says what it does only if the bridge knows each member of its input: another one may
// be a command. The ordinary calls of agents have known members.
func TestMembersOfOtherTools(t *testing.T) {
	for _, test := range []struct{ kind, input, want string }{
		// Claude Code
		{"read", `{"file_path":"/w/a","offset":1,"limit":2,"pages":"1-5"}`, ""},
		{"search", `{"pattern":"x","path":"/w","glob":"*.go","output_mode":"content","-n":true,"-A":1,"head_limit":9,"multiline":false}`, ""},
		{"fetch", `{"url":"https://example.com","prompt":"p"}`, ""},
		{"fetch", `{"query":"q","allowed_domains":["example.com"],"blocked_domains":[]}`, ""},
		{"switch_mode", `{"plan":"p"}`, ""},
		// Gemini
		{"read", `{"absolute_path":"/w/a","offset":1,"limit":2}`, ""},
		{"search", `{"pattern":"x","dir_path":"/w","include":["*.go"],"case_sensitive":true,"respect_git_ignore":true}`, ""},
		// OpenCode
		{"read", `{"filePath":"/w/a","offset":1}`, ""},
		{"fetch", `{"url":"https://example.com","format":"text","timeout":3}`, ""},

		{"read", `{}`, ""},
		{"search", `{"-c":"rm -rf ~"}`, "c"},
		{"read", `{"file_path":"/w/a","env":{"A":"1"},"cmdline":"rm -rf ~"}`, "cmdline env"},
		{"read", `{"commands":["rm -rf ~"]}`, "commands"},
		{"read", `{"script":"rm -rf ~"}`, "script"},
		{"read", `{"command":{"line":"rm"}}`, "command"},
		{"read", `{"args":["rm"]}`, "args"},
		{"read", `{"path":{"then":"rm"}}`, "path"},
		{"search", `{"pattern":"x","path":["/w",{"then":"rm"}]}`, "path"},
		{"fetch", `{"url":"https://example.com","method":"POST","body":"x"}`, "body method"},
		{"other", `{"path":"/w/a","query":"DROP TABLE x"}`, "query"},
		{"other", `"rm -rf ~"`, "rawInput"},
		{"think", `["rm"]`, "rawInput"},
	} {
		files, unread := acp.ChangeOf(t, test.kind, "", test.input)
		if unread != test.want || files != "" {
			t.Errorf("%s %s: the files %q, unknown members %q, want %q", test.kind, test.input, files, unread, test.want)
		}
	}
}

// A command runs in the folder that the request states; an unclear one is unknown. Other members are named.
func TestFolderOfCommand(t *testing.T) {
	for input, want := range map[string]string{
		`{"command":"make"}`:                                   "/w",
		`{"command":"make","cwd":null}`:                        "/w",
		`{"command":"make","cwd":"/etc"}`:                      "/etc",
		`{"command":"make","working_directory":"/w/sub/.."}`:   "/w/sub/..",
		`{"command":["make"],"workdir":"/etc"}`:                "/etc",
		`{"command":"make","workDir":"/w","cwd":"/etc"}`:       "",
		`{"command":"make","cwd":["/w"]}`:                      "",
		`{"command":"make","cwd":"~"}`:                         "",
		`{"command":"make","cwd":"-"}`:                         "",
		`{"command":"make","cwd":"sub"}`:                       "",
		`{"command":"make","cwd":"$HOME"}`:                     "",
		`{"command":"make","cwd":"C:\\x"}`:                     "",
		`{"command":"make","cwd":"file:///etc"}`:               "",
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
