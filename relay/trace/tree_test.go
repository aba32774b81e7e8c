package trace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/relay/trace"

	"github.com/google/go-cmp/cmp"
)

// appendEvent adds an event to the file of a thread, a second after the previous one.
func appendEvent(t *testing.T, folder, thread string, conversation string, n int, kind trace.Type, data string) {
	t.Helper()
	e := trace.Event{TraceID: conversation, Type: kind, Time: time.Date(2026, 3, 1, 9, 0, n, 0, time.Local), SourceSeq: int64(n), ThreadID: thread, Data: []byte(data)}
	line, err := e.Line()
	if err != nil {
		t.Fatal(err)
	}
	added(t, folder, thread, string(line)+"\n")
}

func added(t *testing.T, folder, thread, text string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(folder, trace.FileName(thread)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func call(thread, id, status string, agents ...string) string {
	return fmt.Sprintf(`{"from":"codex","to":"client","outcome":%q,"message":{"method":"item","params":{"threadId":%q,"item":{"id":%q,"type":"collabAgentToolCall","tool":"spawnAgent","receiverThreadIds":["%s"]}}}}`,
		status, thread, id, strings.Join(agents, `","`))
}

func prompt(thread, text string) string {
	return fmt.Sprintf(`{"from":"client","to":"codex","message":{"method":"turn/start","params":{"threadId":%q,"input":[{"type":"text","text":%q}]}}}`, thread, text)
}

func said(thread, text string) string {
	return fmt.Sprintf(`{"from":"codex","to":"client","message":{"method":"item/completed","params":{"threadId":%q,"item":{"id":"m","type":"agentMessage","text":%q}}}}`, thread, text)
}

// Next returns each event of a thread and its subagents once, in order, while the files grow.
func TestTree(t *testing.T) {
	folder := t.TempDir()
	tree := trace.NewTree(filepath.Join(folder, trace.FileName("root")))
	alone := trace.NewTree(filepath.Join(folder, trace.FileName("root")))
	alone.Alone = true
	look := func(tree *trace.Tree, want string) {
		t.Helper()
		told, err := tree.Next()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, e := range told {
			head, text, err := trace.Show(e, false)
			if err != nil {
				t.Fatal(err)
			}
			if head != "" {
				b.WriteString(head + text + "\n")
			}
		}
		if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), b.String()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}
	if _, err := tree.Next(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a file it says %v", err)
	}
	appendEvent(t, folder, "root", "one", 1, trace.PromptSubmitted, prompt("root", "see to the pump"))
	appendEvent(t, folder, "child", "one", 1, trace.PromptSubmitted, prompt("root", "see to the pump")) // what opened it
	appendEvent(t, folder, "root", "one", 2, trace.ToolCall, call("root", "c", ""))
	appendEvent(t, folder, "child", "one", 3, trace.Message, said("child", "I begin,\nand go on."))
	appendEvent(t, folder, "child", "other", 1, trace.Message, said("child", "another conversation"))
	appendEvent(t, folder, "child", "one", 4, trace.ToolResult, call("child", "d", "completed", "grandchild", "no file"))
	appendEvent(t, folder, "grandchild", "one", 6, trace.Message, said("grandchild", "so do I"))
	appendEvent(t, folder, "root", "one", 7, trace.Message, said("root", "it is seen to"))
	appendEvent(t, folder, "root", "one", 5, trace.ToolResult, call("root", "c", "completed", "child"))
	appendEvent(t, folder, "root", "two", 1, trace.PromptSubmitted, prompt("root", "and again"))
	look(tree, `
09:00:01.000 prompt.submitted   » see to the pump
09:00:02.000 tool.call          collabAgentToolCall spawnAgent
09:00:03.000     agent hild message            I begin,
and go on.
09:00:04.000     agent hild tool.result        collabAgentToolCall spawnAgent completed
09:00:05.000 tool.result        collabAgentToolCall spawnAgent completed
09:00:06.000         agent hild message            so do I
09:00:07.000 message            it is seen to
09:00:01.000 prompt.submitted   » and again
`)
	look(tree, "")

	// Next returns complete lines only. The file of a subagent may be created after its call.
	added(t, folder, "root", `{"traceSchema":"codex-bridge-tr`)
	appendEvent(t, folder, "child", "two", 2, trace.Message, said("child", "once more"))
	look(tree, "\n09:00:02.000     agent hild message            once more\n")
	added(t, folder, "root", "\n")
	appendEvent(t, folder, "no file", "two", 3, trace.Message, said("no file", "here I am"))
	look(tree, `
09:00:01.000 trace.damaged      a line is truncated; the program was killed there
09:00:03.000         agent file message            here I am
`)
	added(t, folder, "child", "what is no trace\n")
	appendEvent(t, folder, "root", "two", 4, trace.Message, said("root", "the end"))
	look(tree, `
09:00:02.000     agent hild trace.damaged      a line is truncated; the program was killed there
09:00:04.000 message            the end
`)
	look(alone, `
09:00:01.000 prompt.submitted   » see to the pump
09:00:02.000 tool.call          collabAgentToolCall spawnAgent
09:00:05.000 tool.result        collabAgentToolCall spawnAgent completed
09:00:07.000 message            it is seen to
09:00:01.000 prompt.submitted   » and again
09:00:01.000 trace.damaged      a line is truncated; the program was killed there
09:00:04.000 message            the end
`)

	added(t, folder, "root", `{"traceSchema":"another"}`+"\n")
	if _, err := tree.Next(); err == nil || !strings.Contains(err.Error(), "line 8") {
		t.Errorf("of another format it says %v", err)
	}
}
