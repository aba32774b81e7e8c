//go:build linux

package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/argv"
	"codex-bridge.example/bridge/codex/release"
)

// commandDoor is a command of Codex that has an effect past the policy.
type commandDoor struct {
	name string
	args []string
	made string // the file that it makes, below the world's folder; "" if config is set
	adds string // what it adds to Codex's configuration
}

// commandDoors returns doors whose programs write into outside/.
func commandDoors(w *world) []commandDoor {
	outside := filepath.Join(w.root, "outside")
	program := filepath.Join(outside, "program")
	touch := func(name string) string { return filepath.Join(outside, name) }
	patch := "*** Begin Patch\n*** Add File: " + touch("patched") + "\n+x\n*** End Patch"
	return []commandDoor{
		{name: "the configured servers", args: []string{"debug", "prompt-input"}, made: "mcp"},
		{name: "a turn that answers its own questions", args: []string{"debug", "app-server", "send-message-v2", "ESCALATE: touch " + touch("turn")}, made: "turn"},
		{name: "with flags between", args: []string{"debug", "-c", "model_reasoning_effort=low", "app-server", "send-message-v2", "ESCALATE: touch " + touch("turn")}, made: "turn"},
		{name: "a sandbox that its flags switch off", args: []string{"sandbox", "-c", `sandbox_mode="danger-full-access"`, "--", "touch", touch("sandbox")}, made: "sandbox"},
		{name: "the sign-in program of a provider", args: []string{
			"-c", "model_provider=p", "-c", `model_providers.p={name="p",base_url="http://127.0.0.1:1/v1",auth={command="` + program + `",args=["auth"]}}`, "debug", "models",
		}, made: "auth"},
		{name: "a formatter", args: []string{"app-server", "generate-ts", "--out", touch("ts"), "--prettier", program}, made: "--write"},
		{name: "a patch", args: []string{"--codex-run-as-apply-patch", patch}, made: "patched"},
		{name: "a server", args: []string{"mcp", "add", "another", "--", program}, adds: "mcp_servers.another"},
		{name: "a feature", args: []string{"features", "disable", "hooks"}, adds: "hooks = false"},
		{name: "a marketplace", args: []string{"plugin", "marketplace", "add", outside}, adds: "marketplaces.market"},
	}
}

// TestCommandsAroundThePolicy checks that no command of Codex runs a program or writes configuration past an
// enforced policy with its default commands, under both names of the bridge. Codex alone does each.
func TestCommandsAroundThePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", codexConfig: "[features]\nplugins = true\n"})
	outside := filepath.Join(w.root, "outside")
	w.write("outside/.claude-plugin/marketplace.json", `{"name":"market","owner":{"name":"x"},"plugins":[]}`)
	program := w.write("outside/program", "#!/bin/sh\ntouch '"+outside+"'/\"${1:-mcp}\"\necho token\n")
	if err := os.Chmod(program, 0o700); err != nil {
		t.Fatal(err)
	}
	codexConfig := w.read("home/config.toml") + "\n[mcp_servers.marker]\ncommand = \"" + program + "\"\n"
	named := w.root + "/codex"
	if err := os.Symlink(proxyPath, named); err != nil {
		t.Fatal(err)
	}
	for _, door := range commandDoors(w) {
		w.write("home/config.toml", codexConfig)
		hasEffect := func() bool {
			if door.made != "" {
				return os.Remove(filepath.Join(outside, door.made)) == nil
			}
			return strings.Contains(w.read("home/config.toml"), door.adds)
		}
		hasEffect() // of an earlier door
		for _, bridge := range []string{proxyPath, named} {
			if out, problems, status := w.execute(bridge, "", door.args...); hasEffect() || status != 2 || out != "" || !strings.HasPrefix(problems, "codex-bridge: ") {
				t.Errorf("%s, behind the bridge: status %d\n%s%s", door.name, status, out, problems)
			}
		}
		if out, problems, status := w.execute(codexPath, "", door.args...); !hasEffect() {
			t.Errorf("%s, codex alone: status %d\n%s%s", door.name, status, out, problems)
		}
	}
	w.checkExecServer()
}

// checkExecServer checks that Codex alone serves any client, and the bridge does not.
func (w *world) checkExecServer() {
	w.t.Helper()
	args := []string{"exec-server", "--listen", "ws://127.0.0.1:0"}
	if out, _, status := w.execute(proxyPath, "", args...); status != 2 || out != "" {
		w.t.Errorf("exec-server behind the bridge: status %d\n%s", status, out)
	}
	cmd := exec.CommandContext(deadline(w.t), codexPath, args...)
	cmd.Env, cmd.Dir = w.env, w.workspace
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	address := make([]byte, len("ws://"))
	if _, err := out.Read(address); err != nil || !bytes.Equal(address, []byte("ws://")) {
		w.t.Errorf("exec-server of codex alone: %q %v", address, err)
	}
}

// TestHarmlessCommandsRun checks that the default of policy.commands lets harmless commands through, with the
// output of Codex alone.
func TestHarmlessCommandsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{config: "[policy]\n", codexConfig: mcpConfig("probe")})
	for _, line := range []string{
		"login status", "features list", "mcp list --json", "mcp get probe --json", "-c model=gpt-5.5 mcp list", "plugin marketplace list", "mcp", "mcp add --help", "mcp help add",
		"debug help models", "--version",
	} {
		args := strings.Fields(line)
		wantOut, wantProblems, want := w.execute(codexPath, "", args...)
		if out, problems, status := w.execute(proxyPath, "", args...); status != want || out != wantOut || problems != wantProblems {
			t.Errorf("%s: status %d, want %d\n%s", line, status, want, cmp.Diff(wantOut+wantProblems, out+problems))
		}
	}
}

// TestCommandsHaveRows checks that each command of Codex, also a hidden one, has a row in the table of commands, and
// that no command of its help is missing in the script that names them.
func TestCommandsHaveRows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	script, problems, status := w.execute(codexPath, "", "completion", "bash")
	if status != 0 {
		t.Fatal(problems)
	}
	names := release.CommandNames(script)
	for _, name := range names {
		if argv.LookUp(strings.Fields(name)...) == nil {
			t.Errorf("bridge/methods/commands.txt has no row of codex %s: judge what it can do", name)
		}
	}
	inHelp := regexp.MustCompile(`(?m)^  ([a-z][a-z-]*) `)
	for _, parent := range []string{"", "app-server", "app-server daemon", "cloud", "debug", "debug app-server", "exec", "features", "login", "mcp", "plugin", "plugin marketplace"} {
		help, _, _ := w.execute(codexPath, "", append(strings.Fields(parent), "--help")...)
		_, list, found := strings.Cut(help, "\nCommands:\n")
		list, _, _ = strings.Cut(list, "\n\n")
		for _, m := range inHelp.FindAllStringSubmatch(list, -1) {
			if name := strings.TrimSpace(parent + " " + m[1]); m[1] != "help" && !slices.Contains(names, name) {
				t.Errorf("the help has codex %s, the completion script has not", name)
			}
		}
		if !found {
			t.Errorf("%s --help: %s", parent, help)
		}
	}
}
