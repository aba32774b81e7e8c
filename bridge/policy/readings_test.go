package policy_test

import (
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"codex-bridge.example/bridge/config"
	"codex-bridge.example/bridge/policy"
	"codex-bridge.example/bridge/policy/serverrequest"
	"codex-bridge.example/bridge/policy/toolcall"
	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// strictnessOf orders decisions about a call (call: true) or a request: a call passes without a
// question, and a request that passes is one.
func strictnessOf(d policy.Decision, call bool) int {
	switch {
	case d.Verdict == policy.Deny:
		return 2
	case d.Verdict == policy.Accept, call && !d.Ask:
		return 0
	}
	return 1
}

// judgeFile returns how strict a policy is about a file in each question that names files.
func judgeFile(t tester, p *policy.Policy, st policy.State, name string) map[string]int {
	t.Helper()
	value := func(v any) rpc.Value {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := rpc.ParseValue(raw)
		if err != nil {
			t.Fatal(err)
		}
		return doc.Root()
	}
	call := func(tool, command string) int {
		return strictnessOf(toolcall.Decide(p, toolcall.Call{Name: tool, Shell: "bash", Cwd: "/code/proj", Input: value(map[string]string{"command": command})}, st), true)
	}
	patch := "*** Begin Patch\n*** Delete File: " + name + "\n*** End Patch"
	asked := st
	if asked.Files = []string{name}; name[0] != '/' {
		asked.Files = []string{"/code/proj/" + name}
	}
	return map[string]int{
		"patch":       call("apply_patch", patch),
		"line patch":  call("Bash", "apply_patch <<'E'\n"+patch+"\nE"),
		"redirection": call("Bash", "echo x > "+name),
		"operand":     call("Bash", "rm "+name),
		"question":    strictnessOf(serverrequest.Decide(p, "item/fileChange/requestApproval", value(map[string]any{"itemId": "i"}), asked), false),
		"old question": strictnessOf(serverrequest.Decide(p, "applyPatchApproval",
			value(map[string]any{"fileChanges": map[string]any{asked.Files[0]: map[string]string{"type": "delete"}}}), st), false),
		"agent": strictnessOf(toolcall.DecideAgent(p, "session/request_permission", toolcall.AgentRequest{Files: asked.Files, Cwd: "/code/proj"}, st), false),
	}
}

// linkedPolicy is a policy with rules of each kind about files.
func linkedPolicy(t *rapid.T) config.Policy {
	cfg := contract()
	cfg.Approval = []string{"on-request"}
	cfg.Escalation = rapid.SampledFrom([]string{"ask", "deny"}).Draw(t, "escalation")
	cfg.ProtectedPaths = rapid.SampledFrom([][]string{nil, {".git", ".vscode", ".github/workflows"}}).Draw(t, "protected")
	cfg.Gate = rapid.Bool().Draw(t, "gate")
	cfg.Rules = rapid.SliceOfN(rapid.SampledFrom([]config.Rule{
		{Path: "**/.git/**", Decision: "deny"}, {Path: "${workspace}/conf/**", Decision: "ask"}, {Path: "/srv/**", Decision: "ask"},
		{Tool: "file", Path: "${workspace}/**", Decision: "allow"}, {Tool: "file", Path: "/srv/**", Decision: "allow", Escalated: true},
		{Command: "**", Decision: "allow"},
	}), 0, 4).Draw(t, "rules")
	return cfg
}

// TestLinksNeverLoosen checks that a file behind links is judged at least as strictly as a plain file with
// each of its names: that of the patch, and those to which the links lead.
func TestLinksNeverLoosen(t *testing.T) {
	places := []string{
		".git", ".git/hooks", ".git/hooks/pre-commit", ".codex", ".vscode", "sub", "sub/.git", "sub/.vscode", "sub/.github", "sub/.github/workflows",
		"conf", "conf/a", "a", "a/b", "scripts", "scripts/pre-commit", "/srv/x", "/srv/x/y", "/srv/.git", "/home/ada/.bashrc", "/home/ada/dots",
	}
	absolute := func(name string) string {
		if name[0] == '/' {
			return name
		}
		return "/code/proj/" + name
	}
	rapid.Check(t, func(t *rapid.T) {
		disk := links{}
		for range rapid.IntRange(1, 4).Draw(t, "links") {
			at, to := rapid.SampledFrom(places).Draw(t, "link"), rapid.SampledFrom(places).Draw(t, "target")
			if disk[absolute(at)] = absolute(to); at == to {
				delete(disk, absolute(at))
			}
		}
		name := rapid.SampledFrom(places).Draw(t, "file") + rapid.SampledFrom([]string{"", "/x", "/config.toml", "/hooks/pre-commit", "/../x"}).Draw(t, "rest")
		p := compile(t, linkedPolicy(t))
		st := state()
		st.Escalation = rules.Sandboxed
		st.Thread.Sandbox, st.Thread.Approval = "workspace-write", json.RawMessage(`"on-request"`)
		st.Paths = disk
		linked := judgeFile(t, p, st, name)
		top, _, _ := strings.Cut(path.Clean(name), "/")
		codexAsks := top == ".git" || top == ".codex"
		spelled := []string{name}
		if to, err := disk.Readings(absolute(name)); err == nil {
			spelled = append(spelled, to...)
		}
		st.Paths = links{}
		for _, one := range spelled {
			for question, plain := range judgeFile(t, p, st, one) {
				if strings.HasSuffix(question, "patch") && codexAsks && linked["question"] > 0 {
					continue // and the question is judged
				}
				if linked[question] < plain {
					t.Errorf("%s of %s, which is also %s: %d, and %d as a plain file; links %v", question, name, one, linked[question], plain, disk)
				}
			}
		}
	})
}

// TestLinksOfOrdinaryRepositories checks that links cost no question where each of the names is allowed, also
// if a link above the workspace is in the name.
func TestLinksOfOrdinaryRepositories(t *testing.T) {
	cfg := contract()
	cfg.Approval, cfg.ProtectedPaths = []string{"on-request"}, []string{".git", ".vscode"}
	cfg.Rules = []config.Rule{{Tool: "file", Path: "${workspace}/**", Decision: "allow"}}
	p := compile(t, cfg)
	st := state()
	st.Thread.Sandbox, st.Thread.Approval = "workspace-write", json.RawMessage(`"on-request"`)
	st.Escalation = rules.Sandboxed
	st.Paths = links{
		"/code/proj/current": "releases/1", "/code/proj/node_modules/.bin/tool": "../tool/cli.js", "/tmp/code": "/code",
		"/code/proj/old": "/tmp/code/proj/releases/0", "/srv/.git": "/code/proj", "/srv/mine": "/code/proj",
	}
	for name, want := range map[string]int{
		"current/x": 0, "node_modules/.bin/tool": 0, "old/x": 0, "/tmp/code/proj/current/x": 0, "/srv/mine/x": 0,
		"/srv/.git/x": 2, "/srv/mine/.git/x": 2, "/tmp/code/proj/.vscode/x": 2,
	} {
		for question, got := range judgeFile(t, p, st, name) {
			if slices.Contains([]string{"patch", "line patch", "question", "old question"}, question) && got != want {
				t.Errorf("%s of %s: %d, want %d", question, name, got, want)
			}
		}
	}
}
