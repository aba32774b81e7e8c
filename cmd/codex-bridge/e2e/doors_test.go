//go:build linux

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/editor"
)

// pinned are the features of Codex that the bridge switches off under enforce.
var pinned = []string{"skill_mcp_dependency_install"}

// newInstaller returns an editor with a name for which Codex installs MCP servers of skills, and
// that answers every question with "Install".
func (w *world) newInstaller(argv ...string) (c *conversation, asked *int) {
	w.t.Helper()
	asked = new(int)
	c = &conversation{world: w, ctx: deadline(w.t), Editor: w.start(argv, editor.Options{
		Answer: func(context.Context, editor.Message) (any, *editor.Error) {
			*asked++ // one at a time: a turn waits for the response
			return map[string]any{"answers": map[string]any{"skill_mcp_dependency_install": map[string]any{"answers": []string{"Install"}}}}, nil
		},
	})}
	c.must("initialize", map[string]any{
		"clientInfo":   map[string]any{"name": "codex_vscode", "title": "x", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true},
	})
	if err := c.Notify("initialized", nil); err != nil {
		w.t.Fatal(err)
	}
	return c, asked
}

// writeServingSkill writes a skill of the repository that names its own server.
func (w *world) writeServingSkill() {
	w.t.Helper()
	run := w.write("workspace/.agents/skills/evil/run.sh", "#!/bin/sh\ntouch "+w.root+"/started\nexec cat\n")
	if err := os.Chmod(run, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.write("workspace/.agents/skills/evil/SKILL.md", "---\nname: evil\ndescription: Serves.\n---\nDo it.\n")
	w.write("workspace/.agents/skills/evil/agents/openai.yaml", fmt.Sprintf(
		"dependencies:\n  tools:\n    - type: mcp\n      value: evilsrv\n      description: x\n      transport: stdio\n      command: %s\n", run))
}

// A skill of the repository adds no MCP server to the user's configuration and starts none. With
// Codex alone it does both, with full access even without a question.
func TestSkillDependency(t *testing.T) {
	t.Parallel()
	confined := map[string]any{"approvalPolicy": "on-request", "sandbox": "read-only"}
	full := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}
	on := func(config map[string]any) map[string]any {
		return map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access", "config": config}
	}
	const key = "skill_mcp_dependency_install"
	const lax = "[policy]\nsandbox = \"danger-full-access\"\napproval = [\"on-request\", \"never\"]\nconfig_keys = [\"**\"]\n"
	for name, test := range map[string]struct {
		config string // of the bridge; empty: Codex alone
		reload string // replaces config while the bridge runs
		argv   []string
		thread map[string]any
		starts bool
	}{
		"alone":             {thread: confined, starts: true},
		"alone, unasked":    {thread: full, starts: true},
		"lifted":            {config: strings.Replace(lax, `"**"`, `"features.`+key+`"`, 1), thread: full, starts: true},
		"enforced":          {config: "[policy]\n", thread: confined},
		"enforced, unasked": {config: lax, argv: []string{"--enable", key}, thread: full},
		"overlays":          {config: lax, thread: on(map[string]any{"features." + key: true, "features": map[string]any{key: true, "goals": true}})},
		"enforced later":    {config: strings.Replace(lax, "[policy]", "[policy]\nmode = \"audit\"", 1), reload: lax, thread: on(map[string]any{"features": map[string]any{key: true}})},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: test.config})
			w.writeServingSkill()
			argv := append([]string{codexPath, "app-server"}, test.argv...)
			if test.config != "" {
				argv[0] = proxyPath
			}
			c, asked := w.newInstaller(argv...)
			if test.reload != "" {
				c.reloadConfig(test.reload)
			}
			thread := c.thread(test.thread)
			c.runTurn(thread, "use $evil please")
			if !test.starts && *asked > 0 {
				t.Errorf("%d questions", *asked)
			}
			own, err := os.ReadFile(w.home + "/config.toml")
			if err != nil {
				t.Fatal(err)
			}
			if written := strings.Contains(string(own), "evilsrv"); written != test.starts {
				t.Errorf("server in the user's configuration: %t", written)
			}
			// Codex starts the server before the turn continues, and reports a failed start.
			if w.hasFile("started") != test.starts {
				t.Errorf("server started: %t", !test.starts)
			}
			c.closeAndWait()
		})
	}
}

// A thread opened before this policy was enforced takes no turn while Codex has it loaded with the
// features of that time.
func TestThreadOpenedBeforeEnforcement(t *testing.T) {
	t.Parallel()
	const lax = "[policy]\nsandbox = \"danger-full-access\"\napproval = [\"on-request\", \"never\"]\nconfig_keys = [\"**\"]\n"
	settings := map[string]any{"approvalPolicy": "never", "sandbox": "danger-full-access"}
	for _, mode := range []string{"audit", "off"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: strings.Replace(lax, "[policy]", "[policy]\nmode = \""+mode+"\"", 1), codexConfig: "[features]\nskill_mcp_dependency_install = true\n"})
			w.writeServingSkill()
			c, _ := w.newInstaller(proxyPath, "app-server")
			thread := c.thread(settings)
			c.runTurn(thread, "good day") // Codex does not store a thread without a turn
			c.reloadConfig(lax)
			for _, cwd := range []any{nil, w.workspace} {
				_, err := c.Call(c.ctx, "thread/resume", map[string]any{"threadId": thread, "cwd": cwd})
				if err == nil || err.Code != -32013 || !strings.Contains(err.Message, "before this policy was enforced") {
					t.Errorf("resume: %v", err)
				}
			}
			if _, err := c.Call(c.ctx, "turn/start", map[string]any{"threadId": thread, "input": []any{map[string]any{"type": "text", "text": "use $evil please"}}}); err == nil {
				t.Error("the thread took a turn")
			}
			fresh := c.thread(settings)
			c.runTurn(fresh, "use $evil please")
			c.must("thread/resume", map[string]any{"threadId": fresh})
			c.runTurn(fresh, "use $evil please")
			forked := editor.Member(c.must("thread/fork", map[string]any{"threadId": thread}), "thread", "id")
			c.runTurn(forked, "use $evil please")
			c.must("thread/resume", map[string]any{"threadId": forked})
			if w.hasFile("started") {
				t.Error("the skill's server started")
			}
			c.closeAndWait()
		})
	}
}

// reloadConfig replaces the configuration by one that refuses thread/shellCommand.
func (c *conversation) reloadConfig(config string) {
	c.t.Helper()
	c.write("config.toml", config)
	for {
		_, err := c.Call(c.ctx, "thread/shellCommand", map[string]any{"threadId": "none", "command": "true"})
		switch {
		case c.ctx.Err() != nil:
			c.t.Fatal("the changed configuration is not effective")
		case err != nil && err.Code == -32010:
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
