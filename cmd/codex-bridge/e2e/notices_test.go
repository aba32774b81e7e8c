//go:build linux

package e2e_test

import (
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// The user of a client such as codex-acp reads why its servers are missing, and which setting
// decides.
func TestUserReadsWhatWasRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\napproval = [\"on-request\"]\n"})
	c := w.newAcceptingEditor(proxyArgv...)
	mark := c.Mark()
	for range 2 {
		c.must("thread/start", map[string]any{
			"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "danger-full-access",
			"config": map[string]any{"mcp_servers": map[string]any{"files": map[string]any{"command": "npx", "args": []string{"secret-word"}}}},
		})
	}
	for _, want := range []string{"config.mcp_servers.files:", "sandbox to read-only"} {
		m := c.waitFor(mark, "configWarning", func(m editor.Message) bool { return strings.Contains(m.Param("summary"), want) })
		text := m.Param("summary")
		if !strings.Contains(text, "The setting is policy.") || strings.Contains(text, "secret-word") {
			t.Errorf("the user reads %q", text)
		}
		t.Log(text)
	}
	c.closeAndWait()
}

// The user reads why a thread is read-only in a folder that the policy forbids, if the client sent no
// sandbox and Codex would let the thread write.
func TestUserReadsWhyFolderIsReadOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{
		codexConfig: "sandbox_mode = \"workspace-write\"\n",
		config:      "[policy]\nsandbox = \"workspace-write\"\napproval = [\"on-request\"]\nwritable_roots = [\"/code/mistyped\"]\n",
	})
	c := w.newAcceptingEditor(proxyArgv...)
	c.must("thread/start", map[string]any{"cwd": w.workspace})
	m := c.waitFor(0, "configWarning", func(m editor.Message) bool { return strings.Contains(m.Param("summary"), "sandbox to read-only") })
	if text := m.Param("summary"); !strings.Contains(text, w.workspace+" is in none of the writable roots. The setting is policy.writable_roots in user ") {
		t.Errorf("the user reads %q", text)
	}
	c.closeAndWait()
}

// The user reads which arguments of the editor were removed, once, without their values.
func TestUserReadsWhichArgumentsWereRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\nsandbox = \"read-only\"\napproval = [\"on-request\"]\n"})
	argv := []string{proxyArgv[0], "-c", `mcp_servers.files.command="secret-word"`, "-c", `model="gpt-5.5"`}
	c := w.newAcceptingEditor(append(argv, proxyArgv[1:]...)...)
	mark := c.Mark()
	for range 2 {
		c.must("thread/start", map[string]any{"cwd": w.workspace, "approvalPolicy": "on-request", "sandbox": "read-only"})
	}
	c.closeAndWait()
	var notices []string
	for _, m := range c.Messages()[mark:] {
		if text := m.Param("summary"); m.Method == "configWarning" && strings.Contains(text, "codex-bridge") {
			notices = append(notices, text)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "-c mcp_servers.files.command from the command line") ||
		!strings.Contains(notices[0], "policy.config_keys") || strings.Contains(notices[0], "secret-word") {
		t.Errorf("the user reads %q", notices)
	}
}
