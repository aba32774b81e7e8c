package guard_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/bridge/guard"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/toolcall"
)

// A thread is checked against the active policy and the policy of its folder.
func TestFolderHasPolicyOfItsOwn(t *testing.T) {
	const gated = "[policy]\nsandbox = \"read-only\"\nproject_trust = \"codex\"\napproval = [\"untrusted\"]\n"
	c, g, w := converse(t, strings.Replace(loosePolicy, "gate = false", "", 1), guard.NoRecord)
	own := load(t, gated)
	g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
		if folder == w.StartFolder {
			return own, nil
		}
		return nil, nil
	})
	elsewhere := world(t).StartFolder
	c.Bind("elsewhere", elsewhere)
	c.Play("in the folder", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$config","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
codex<  {"id":1,"method":"thread/start","params":{"cwd":"$start","sandbox":"read-only","approvalsReviewer":"user","approvalPolicy":"on-request"}}
codex>  {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"on-request",`+threadAnswer+`
editor< {"id":1,"result":{"thread":{"id":"t1"},"approvalPolicy":"untrusted",`+threadAnswer+`
`)
	if !g.Tool(t.Context(), "t1", "", bash(t, "true", w.StartFolder), nil).Ask {
		t.Error("the bridge does not ask in t1")
	}
	c.Play("elsewhere", `
editor> {"id":2,"method":"thread/start","params":{"cwd":"$elsewhere","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":2,"method":"thread/start","params":{"cwd":"$elsewhere","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex>  {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+strings.Replace(threadAnswer, "$start", "$elsewhere", 1)+`
editor< {"id":2,"result":{"thread":{"id":"t2"},"approvalPolicy":"on-request",`+strings.Replace(threadAnswer, "$start", "$elsewhere", 1)+`
`)
	takesTurn(c, "t1", "untrusted", "on-request")
	takesTurn(c, "t2", "on-request", "on-request")
}

// A command of the client is checked against the active policy and that of its folder; without cwd, of the start folder.
func TestCommandHasPolicyOfItsFolder(t *testing.T) {
	c, g, w := converse(t, strings.Replace(loosePolicy, "read-only", "workspace-write", 1), guard.NoRecord)
	own, elsewhere := load(t, "[policy]\nsandbox = \"read-only\"\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n"), filepath.Join(w.StartFolder, "elsewhere")
	if err := os.Mkdir(elsewhere, 0o700); err != nil {
		t.Fatal(err)
	}
	c.Bind("elsewhere", elsewhere)
	g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
		switch folder {
		case w.StartFolder:
			return own, nil
		case elsewhere:
			return nil, errors.New("line 3 is not TOML")
		}
		return nil, nil
	})
	c.Play("by its rule", `
editor> {"id":1,"method":"command/exec","params":{"command":["touch","a"],"cwd":"$start","sandboxPolicy":{"type":"readOnly"}}}
codex<  {"id":"$config1","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$config1","result":{"config":{},"layers":[]}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"command/exec","rule":"policy.rule","origin":"<text>","reason":"<text>","hint":"<text>"}}}
editor> {"id":2,"method":"command/exec","params":{"command":["touch","a"],"sandboxPolicy":{"type":"readOnly"}}}
codex<  {"id":"$config2","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$config2","result":{"config":{},"layers":[]}}
editor< {"id":2,"error":{"code":-32010,"message":"<text>","data":{"method":"command/exec","rule":"policy.rule","origin":"<text>","reason":"<text>","hint":"<text>"}}}
editor> {"id":3,"method":"command/exec","params":{"command":["ls"],"cwd":"$elsewhere","sandboxPolicy":{"type":"readOnly"}}}
codex<  {"id":"$config3","method":"config/read","params":{"includeLayers":true,"cwd":"$start"}}
codex>  {"id":"$config3","result":{"config":{},"layers":[]}}
editor< {"id":3,"error":{"code":-32010,"message":"<text>","data":{"method":"command/exec","rule":"policy","field":"params.cwd","reason":"<text>","hint":"correct the file"}}}
`)
}

// A thread that is opened again in another folder is checked against the policies of its earlier
// folders, too. A fork is a new thread without earlier folders.
func TestResumedThreadKeepsPoliciesOfItsFolders(t *testing.T) {
	for method, had := range map[string]bool{"thread/resume": true, "thread/fork": false} {
		c, g, w := converse(t, loosePolicy, guard.NoRecord)
		opens(c, "thread/start", "t1", "on-request")
		folders := make(chan string, 8)
		g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
			folders <- folder
			return nil, nil
		})
		elsewhere := world(t).StartFolder
		c.Bind("elsewhere", elsewhere)
		c.Play(method, step(`
editor> {"id":1,"method":"METHOD","params":{"threadId":"t1","cwd":"$elsewhere","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$config","method":"config/read","params":{"includeLayers":true,"cwd":"$elsewhere"}}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
codex<  {"id":1,"method":"METHOD","params":"$sent"}
`, method, "", ""))
		close(folders)
		var got []string
		for folder := range folders {
			got = append(got, folder)
		}
		want := []string{elsewhere}
		if had {
			want = append(want, w.StartFolder)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the policies of %q are looked for, want %q", method, got, want)
		}
	}
}

// A thread is not opened in a folder whose policy does not load, or can't be enforced, and neither does other work
// begin there. The error says which.
func TestFolderPolicyWithFault(t *testing.T) {
	for _, test := range []struct {
		loads        bool
		reason, hint string
	}{
		{false, "the policy file of its folder does not load: one thing; another", "correct the file"},
		{true, "the policy file of its folder can't be enforced: one thing; another", "or remove the file"},
	} {
		c, g, w := converse(t, loosePolicy, guard.NoRecord)
		g.SetFolderPolicies(func(string) (p *policy.Policy, err error) {
			if test.loads {
				p = load(t, loosePolicy)
			}
			return p, errors.Join(errors.New("one thing"), errors.New("another"))
		})
		c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":"$read","method":"config/read","params":"$params"}
codex>  {"id":"$read","result":{"config":{},"layers":[]}}
editor< {"id":1,"error":{"code":-32010,"message":"<text>","data":{"method":"thread/start","rule":"policy","field":"params.cwd","reason":"`+test.reason+`","hint":"`+test.hint+`"}}}
editor> {"id":2,"method":"model/list","params":{}}
codex<  {"id":2,"method":"model/list","params":{}}
`)
		d := g.Agent(t.Context(), toolcall.AgentRequest{Tool: "fetch", Cwd: w.StartFolder, RunsIn: w.StartFolder}, "s1", []byte("{}"))
		if d.Verdict != policy.Deny || d.Refusal().Reason != test.reason {
			t.Errorf("a request of an agent: %s, %v", d.Verdict, d.Err)
		}
	}
}

// Codex is asked once for the folder of a thread that is opened again without a cwd. A thread that
// Codex does not know has no folder, and Codex refuses it.
func TestFolderOfResumedThreadIsAskedForOnce(t *testing.T) {
	const ask = `
editor> {"id":1,"method":"thread/resume","params":{"threadId":"t1","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
`
	const read = `codex<  {"id":"$read","method":"thread/read","params":{"threadId":"t1","includeTurns":false}}
`
	const config = `codex<  {"id":"$config","method":"config/read","params":"$for"}
codex>  {"id":"$config","result":{"config":{},"layers":[]}}
`
	const known, unknown = `codex>  {"id":"$read","result":{"thread":{"id":"t1","cwd":"$start"}}}
`, `codex>  {"id":"$read","error":{"code":-32600,"message":"no rollout found"}}
`
	for _, test := range []struct {
		name, policy, script string
		folder               bool
	}{
		{"for the policy of its folder", loosePolicy, config + read + known, true},
		{"for the user's trust", strings.Replace(loosePolicy, `"codex"`, `"user"`, 1), read + known + config, true},
		{"a thread that Codex does not know", loosePolicy, config + read + unknown, false},
		{"one that Codex does not know, for the user's trust", strings.Replace(loosePolicy, `"codex"`, `"user"`, 1), read + unknown + config, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, g, w := converse(t, test.policy, guard.NoRecord)
			folders := make(chan string, 8)
			g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
				folders <- folder
				return nil, nil
			})
			c.Play("resume", ask+test.script+`codex<  {"id":1,"method":"thread/resume","params":"$sent"}
`)
			close(folders)
			var got []string
			for folder := range folders {
				got = append(got, folder)
			}
			if len(got) > 1 || test.folder != (len(got) == 1 && got[0] == w.StartFolder) {
				t.Errorf("the policy of %q is looked for", got)
			}
		})
	}
}

// A feature that the policy of a thread's folder disables is disabled in the thread, although Codex
// was started with it.
func TestFolderPolicyKeepsFeatureOff(t *testing.T) {
	const feature = "features.skill_mcp_dependency_install"
	c, g, w := converse(t, strings.Replace(loosePolicy, "[policy]", "[policy]\nconfig_keys = [\""+feature+"\"]", 1), guard.NoRecord)
	own := load(t, loosePolicy)
	g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
		if folder == w.StartFolder {
			return own, nil
		}
		return nil, nil
	})
	c.Play("start", `
editor> {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user"}}
codex<  {"id":1,"method":"thread/start","params":{"cwd":"$start","approvalPolicy":"on-request","sandbox":"read-only","approvalsReviewer":"user","config":{"`+feature+`":false}}}
`)
}

