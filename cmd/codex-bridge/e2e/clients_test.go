//go:build linux

package e2e_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/cmd/internal/editor"
)

// node runs a client of testdata/clients in a world and returns what it printed,
// a line a step, without what is random.
func (w *world) node(script string, env []string, args ...string) []string {
	w.t.Helper()
	cmd := exec.CommandContext(deadline(w.t), "node", append([]string{filepath.Join(clients, script)}, args...)...)
	cmd.Env, cmd.Dir = slices.Concat(w.env, env), w.workspace
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		w.t.Errorf("%s: %v\n%s\n%s", script, err, stdout, stderr.String())
	}
	return strings.Split(newNames(w).text(strings.TrimSpace(string(stdout))), "\n")
}

// exists reports whether there is a file of that name in the workspace.
func (w *world) exists(name string) bool {
	_, err := os.Stat(filepath.Join(w.workspace, name))
	return !errors.Is(err, os.ErrNotExist)
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// acp is a session of codex-acp with a given codex.
func (w *world) acp(codex, mode, permission string, prompts ...string) []string {
	return w.node("acp.mjs", []string{"CODEX_PATH=" + codex, "INITIAL_AGENT_MODE=" + mode}, marshal(w.t, map[string]any{
		"cwd": w.workspace, "prompts": prompts, "permission": permission,
	}))
}

// codex-acp, through which most editors reach codex, does not see a difference.
func TestACP(t *testing.T) {
	t.Parallel()
	for _, permission := range []string{"allow_once", "reject_once"} {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			session := func(codex string) []string {
				w := newWorld(t, options{})
				lines := w.acp(codex, "read-only", permission,
					"good day", "RUN: echo from the shell", "ESCALATE: touch escalated", "PATCH: patched.txt\none")
				if allowed := permission == "allow_once"; w.exists("escalated") != allowed || w.exists("patched.txt") != allowed {
					t.Errorf("escalated: %t, patched: %t", w.exists("escalated"), w.exists("patched.txt"))
				}
				return lines
			}
			direct := session(codexPath)
			keep(t, strings.Join(direct, "\n"))
			if diff := cmp.Diff(direct, session(proxyPath)); diff != "" {
				t.Errorf("(-codex +codex-bridge)\n%s", diff)
			}
		})
	}
}

// Under a policy codex-acp works, whatever mode its user has chosen, and gets no
// more than the policy allows.
func TestACPPolicy(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"read-only", "agent", "agent-full-access"} {
		for _, permission := range []string{"allow_once", "reject_once"} {
			t.Run(mode+"/"+permission, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: policyConfig + "escalation = \"ask\"\n"})
				lines := w.acp(proxyPath, mode, permission,
					"good day", "RUN: echo from the shell", "RUN: touch inside", "PATCH: patched.txt\none")
				type step struct {
					Step, StopReason, Text string
					Asked                  []any
					Code                   *int
				}
				var steps []step
				for _, line := range lines {
					var s step
					if err := json.Unmarshal([]byte(line), &s); err != nil {
						t.Fatalf("%s: %v", line, err)
					}
					steps = append(steps, s)
				}
				if len(steps) != 7 {
					t.Fatalf("steps:\n%s", strings.Join(lines, "\n"))
				}
				// (codex-acp makes of a rejection the end of the turn.)
				ends := map[string]string{"allow_once": "end_turn", "reject_once": "cancelled"}[permission]
				for i, s := range steps[2:6] {
					if i > 0 && s.StopReason != ends || i == 0 && s.StopReason != "end_turn" {
						t.Errorf("%+v", s)
					}
				}
				if s := steps[2]; s.Text != "Hello from the scripted model. You said: good day" {
					t.Errorf("a text: %+v", s)
				}
				// untrusted: everything is asked for, in every mode.
				for _, s := range steps[3:6] {
					if len(s.Asked) != 1 {
						t.Errorf("not asked once: %+v", s)
					}
				}
				switch permission {
				case "allow_once":
					if s := steps[3]; s.Text != "The tool ended with 0 and said: from the shell" {
						t.Errorf("a command: %+v", s)
					}
				case "reject_once":
					for _, name := range []string{"inside", "patched.txt"} {
						if w.exists(name) {
							t.Errorf("%s was written", name)
						}
					}
				}
				if s := steps[6]; s.Code == nil || *s.Code != 0 {
					t.Errorf("the end: %s", lines[6])
				}
			})
		}
	}
}

