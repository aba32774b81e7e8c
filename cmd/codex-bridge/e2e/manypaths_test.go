//go:build linux

package e2e_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"codex-bridge.example/cmd/internal/editor"
	"codex-bridge.example/rpc"
)

// A message with very many paths is refused, and the conversation goes on: other threads take
// turns, and can be interrupted.
func TestManyPathsDoNotStopConversation(t *testing.T) {
	t.Parallel()
	for method, field := range map[string]string{"fuzzyFileSearch": "roots", "skills/list": "cwds"} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{config: "[policy]\n"})
			a := w.newAcceptingEditor(proxyArgv...)
			thread := a.thread(map[string]any{})
			paths := func(n int) map[string]any {
				folders := []string{}
				for i := range n {
					folders = append(folders, filepath.Join(w.workspace, fmt.Sprint("d", i)))
				}
				params := map[string]any{field: folders}
				if method == "fuzzyFileSearch" {
					params["query"] = "x"
				}
				return params
			}
			a.must(method, paths(200))
			refused := make(chan *editor.Error, 1)
			go func() {
				_, err := a.Call(a.ctx, method, paths(60_000))
				refused <- err
			}()
			a.turn(thread, "SAY: hi")
			if _, err := a.Call(a.ctx, "turn/interrupt", map[string]any{"threadId": thread, "turnId": "none"}); err == nil || err.Code == int(rpc.CodeDeadline) {
				t.Errorf("turn/interrupt is not answered: %v", err)
			}
			if err := <-refused; err == nil || err.Code != int(rpc.CodeTooLarge) {
				t.Errorf("%s with 60,000 paths: %v", method, err)
			}
			a.closeAndWait()
		})
	}
}