// A policy file of an open thread's folder that becomes stricter counts from the next message and tool call
// on. One that becomes looser, or does not load, counts when the thread is opened again.
func TestFolderPolicyOfOpenThread(t *testing.T) {
	c, g, w := converse(t, loosePolicy, guard.NoRecord)
	var own *policy.Policy
	var failure error
	digest := ""
	g.SetFolderPolicies(func(folder string) (*policy.Policy, error) {
		if folder != w.StartFolder {
			t.Errorf("the policy of %s is read", folder)
		}
		return own, failure
	})
	g.SetFolderDigest(func(string) string { return digest })
	changed := func(to string, p *policy.Policy, err error) { digest, own, failure = to, p, err }
	refused := func(command string) bool {
		return g.Tool(t.Context(), "t1", "", bash(t, command, w.StartFolder), nil).Refusal != ""
	}
	opens(c, "thread/start", "t1", "on-request")
	if refused("touch a") {
		t.Error("the command is refused without a policy file")
	}
	changed("stricter", load(t, "[policy]\nproject_trust = \"codex\"\n[[policy.rule]]\ncommand = \"touch **\"\ndecision = \"deny\"\n"), nil)
	if !refused("touch a") || refused("ls") {
		t.Error("the stricter file does not count, or refuses more")
	}
	for to, err := range map[string]error{"looser": nil, "invalid": errors.New("line 3 is not TOML")} {
		changed(to, nil, err)
		if !refused("touch a") {
			t.Errorf("%s: the earlier file no longer counts", to)
		}
	}
	takesTurn(c, "t1", "on-request", "on-request")
	changed("settings", load(t, "[policy]\nproject_trust = \"codex\"\napproval = [\"never\"]\n"), nil)
	c.Play("other settings", `
editor> {"id":3,"method":"turn/interrupt","params":{"threadId":"t1","turnId":"u"}}
codex<  {"id":3,"method":"turn/interrupt","params":{"threadId":"t1","turnId":"u"}}
codex>  {"id":3,"result":{}}
editor< {"id":3,"result":{}}
editor> {"id":4,"method":"turn/start","params":{"threadId":"t1","input":[]}}
editor< {"id":4,"error":{"code":-32013,"message":"<text>","data":"$data"}}
`)
	if !refused("ls") {
		t.Error("a call of a thread with settings that are not allowed runs")
	}
	changed("gone", nil, nil)
	opens(c, "thread/resume", "t1", "on-request")
	if refused("touch a") {
		t.Error("the command is refused after the thread was opened without a policy file")
	}
}