// What a user of codex-acp does in the course of a session, under a policy: modes
// chosen and left, permissions given for good, commands of codex-acp's own. None of
// it is refused, and none of it gets more than the policy allows.
func TestACPSession(t *testing.T) {
	t.Parallel()
	o, dir := withTee(t, options{config: policyConfig + "escalation = \"ask\"\n[approvals]\nremember = \"session\"\n"})
	w := newWorld(t, o)
	got := w.acp(proxyPath, "read-only", "allow_always",
		"RUN: echo out", "MODE: agent-full-access", "RUN: echo out", "MODE: agent", "PATCH: one.txt\none", "PATCH: two.txt\ntwo", "MODE: read-only",
		"/compact", "/status", "/mcp", "/skills", "/review")
	asked := 0
	for _, line := range got {
		var s struct {
			Step, Prompt, Answer, StopReason string
			Asked                            []any
		}
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if s.Step == "mode" && s.Answer != "chosen" || s.Step == "prompt" && s.StopReason != "end_turn" {
			t.Errorf("%s", line)
		}
		asked += len(s.Asked)
	}
	if asked != 3 || // once about the command, which is remembered
		!w.exists("one.txt") || !w.exists("two.txt") {
		t.Errorf("asked %d times:\n%s", asked, strings.Join(got, "\n"))
	}
	for _, line := range recordedLines(t, dir, "in") {
		if found := editor.Member(line, "result", "decision"); found != "" && found != "accept" {
			t.Errorf("codex was told %s", line)
		}
	}
	for _, line := range recordedLines(t, dir, "out") {
		for _, found := range loose("", line) {
			if found != asksHere {
				t.Errorf("codex says %q", found)
			}
		}
	}
}

// An editor that gives a session more folders has codex-acp say where their skills
// are: inside of the workspace that passes, elsewhere the session ends there.
func TestACPFolders(t *testing.T) {
	t.Parallel()
	session := func(config, more string) []string {
		w := newWorld(t, options{config: config})
		return w.node("acp.mjs", []string{"CODEX_PATH=" + proxyPath, "INITIAL_AGENT_MODE=read-only"}, marshal(t, map[string]any{
			"cwd": w.workspace, "directories": []string{w.workspace + more}, "prompts": []string{"good day"}, "permission": "allow_once",
		}))
	}
	for config, name := range map[string]string{"": "without a policy", policyConfig: "under a policy"} {
		if got := strings.Join(session(config, "/more"), "\n"); !strings.Contains(got, "You said: good day") {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if got := strings.Join(session(policyConfig, "/../elsewhere"), "\n"); !strings.Contains(got, "skills/extraRoots/set: ") {
		t.Errorf("elsewhere:\n%s", got)
	}
}

// An LSP library drives codex: codex-bridge speaks the base protocol with who
// begins with a header.
func TestLSP(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"accept":  "The tool ended with 0 and said: from the shell",
		"decline": "The tool said: exec_command failed: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			// The client prints an object as it came.
			got := w.withoutNoise(w.node("lsp.mjs", nil, append([]string{marshal(t, map[string]any{
				"cwd": w.workspace, "decision": name, "prompts": []string{"good day: äöü €", "RUN: echo from the shell"},
			})}, proxyArgv...)...))
			if diff := cmp.Diff([]string{
				`{"step":"initialize","userAgent":"scripted-lsp/0.169.0"}`,
				`{"step":"unknown method","code":-32600}`,
				`{"step":"thread/start","approvalPolicy":"untrusted","sandbox":{"type":"readOnly","networkAccess":false}}`,
				`{"step":"turn","text":"good day: äöü €","status":"completed","said":["Hello from the scripted model. You said: good day: äöü €"],"streamed":true,"asked":0}`,
				`{"step":"turn","text":"RUN: echo from the shell","status":"completed","said":[` + marshal(t, want) + `],"streamed":true,"asked":1}`,
				`{"step":"exit","code":0,"signal":null,"everyMessageHasAVersion":true}`,
			}, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
