//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All handlers of post_tool_use get the result of a host tool, in the order of the configuration.
// Codex gets only the reason of the first that blocks.
func TestResultHandlersRunInOrder(t *testing.T) {
	if inOwnProcess(t) {
		return
	}
	folder := t.TempDir()
	asked := filepath.Join(folder, "asked")
	handler := func(name, says string) string {
		return fmt.Sprintf("[[hooks.handler]]\nevent = \"post_tool_use\"\ncommand = [\"/bin/sh\", \"-c\", 'grep -q the-result && echo %s >>%s; echo %s']\n", name, asked, says)
	}
	var w *assembled
	w = newAssembled(t, `
[tools.look]
description = "looks"
command = ["/bin/echo", "the-result"]
[hooks]
events = ["post_tool_use"]
`+handler("first", "")+handler("second", `"{\"decision\":\"block\",\"reason\":\"withheld by the second\"}"`)+handler("third", `"{\"decision\":\"block\",\"reason\":\"withheld by the third\"}"`), func(r request) (any, string) {
		result, failed := one(&w)(r)
		if r.Method == "thread/start" {
			result.(map[string]any)["cwd"] = folder
		}
		return result, failed
	})
	w.initialize(nil)
	id, _ := w.must("thread/start", map[string]any{}).Get("thread").Get("id").Text()
	answer := string(w.askClient("q", "item/tool/call", map[string]any{"threadId": id, "turnId": "u", "callId": "c", "tool": "look", "arguments": map[string]any{}}))
	if strings.Contains(answer, "the-result") || strings.Contains(answer, "third") || !strings.Contains(answer, "withheld by the second") || !strings.Contains(answer, `"success":false`) {
		t.Errorf("Codex got %s", answer)
	}
	if text, err := os.ReadFile(asked); string(text) != "first\nsecond\nthird\n" {
		t.Errorf("handlers called: %q, %v", text, err)
	}
}
