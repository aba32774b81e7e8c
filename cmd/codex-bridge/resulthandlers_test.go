//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// All handlers of post_tool_use see the result of a host's tool, in the order of the configuration. The reason of the first
// that blocks is all that Codex gets.
func TestResultHandlersRunInOrder(t *testing.T) {
	if apart(t) {
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
	w.knows(nil)
	id, _ := w.must("thread/start", map[string]any{}).Get("thread").Get("id").Text()
	answer := string(w.asks("q", "item/tool/call", map[string]any{"threadId": id, "turnId": "u", "callId": "c", "tool": "look", "arguments": map[string]any{}}))
	if strings.Contains(answer, "the-result") || strings.Contains(answer, "third") || !strings.Contains(answer, "withheld by the second") || !strings.Contains(answer, `"success":false`) {
		t.Errorf("Codex gets %s", answer)
	}
	if text, err := os.ReadFile(asked); string(text) != "first\nsecond\nthird\n" {
		t.Errorf("the handlers asked are %q, %v", text, err)
	}
}
