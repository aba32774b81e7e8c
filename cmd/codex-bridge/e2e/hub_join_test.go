//go:build linux

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// A joined client gets the responses to all that it sent before the end of its input, in its own framing.
func TestJoinedClientInput(t *testing.T) {
	t.Parallel()
	w := newHubWorld(t, hubConfig)
	const initialize = `{"id":1,"method":"initialize","params":{"clientInfo":{"name":"script","version":"1"}}}`
	const list = `{"id":2,"method":"thread/loaded/list","params":{}}`
	for name, test := range map[string]struct{ input, want string }{
		"lines":   {initialize + "\n" + list + "\n", "\n{\"id\":2,"},
		"headers": {fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: %d\r\n\r\n%s", len(initialize), initialize, len(list), list), "\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, proxyArgv[0], proxyArgv[1:]...)
		var out, stderr bytes.Buffer
		cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = w.workspace, w.env, strings.NewReader(test.input), &out, &stderr
		if err := cmd.Run(); err != nil || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: %v; got %q; stderr %s", name, err, out.String(), &stderr)
		}
	}
}

// Overrides of a client's command line count beside the config of its requests, in a shared Codex as in one of
// its own.
func TestOverridesBesideConfigOfRequest(t *testing.T) {
	t.Parallel()
	needsLinux(t, "clients share a Codex by a socket")
	for mode, config := range map[string]string{"shared": hubConfig, "own": strings.Replace(hubConfig, "require", "off", 1)} {
		w := newWorld(t, options{
			config: config + "config_keys = [\"shell_environment_policy.inherit\"]\n", codex: codexPath,
			mute: "the clients of one Codex have no noise", env: []string{"VARIABLE_OF_CLIENT=inherited"},
		})
		c := w.open(proxyPath, "-c", "sandbox_workspace_write.exclude_slash_tmp=true", "-c", `shell_environment_policy.inherit="core"`,
			"--disable", "goals", "-c", "features.goals=true", "app-server")
		c.initialize(nil)
		params := map[string]any{"sandbox": "workspace-write", "cwd": w.workspace, "config": map[string]any{
			"sandbox_workspace_write.network_access": false, "shell_environment_policy.set": map[string]any{"A": "b"}, "features": map[string]any{"apps": false},
		}}
		started := c.must("thread/start", params)
		if editor.Member(started, "sandbox", "excludeSlashTmp") != "true" {
			t.Errorf("%s: commands may write /tmp: %s", mode, started)
		}
		c.runTurn(editor.Member(started, "thread", "id"), "RUN: echo [$VARIABLE_OF_CLIENT] >inherited")
		if text, err := os.ReadFile(w.workspace + "/inherited"); err != nil || string(text) != "[]\n" {
			t.Errorf("%s: commands get variables that the override excludes: %q, %v", mode, text, err)
		}
		if mode == "shared" {
			params["config"] = map[string]any{"shell_environment_policy": map[string]any{"set": map[string]any{"A": "b"}}}
			if err := c.mustFail("thread/start", params); !strings.Contains(err.Message, "shell_environment_policy.inherit") {
				t.Error(err)
			}
		}
		c.Close(10 * time.Second)

		c = w.open(proxyPath, "-c", "features.shell_tool=false", "app-server")
		c.initialize(nil)
		c.runTurn(c.thread(map[string]any{"sandbox": "workspace-write", "config": map[string]any{"features.shell_tool": true, "features.goals": false}}), "RUN: touch ran")
		if exists(w.workspace + "/ran") {
			t.Errorf("%s: the model has the shell that the command line switches off", mode)
		}
		c.Close(10 * time.Second)
	}
}
