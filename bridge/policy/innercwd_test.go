package policy_test

import (
	"strings"
	"testing"
)

// A turn does not get both the workspace and a folder inside it writable, whatever sandbox it asks for: a
// command could replace the inner folder by a link.
func TestTurnInInnerFolder(t *testing.T) {
	p := compile(t, contract())
	for sandbox, binds := range map[string]bool{
		``: true, `"sandboxPolicy":null,`: true, `"sandboxPolicy":{"type":"readOnly"},`: true, `"sandboxPolicy":{"type":"unknown"},`: true, `"permissions":":workspace",`: true,
		`"sandboxPolicy":{"type":"workspaceWrite"},`:   false,
		`"sandboxPolicy":{"type":"dangerFullAccess"},`: false,
		`"sandboxPolicy":{"type":"externalSandbox"},`:  false,
		`"permissions":":danger-full-access",`:         false,
	} {
		st := state()
		st.Thread.Sandbox = "workspace-write"
		d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+sandbox+`"cwd":"/code/proj/sub","input":[]}}`), st)
		sent := string(d.Message)
		if kept := strings.Contains(sent, `"cwd":"/code/proj/sub"`); kept != binds || kept != strings.Contains(sent, `"runtimeWorkspaceRoots":["/code/proj"]`) {
			t.Errorf("%s: Codex gets %s", sandbox, sent)
		}
		for _, stays := range []string{"cwd", "roots"} {
			if stays == "cwd" {
				st.Thread.Cwd, st.Thread.Roots = "/code/proj/sub", nil
			} else {
				st.Thread.Cwd, st.Thread.Roots = "", []string{"/code/proj/sub"}
			}
			d := p.Decide(message(t, `{"id":1,"method":"turn/start","params":{"threadId":"T",`+sandbox+`"input":[]}}`), st)
			if !binds && (strings.Contains(string(d.Message), "workspaceWrite") || strings.Contains(string(d.Message), "full-access")) {
				t.Errorf("%s in a thread with an inner %s: Codex gets %s", sandbox, stays, d.Message)
			}
		}
	}
}
