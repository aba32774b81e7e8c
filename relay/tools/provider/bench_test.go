package provider_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/config"
	"codex-bridge.example/relay/tools"
	"codex-bridge.example/relay/tools/provider"
)

// BenchmarkAnswer includes the command itself: compare it with BenchmarkCommandAlone.
func BenchmarkAnswer(b *testing.B) {
	r := tools.NewRunner(tools.NewCatalogue(provider.NewCommands(provider.CommandOptions{Tools: map[string]config.Tool{
		"x": {Description: "d", InputSchema: map[string]any{"type": "object", "required": []any{"id"}}, Command: []string{os.Args[0], "tool", "say", "hello"}},
	}})), tools.Options{})
	defer r.Close()
	call := tools.Call{Name: "x", Arguments: json.RawMessage(`{"id":"x"}`), Cwd: b.TempDir()}
	for b.Loop() {
		if got := r.Answer(b.Context(), call); !got.Success || got.Items[0].Text != "hello" {
			b.Fatalf("%+v", got)
		}
	}
}

func BenchmarkCommandAlone(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command(os.Args[0], "tool", "say", "hello")
		cmd.Stdin = strings.NewReader("{}\n")
		var out strings.Builder
		cmd.Stdout = &out
		if err := child.Start(cmd); err != nil { // cmd.Start would race with the reaper
			b.Fatal(err)
		}
		if err := child.Wait(cmd); err != nil || out.String() != "hello" {
			b.Fatalf("%s, %v", out.String(), err)
		}
	}
}
