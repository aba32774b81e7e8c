package trace_test

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// Each thread of a conversation has a file. Conversation merges all of them, WithSubagents those of a
// thread and its subagents.
func TestConversationOfSeveralFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), trace.FolderName)
	tell := func(id string, lines ...string) {
		r := trace.NewRecorder(trace.Options{Folder: folder, TraceID: id, Log: slog.New(slog.DiscardHandler)})
		for _, line := range lines {
			r.Received(bridge.Codex, []byte(line))
			r.Sending(bridge.Client, []byte(line))
		}
		r.Close()
	}
	said := func(thread, method string) string {
		return fmt.Sprintf(`{"method":%q,"params":{"threadId":%q}}`, method, thread)
	}
	const spawned = `{"method":"item/completed","params":{"threadId":%q,"item":{"id":"i","type":"collabAgentToolCall","receiverThreadIds":[%q,"no file"]}}}`
	tell("one", `{"method":"hello"}`, said("t", "a"), fmt.Sprintf(spawned, "t", "child"), said("child", "b"), said("other", "c"), said("t", "d"),
		fmt.Sprintf(spawned, "child", "grandchild"), said("grandchild", "e"))
	tell("two", said("t", "f"), said("other", "g"), said("child", "h"))

	names := func(events []trace.Event, err error) []string {
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, e := range events {
			s, err := trace.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			if s.Method != "" {
				all = append(all, s.Method)
			}
		}
		return all
	}
	path := filepath.Join(folder, "t.jsonl")
	for id, want := range map[string][]string{
		"one": {"hello", "a", "item/completed", "b", "c", "d", "item/completed", "e"},
		"two": {"f", "g", "h"}, "": {"f", "g", "h"}, "three": nil,
	} {
		if diff := cmp.Diff(want, names(trace.Conversation(path, id))); diff != "" {
			t.Errorf("%q: -want +got\n%s", id, diff)
		}
	}
	if diff := cmp.Diff([]string{"hello", "a", "item/completed", "b", "d", "item/completed", "e", "f", "h"}, names(trace.WithSubagents(path))); diff != "" {
		t.Errorf("with its subagents: -want +got\n%s", diff)
	}
	if _, err := trace.Conversation(filepath.Join(folder, "none.jsonl"), ""); err == nil {
		t.Error("a file that is not there has a conversation")
	}
}
