package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"codex-bridge.example/relay/hook"
)

// A hook process for which the bridge has no opinion ends before the packages of other features are
// initialised. Codex waits for one before each tool call.
func TestHookInitialisesFewPackages(t *testing.T) {
	folder, err := os.MkdirTemp("", "hk") // a short path: that of a socket has a limit
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	s, err := hook.Listen(hook.Options{Folder: filepath.Join(folder, "run"), Decide: func(context.Context, *hook.Call) hook.Answer { return hook.Answer{} }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	cmd := exec.CommandContext(t.Context(), os.Args[0], "hook", "--socket", s.Socket(), "--event", "pre_tool_use", "--timeout", "1m")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	cmd.Stdin = strings.NewReader(`{"hook_event_name":"PreToolUse","session_id":"s","turn_id":"t","cwd":"/w","transcript_path":null,"tool_name":"Bash","tool_use_id":"c","tool_input":{}}`)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == "init" {
			names = append(names, words[1])
		} else {
			t.Errorf("printed %q", line)
		}
	}
	if !slices.Contains(names, "os") {
		t.Fatalf("the packages are not known: %q", names)
	}
	// Those sort before relay/hook/ask and import as little as it does.
	harmless := []string{"github.com/jackc/pgx/v5/internal/iobufpool", "github.com/jackc/puddle/v2", "github.com/klauspost/compress/internal/cpuinfo"}
	late := []string{"fmt", "unicode", "reflect", "net", "net/http", "encoding/json", "database/sql", "crypto/tls", "log/slog"}
	all := dependencies(t)
	for _, name := range names {
		module, _, _ := strings.Cut(name, "/")
		isOwn := strings.HasPrefix(name, ownModule)
		isOther := strings.Contains(module, ".") && all[name] != nil // the others are of this test
		if isOwn || isOther && !slices.Contains(harmless, name) || slices.Contains(late, name) {
			t.Errorf("%s is initialised", name)
		}
	}
}
