//go:build linux

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
)

// Codex reads variables from the file .env in its own folder. The bridge does not start if one of
// them would affect its decisions. Other variables are allowed.
func TestEnvFileOfCodex(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text, variable string
		sets           bool // Codex reads a variable from it that affects decisions
	}{
		"PATH":        {"PATH=$ROOT/other\n", "PATH", true},
		"export":      {"X='\n'\n export\tTMPDIR = \"$ROOT/other\"", "TMPDIR", true},
		"HOME":        {"\u00a0HOME\v=$ROOT/other # home", "HOME", true},
		"git":         {"GIT_CONFIG_GLOBAL=$ROOT/other\r\n", "GIT_CONFIG_GLOBAL", true},
		"others":      {"OTHER=$ROOT/other\n# PATH=$ROOT/other\n", "OTHER", false},
		"CODEX_HOME":  {"CODEX_HOME=$ROOT/other\nCodex_Home=$ROOT/other\n", "", false},
		"no variable": {"PATH: $ROOT/other\nHOME\n", "", false},
	} {
		if !isSampledName(3, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: gitConfig})
			w.write("workspace/.env", "PATH="+w.root+"/other\n") // Codex does not read it
			w.write("home/.env", strings.ReplaceAll(test.text, "$ROOT", w.root))
			a := w.newAcceptingEditor(codexPath, "app-server")
			a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "danger-full-access"}), `CALL: exec_command {"cmd":"/usr/bin/env > set","login":false,"shell":"/bin/bash"}`)
			var set string
			for line := range strings.Lines(w.read("workspace/set")) {
				if variable, value, _ := strings.Cut(strings.TrimSpace(line), "="); strings.HasSuffix(value, w.root+"/other") {
					set = variable
				}
			}
			if set != test.variable {
				t.Errorf("control: Codex set %q, want %q", set, test.variable)
			}
			a.closeAndWait()
			if !test.sets {
				a := w.newAcceptingEditor(proxyArgv...)
				a.turn(a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"}), "RUN: touch fine")
				if !w.hasFile("workspace/fine") {
					t.Errorf("the command did not run: %q", w.lastToolOutput())
				}
				a.closeAndWait()
				return
			}
			e := w.start(proxyArgv, editor.Options{})
			exit, err := e.Exit(deadline(t))
			if err != nil || exit.Code != 2 || !strings.Contains(e.Stderr(), w.home+"/.env") || !strings.Contains(e.Stderr(), test.variable) {
				t.Errorf("%v, %v; stderr %q", exit, err, e.Stderr())
			}
		})
	}
}

// The file .env of Codex's folder links into the workspace. A command can't write the link's
// target.
func TestCommandsCannotWriteEnvFile(t *testing.T) {
	t.Parallel()
	for who, argv := range map[string][]string{"control": {codexPath, "app-server"}, "bridge": proxyArgv} {
		for _, there := range []bool{true, false} {
			name := who
			if there {
				name += ", a file"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, options{config: gitConfig})
				if there {
					w.write("workspace/own/env", "X=1\n")
				}
				if err := os.Symlink(filepath.Join(w.workspace, "own/env"), filepath.Join(w.home, ".env")); err != nil {
					t.Fatal(err)
				}
				a := w.newAcceptingEditor(argv...)
				thread := a.thread(map[string]any{"approvalPolicy": "on-request", "sandbox": "workspace-write"})
				a.turn(thread, `CALL: exec_command {"cmd":"mkdir -p own; echo PATH=/other > own/env"}`)
				text, _ := os.ReadFile(filepath.Join(w.home, ".env"))
				if written := strings.Contains(string(text), "/other"); written != (who == "control") {
					t.Errorf("written: %v; %q", written, w.lastToolOutput())
				}
				a.CloseInput()
			})
		}
	}
}
