package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
)

// An error is wrapped to the width of a terminal, but to 100 columns at most; elsewhere it stays one line.
func TestErrorsFitTerminal(t *testing.T) {
	run := func(stderr io.Writer) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "decisions", "list", "--verdict", strings.Repeat("word ", 40))
		cmd.Args[0], cmd.Stderr = "codex-bridge", stderr
		cmd.Env = append(os.Environ(), "COLUMNS=1000", "CODEX_BRIDGE_CONFIG=", "CODEX_BRIDGE_STATE="+t.TempDir())
		if cmd.Run() == nil || cmd.ProcessState.ExitCode() != exit.Config {
			t.Fatal(cmd.ProcessState)
		}
	}
	var whole bytes.Buffer
	run(&whole)
	if strings.Count(whole.String(), "\n") != 1 || !strings.HasPrefix(whole.String(), "codex-bridge: --verdict=word word ") {
		t.Fatalf("not one line: %q", whole.String())
	}
	for columns, width := range map[uint16]int{50: 50, 200: output.MaxColumns, 0: output.MaxColumns} {
		user, program := bridgetest.Terminal(t, columns)
		run(program)
		program.Close()
		seen, _ := io.ReadAll(user) // the error at its end is no io.EOF
		lines := strings.Split(strings.TrimSuffix(string(seen), "\r\n"), "\r\n")
		for _, line := range lines {
			if len(line) > width {
				t.Errorf("on %d columns: a line of %d: %q", columns, len(line), line)
			}
		}
		if got := strings.ReplaceAll(strings.Join(lines, "\n"), "\n  ", " ") + "\n"; got != whole.String() {
			t.Errorf("on %d columns: %q", columns, got)
		}
	}
}
