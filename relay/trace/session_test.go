package trace

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"codex-bridge/bridge"
)

// player is a session in a folder, and what has it take a line that passes.
func player(t *testing.T) (s *session, codex, client func(format string, args ...any)) {
	t.Helper()
	s = newSession(Options{Folder: filepath.Join(t.TempDir(), FolderName), TraceID: "one", Log: slog.New(slog.DiscardHandler)}, Limits{}.orDefault())
	passes := func(to bridge.Side) func(string, ...any) {
		return func(format string, args ...any) {
			s.take(told{at: time.Unix(1_700_000_000, 0), passed: true, party: to, line: fmt.Appendf(nil, format, args...)})
		}
	}
	return s, passes(bridge.Client), passes(bridge.Codex)
}

// A question that a person thinks about for long is answered in the trace, however much has
// been asked and answered meanwhile.
func TestLongQuestion(t *testing.T) {
	s, codex, client := player(t)
	codex(`{"method":"turn/started","params":{"threadId":"t1","turn":{"id":"u1"}}}`)
	codex(`{"id":1,"method":"item/commandExecution/requestApproval","params":{"threadId":"t1","turnId":"u1"}}`)
	for id := range 2*mostAsked + 10 {
		client(`{"id":%d,"method":"thread/list","params":{}}`, id)
		codex(`{"id":%d,"result":{}}`, id)
	}
	client(`{"id":1,"result":{"decision":"accept"}}`)
	codex(`{"method":"turn/completed","params":{"threadId":"t1","turn":{"id":"u1","status":"completed"}}}`)
	s.end(time.Unix(1_700_000_000, 0), 0)
	text, err := os.ReadFile(filepath.Join(s.Folder, "t1.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), `"outcome":"accept"`) || strings.Contains(string(text), "unanswered") {
		t.Error("the answer is not told as one")
	}
	if len(s.asked) > mostAsked {
		t.Errorf("%d requests are kept", len(s.asked))
	}
}

// What is kept of threads that codex has no more is bounded, and nothing else is kept of them,
// also where no file can be written.
func TestManyThreads(t *testing.T) {
	s, codex, _ := player(t)
	if err := os.WriteFile(s.Folder, nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	for n := range mostPast + 50 {
		codex(`{"method":"thread/closed","params":{"threadId":"t%d"}}`, n)
		codex(`{"method":"account/updated","params":{}}`)
	}
	codex(`{"method":"thread/name/updated","params":{"threadId":"t%d"}}`, mostPast+49)
	if len(s.past.of) != mostPast || len(s.past.order) != mostPast || len(s.threads) != 0 {
		t.Errorf("%d threads of the past, in order %d, and %d others", len(s.past.of), len(s.past.order), len(s.threads))
	}
	s.end(time.Unix(1_700_000_000, 0), 0)
}

// A client may speak of any number of threads. Each is one file, with one end, and those in
// which something is under way are kept whole.
func TestManyLoaded(t *testing.T) {
	s, codex, client := player(t)
	client(`{"method":"initialized"}`)
	codex(`{"method":"turn/started","params":{"threadId":"busy","turn":{"id":"u1"}}}`)
	const many = mostLoaded + 20
	for n := range many {
		client(`{"method":"thread/name/set","params":{"threadId":"t%d"}}`, n)
	}
	if len(s.threads) > mostLoaded || s.threads["busy"] == nil || s.threads["t0"] != nil {
		t.Errorf("%d threads are kept whole", len(s.threads))
	}
	client(`{"method":"thread/name/set","params":{"threadId":"t0"}}`)
	if s.threads["t0"] == nil || len(s.past.of) != len(s.past.order) || len(s.past.of)+len(s.threads) != many+1 {
		t.Errorf("%d and %d threads, in order %d", len(s.threads), len(s.past.of), len(s.past.order))
	}
	s.end(time.Unix(1_700_000_000, 0), 0)
	for name, want := range map[string]string{
		"t0": "initialized thread/name/set thread/name/set 4", "t1": "initialized thread/name/set 3", "busy": "initialized turn/started 4",
	} {
		events, err := eventsOf(filepath.Join(s.Folder, name+".jsonl"), func(Event) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			if step, err := Open(e); err == nil && step.Method != "" {
				got = append(got, step.Method)
			}
		}
		last := events[len(events)-1]
		if got := fmt.Sprint(strings.Join(got, " "), " ", last.Seq); got != want || last.Type != SessionEnded {
			t.Errorf("%s: %s, %s", name, got, last.Type)
		}
	}
}
