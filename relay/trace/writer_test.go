package trace

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/redact"
)

// testWriter returns a writer, and functions that forward a line of Codex and of the client.
func testWriter(t *testing.T) (w *writer, codex, client func(format string, args ...any)) {
	t.Helper()
	w = newWriter(Options{Folder: filepath.Join(t.TempDir(), FolderName), TraceID: "one", Log: slog.New(slog.DiscardHandler)}, Limits{}.withDefaults())
	forward := func(to bridge.Side) func(string, ...any) {
		return func(format string, args ...any) {
			w.write(record{at: time.Unix(1_700_000_000, 0), forwarded: true, side: to, line: fmt.Appendf(nil, format, args...)})
		}
	}
	return w, forward(bridge.Client), forward(bridge.Codex)
}

// The response to an approval request is an approval.resolved event, however many requests come
// between.
func TestLateApproval(t *testing.T) {
	w, codex, client := testWriter(t)
	codex(`{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}`)
	codex(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1"}}`)
	for id := range 2*maxPending + 10 {
		client(`{"id":%d,"method":"thread/list","params":{}}`, id)
		codex(`{"id":%d,"result":{}}`, id)
	}
	client(`{"id":1,"result":{"decision":"accept"}}`)
	codex(`{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed"}}}`)
	w.end(time.Unix(1_700_000_000, 0), 0)
	text, err := os.ReadFile(filepath.Join(w.Folder, "t1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"outcome":"accept"`) || strings.Contains(string(text), "unanswered") {
		t.Error("the response is not an approval")
	}
	if len(w.pending) > maxPending {
		t.Errorf("%d requests are pending", len(w.pending))
	}
}

// A secret in the names of a thread is in no event.
func TestNamesOfThreadsAreRedacted(t *testing.T) {
	w, codex, client := testWriter(t)
	w.redactor = redact.New(redact.Limits{}, "rosebud in the snow")
	client(`{"id":1,"method":"thread/start","params":{}}`)
	codex(`{"id":1,"result":{"thread":{"id":"t1"},"cwd":"/rosebud in the snow/w","model":"m rosebud in the snow","modelProvider":"p rosebud in the snow"}}`)
	w.end(time.Unix(1_700_000_000, 0), 0)
	text, err := os.ReadFile(filepath.Join(w.Folder, "t1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if want := `"workspaceDir":"/<redacted>/w","provider":"p <redacted>","modelId":"m <redacted>"`; strings.Contains(string(text), "rosebud") || !strings.Contains(string(text), want) {
		t.Errorf("want %s:\n%s", want, text)
	}
}

// The state of unloaded threads is bounded, also if no file can be written.
func TestManyUnloadedThreads(t *testing.T) {
	w, codex, _ := testWriter(t)
	if err := os.WriteFile(w.Folder, nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	for n := range maxInactive + 50 {
		codex(`{"method":"thread/closed","params":{"threadId":"t%d"}}`, n)
		codex(`{"method":"account/updated","params":{}}`)
	}
	codex(`{"method":"thread/name/updated","params":{"threadId":"t%d"}}`, maxInactive+49)
	if len(w.inactive.byID) != maxInactive || len(w.inactive.order) != maxInactive || len(w.threads) != 0 {
		t.Errorf("%d inactive threads, %d in order, and %d others", len(w.inactive.byID), len(w.inactive.order), len(w.threads))
	}
	w.end(time.Unix(1_700_000_000, 0), 0)
}

// A client may name any number of threads. Each has one file with one end, and a thread with a turn
// stays active.
func TestManyLoadedThreads(t *testing.T) {
	w, codex, client := testWriter(t)
	client(`{"method":"initialized"}`)
	codex(`{"method":"turn/started","params":{"threadId":"busy","turn":{"id":"u1"}}}`)
	const many = maxThreads + 20
	for n := range many {
		client(`{"method":"thread/name/set","params":{"threadId":"t%d"}}`, n)
	}
	if len(w.threads) > maxThreads || w.threads["busy"] == nil || w.threads["t0"] != nil {
		t.Errorf("%d threads are active", len(w.threads))
	}
	client(`{"method":"thread/name/set","params":{"threadId":"t0"}}`)
	if w.threads["t0"] == nil || len(w.inactive.byID) != len(w.inactive.order) || len(w.inactive.byID)+len(w.threads) != many+1 {
		t.Errorf("%d and %d threads, in order %d", len(w.threads), len(w.inactive.byID), len(w.inactive.order))
	}
	w.end(time.Unix(1_700_000_000, 0), 0)
	for name, want := range map[string]string{
		"t0": "initialized thread/name/set thread/name/set 4", "t1": "initialized thread/name/set 3", "busy": "initialized turn/started 4",
	} {
		events, err := ReadFile(filepath.Join(w.Folder, name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			if step, err := Decode(e); err == nil && step.Method != "" {
				got = append(got, step.Method)
			}
		}
		last := events[len(events)-1]
		if got := fmt.Sprint(strings.Join(got, " "), " ", last.Seq); got != want || last.Type != SessionEnded {
			t.Errorf("%s: %s, %s", name, got, last.Type)
		}
	}
}
