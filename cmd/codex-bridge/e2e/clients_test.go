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

	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/cmd/internal/editor"
)

// node runs a client of testdata/clients in a world and returns its output, one line per step,
// without random parts.
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

// workspaceHasFile reports whether the workspace has a file of that name.
func (w *world) workspaceHasFile(name string) bool {
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

// acp returns the output of a session of codex-acp with a Codex.
func (w *world) acp(codex, mode, permission string, prompts ...string) []string {
	return w.node("acp.mjs", []string{"CODEX_PATH=" + codex, "INITIAL_AGENT_MODE=" + mode}, marshal(w.t, map[string]any{
		"cwd": w.workspace, "prompts": prompts, "permission": permission,
	}))
}

// For codex-acp, which most editors use, codex-bridge behaves like Codex.
func TestACP(t *testing.T) {
	t.Parallel()
	for _, permission := range []string{"allow_once", "reject_once"} {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			session := func(codex string) []string {
				w := newWorld(t, options{})
				lines := w.acp(codex, "read-only", permission,
					"good day", "RUN: echo from the shell", "ESCALATE: touch escalated", "PATCH: patched.txt\none")
				if allowed := permission == "allow_once"; w.workspaceHasFile("escalated") != allowed || w.workspaceHasFile("patched.txt") != allowed {
					t.Errorf("escalated: %t, patched: %t", w.workspaceHasFile("escalated"), w.workspaceHasFile("patched.txt"))
				}
				return lines
			}
			direct := session(codexPath)
			keepTranscript(t, strings.Join(direct, "\n"))
			if diff := cmp.Diff(direct, session(proxyPath)); diff != "" {
				t.Errorf("(-codex +codex-bridge)\n%s", diff)
			}
		})
	}
}

// Under a policy codex-acp works in each mode, and gets at most the policy's permissions. With full access it
// wants no questions, so calls that need one are refused.
func TestACPPolicy(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"read-only", "agent", "agent-full-access"} {
		for _, permission := range []string{"allow_once", "reject_once"} {
			if !isSampledName(2, mode+"/"+permission) {
				continue
			}
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
					t.Fatalf("unexpected steps:\n%s", strings.Join(lines, "\n"))
				}
				// (codex-acp turns a rejection into the end of the turn.)
				ends, questions := "end_turn", 1
				if mode == "agent-full-access" {
					questions = 0
				} else if permission == "reject_once" {
					ends = "cancelled"
				}
				for i, s := range steps[2:6] {
					if i > 0 && s.StopReason != ends || i == 0 && s.StopReason != "end_turn" {
						t.Errorf("%+v", s)
					}
				}
				if s := steps[2]; !strings.HasSuffix(s.Text, "Hello from the scripted model. You said: good day") {
					t.Errorf("a text: %+v", s)
				}
				for _, s := range steps[3:6] { // untrusted: each action needs a question
					if len(s.Asked) != questions || strings.Contains(s.Text, "this client wants no questions") != (questions == 0) {
						t.Errorf("not %d questions: %+v", questions, s)
					}
				}
				switch {
				case permission == "allow_once" && questions > 0:
					if s := steps[3]; s.Text != "The tool ended with 0 and said: from the shell" {
						t.Errorf("a command: %+v", s)
					}
				default:
					for _, name := range []string{"inside", "patched.txt"} {
						if w.workspaceHasFile(name) {
							t.Errorf("%s exists", name)
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

// A user of codex-acp under a policy chooses modes, gives lasting permissions, and uses codex-acp's
// commands. The bridge refuses none of it, and none exceeds the policy.
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
	if asked != 3 || // one about the command, which the bridge remembers
		!w.workspaceHasFile("one.txt") || !w.workspaceHasFile("two.txt") {
		t.Errorf("%d questions:\n%s", asked, strings.Join(got, "\n"))
	}
	for _, line := range recordedLines(t, dir, "in") {
		if found := editor.Member(line, "result", "decision"); found != "" && found != "accept" {
			t.Errorf("Codex got %s", line)
		}
	}
	for _, line := range recordedLines(t, dir, "out") {
		for _, found := range tooLoose("", line) {
			if found != asksHere && found != asksNobody { // the second one in the mode agent-full-access
				t.Errorf("Codex reports %q", found)
			}
		}
	}
}

// An editor gives a session additional folders with skills. A folder inside the workspace is
// allowed; with another one the session ends.
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
		t.Errorf("outside the workspace:\n%s", got)
	}
}

// An LSP library talks to Codex: codex-bridge uses the base protocol if the client's input starts
// with a header.
func TestLSP(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"accept":  "The tool ended with 0 and said: from the shell",
		"decline": "The tool said: exec_command failed: CreateProcess { message: \"Rejected(\\\"rejected by user\\\")\" }",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			// The client prints objects unchanged.
			got := w.withoutNoise(w.node("lsp.mjs", nil, append([]string{marshal(t, map[string]any{
				"cwd": w.workspace, "decision": name, "prompts": []string{"good day: äöü €", "RUN: echo from the shell"},
			})}, proxyArgv...)...))
			if diff := cmp.Diff([]string{
				`{"step":"initialize","userAgent":"scripted-lsp/` + methods.Measured + `"}`,
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
