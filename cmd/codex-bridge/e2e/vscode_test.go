//go:build linux

package e2e_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/cmd/internal/scripted"
)

// markdown is a reply with everything that the chat draws, and with content that it must not draw.
const markdown = "# A heading\n\nSome *emphasis*, `code` and [a link](https://example.com).\n\n- first\n- second\n\n" +
	"```js\nconst answer = 42;\n```\n\n| a | b |\n|---|---|\n| three | four |\n\n<img src=x onerror=\"document.body.remove()\">\n"

// The extension of editors/vscode in a real VS Code with the real Codex: a user at a browser trusts
// the folder, asks, approves, declines, views a patch, steers, stops, reloads and resumes.
//
// It does not run in parallel: with other tests a browser takes minutes on a machine with two
// processors.
func TestVSCode(t *testing.T) {
	extension, err := filepath.Abs("../../../editors/vscode")
	if err != nil {
		t.Fatal(err)
	}
	for _, needed := range []string{"node_modules", "e2e/node_modules/code-server/lib/vscode/node_modules"} {
		if _, err := os.Stat(filepath.Join(extension, needed)); err != nil {
			t.Fatalf("%v; run `make setup editors`, which installs what the end-to-end tests need", err)
		}
	}
	shots := filepath.Join(extension, "shots")
	if err := os.RemoveAll(shots); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, options{
		config: "[policy]\nmode = \"enforce\"\napproval = [\"untrusted\"]\nescalation = \"ask\"\n" +
			"[[policy.rule]]\ncommand = \"git push **\"\ndecision = \"deny\"\nreason = \"The pipeline pushes.\"\n" +
			"[approvals]\nremember = \"session\"\n",
		codexConfig: "suppress_unstable_features_warning = true\n[tools.update_plan]\nenabled = true\n[features]\ndefault_mode_request_user_input = true\n" + terminalConfig +
			mcpConfig("probe") + "[mcp_servers.probe.tools.ask]\napproval_mode = \"approve\"\n",
	})
	var filled scripted.Reply
	for i := range 300 {
		filled = append(filled, scripted.Text(fmt.Sprintf("entry %d.", i+1)))
	}
	var long strings.Builder
	for i := range 1000 { // 100,000 characters; the model sends a word at a time
		fmt.Fprintf(&long, "paragraph %d %s\n\n", i+1, strings.Repeat("x", 85))
	}
	// Channels that the model waits for; the scenes release them by name.
	held := map[string]chan struct{}{}
	hold := func(name string) scripted.Paused {
		held[name] = make(chan struct{})
		return scripted.Paused{Until: held[name]}
	}
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "*** Add File: many/part%d/file%03d.txt\n+one\n", i%5, i)
	}
	w.model.Add(
		scripted.Step{When: "change many files", Reply: scripted.Reply{scripted.CustomCall{
			Tool: "apply_patch", Input: "*** Begin Patch\n" + many.String() + "*** Delete File: many-old.txt\n*** End Patch\n",
		}}},
		scripted.Step{When: "tell me slowly", Reply: scripted.Reply{hold("stream")}},
		scripted.Step{When: "show me markdown", Reply: scripted.Reply{scripted.Text(markdown)}},
		scripted.Step{When: "show me markdown again", Reply: scripted.Reply{scripted.Text(markdown)}},
		scripted.Step{When: "quietly", Reply: scripted.Reply{hold("hidden"), scripted.Run("echo hidden > hidden.txt")}},
		scripted.Step{When: "while away", Reply: scripted.Reply{hold("away"), scripted.Run("echo away > away.txt")}},
		scripted.Step{When: "improve the greeting", Reply: scripted.Reply{scripted.CustomCall{
			Tool:  "apply_patch",
			Input: "*** Begin Patch\n*** Update File: greeting.txt\n@@\n-Hello\n+Good morning\n world\n*** End Patch\n",
		}}},
		scripted.Step{When: "change two files", Reply: scripted.Reply{scripted.CustomCall{
			Tool:  "apply_patch",
			Input: "*** Begin Patch\n*** Update File: greeting.txt\n@@\n world\n+again\n*** Add File: deep/second.txt\n+one\n*** End Patch\n",
		}}},
		scripted.Step{When: "take control", Reply: scripted.Reply{
			scripted.CustomCall{
				Tool:  "apply_patch",
				Input: "*** Begin Patch\n*** Update File: control.txt\n@@\n-line 3\n+codex 3\n@@\n-line 15\n+codex 15\n*** End Patch\n",
			},
			scripted.Run("echo made > made.txt"),
		}},
		scripted.Step{When: "hold for steering", Reply: scripted.Reply{hold("steer")}},
		scripted.Step{When: "hold for ever", Reply: scripted.Reply{hold("never")}},
		scripted.Step{When: "end unseen", Reply: scripted.Reply{hold("unseen")}},
		scripted.Step{When: "look at the parser", Reply: scripted.Reply{hold("review")}},
		scripted.Step{When: "in the second chat", Reply: scripted.Reply{hold("second"), scripted.Run("echo second > second-chat.txt")}},
		scripted.Step{When: "fill the thread", Reply: filled},
		scripted.Step{When: "a very long answer", Reply: scripted.Reply{scripted.Text(long.String())}},
		scripted.Step{When: "from VS Code", Reply: scripted.Reply{scripted.Text("vscode-answered")}},
		scripted.Step{When: "from the terminal", Reply: scripted.Reply{scripted.Text("terminal-answered")}},
		scripted.Step{When: "from Neovim", Reply: scripted.Reply{scripted.Text("neovim-answered")}},
	)

	run := func(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		cmd.Env = slices.Concat(w.env, []string{
			"CODEX_BRIDGE_PROXY=" + proxyPath,
			"CODEX_BRIDGE_ROOT=" + w.root,
			"CODEX_BRIDGE_WORKSPACE=" + w.workspace,
			"CODEX_BRIDGE_SHOTS=" + shots,
			"CODEX_BRIDGE_E2E_CODEX=" + codexPath,
			"CODEX_BRIDGE_HOURS=" + marshal(t, map[string]any{"steps": hourSteps, "profiles": profileHours}),
			"CODEX_BRIDGE_SCENES=" + os.Getenv("CODEX_BRIDGE_SCENES"), // a pattern of names; empty: all
		})
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = 10 * time.Second
		return cmd
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*patience)
	defer cancel()
	for _, script := range []string{"check", "test", "package"} {
		if out, err := run(ctx, extension, "npm", "run", "--silent", script).CombinedOutput(); err != nil {
			t.Fatalf("npm run %s: %v\n%s", script, err, out)
		}
	}
	cmd := run(ctx, extension, "node", "e2e/main.mjs", filepath.Join(extension, "dist", "codex-bridge.vsix"))
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	t.Cleanup(func() { // what the scenes have printed until a failure here
		for lines.Scan() {
			t.Log(lines.Text())
		}
	})
	for lines.Scan() {
		if lines.Text() == "@share" {
			w.shareWithVSCode()
			continue
		}
		if name, ok := strings.CutPrefix(lines.Text(), "@release "); ok {
			close(held[name])
			continue
		}
		t.Log(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("the scenes in VS Code: %v", err)
		if shot, err := os.ReadFile(filepath.Join(w.root, "failed.png")); err == nil {
			keep := filepath.Join(shots, "failed.png")
			if os.WriteFile(keep, shot, 0o600) == nil {
				t.Logf("screenshots: %s", keep)
			}
		}
	}
}

// shareWithVSCode opens the thread that VS Code has open in Neovim and in Codex's own terminal interface:
// each of the three shows the turns of the others.
func (w *world) shareWithVSCode() {
	w.t.Helper()
	w.t.Cleanup(w.stopDaemon)
	w.env = append(w.env, "CODEX_BRIDGE_CODEX="+codexPath) // as VS Code has it now: without noise
	thread := latestThread(w.t, w)
	v := w.neovim("{}")
	v.typeKeys(":Codex<CR>")
	v.typeKeys(":CodexResume " + thread + "<CR>")
	v.waitScreen("vscode-answered")
	term := w.newScreen(codexPath, "resume", thread)
	sees := func(text string) {
		term.waitUntil(text, func() bool { return strings.Contains(visible(term.text()), text) })
	}
	sees("vscode-answered")

	term.write("from the terminal")
	time.Sleep(time.Second) // else Codex takes the next key as pasted
	term.write("\r")
	v.waitScreen("terminal-answered")
	v.runText("from Neovim")
	sees("neovim-answered")
	// VS Code runs its second turn when it has shown the turns of both.
	v.waitScreen("last-turn")
	sees("last-turn")
}
