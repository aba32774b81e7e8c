package transcript_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/relay/transcript"
	"codex-bridge.example/rpc"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { bridgetest.Main(m) }

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fixture is a store and its log.
type fixture struct {
	t   testing.TB
	s   *store.Store
	log bytes.Buffer // read it only after Close
}

func newFixture(t testing.TB) *fixture {
	s, err := store.Open(t.Context(), store.Options{Folder: filepath.Join(t.TempDir(), "state")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return &fixture{t: t, s: s}
}

func (w *fixture) mirror(o transcript.Options) *transcript.Mirror {
	if o.Store == nil {
		o.Store = func(context.Context) (*store.Store, error) { return w.s, nil }
	}
	o.Conversation, o.Now, o.RetryDelay = "c", func() time.Time { return noon }, time.Millisecond
	o.Log = slog.New(slog.NewTextHandler(&w.log, nil))
	return transcript.New(o)
}

// records returns the records of a thread, one line each.
func (w *fixture) records(thread string) []string {
	w.t.Helper()
	all, err := w.s.Records(context.Background(), thread, "")
	if err != nil {
		w.t.Fatal(err)
	}
	lines := []string{}
	for _, r := range all {
		words := strings.Fields(fmt.Sprintf("%s %s %d %s %s", r.Turn, r.Kind, r.Index, r.Name, r.State))
		lines = append(lines, fmt.Sprintf("%s %s | %s", r.Time.Format("15:04:05"), strings.Join(words, " "), strings.ReplaceAll(r.Text, "\n", "⏎")))
	}
	return lines
}

// A resumed thread adds only the records that the mirror does not have.
func TestResumeAddsOnlyMissingRecords(t *testing.T) {
	script, err := os.ReadFile("../../testdata/sessions/transcript.txt")
	if err != nil {
		t.Fatal(err)
	}
	w := newFixture(t)
	m := w.mirror(transcript.Options{})
	bridgetest.Start(t, m).Play("transcript.txt", string(script))
	m.Close(context.Background())
	want := []string{
		"12:00:01 u user 0 | good day⏎/w/picture.png⏎(image)",
		"12:00:02 u reasoning 0 | in short⏎at length",
		"12:00:00 u plan 0 | why⏎pending: one⏎completed: two",
		"12:00:03 u tool 0 shell failed | /bin/bash -lc 'echo API_TOKEN=<redacted>'⏎API_TOKEN=<redacted>",
		"12:00:03 u tool 1 apply_patch completed | /w/a.txt⏎+one",
		`12:00:03 u tool 2 issues/find completed | {"key":"<redacted>","q":"x"}⏎found`,
		"12:00:03 u tool 3 lookup completed | T-1⏎open",
		"12:00:04 u assistant 0 | hello",
		"12:00:05 v compaction 0 start | the thread is being summed up",
		"12:00:06 v compaction 1 end | the thread was summed up",
		"12:00:07 w assistant 0 | not heard before",
		"12:00:08 w assistant 1 | not heard before, either",
	}
	if diff := cmp.Diff(want, w.records("t")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	for _, ephemeral := range []string{"e", "child"} {
		if got := w.records(ephemeral); len(got) > 0 {
			t.Errorf("of the ephemeral thread %s is kept %q", ephemeral, got)
		}
	}
	if m.Dropped() != 0 || w.log.Len() > 0 {
		t.Errorf("%d lost\n%s", m.Dropped(), w.log.String())
	}
}

// sendMessages sends n messages of Codex to a Mirror's routes, without a proxy.
func sendMessages(t *testing.T, m *transcript.Mirror, n int) {
	t.Helper()
	line := fmt.Appendf(nil, `{"method":"item/completed","params":{"threadId":"t","turnId":"u","completedAtMs":1772366400000,"item":{"type":"agentMessage","id":"i%d","text":"text %d"}}}`, n, n)
	e, err := rpc.ParseEnvelope(line)
	if err != nil {
		t.Fatal(err)
	}
	for _, route := range m.Routes() {
		if route.Method == e.Method {
			route.HandleServer(t.Context(), &bridge.ServerMessage{Envelope: e, Line: line})
		}
	}
}

// Messages that come one after the other are stored together, also at the end.
func TestRecordsAreStoredInBatches(t *testing.T) {
	for _, closes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var stored atomic.Int64
			w := &fixture{t: t}
			m := w.mirror(transcript.Options{Store: func(context.Context) (*store.Store, error) {
				stored.Add(1)
				return nil, errors.New("no store")
			}})
			synctest.Wait() // it waits for a message
			sendMessages(t, m, 1)
			synctest.Wait()
			sendMessages(t, m, 2)
			synctest.Wait()
			if stored.Load() > 0 {
				t.Error("a message was stored alone")
			}
			if !closes {
				time.Sleep(time.Second)
				synctest.Wait()
				if stored.Load() == 0 {
					t.Error("nothing was stored after a second")
				}
			}
			m.Close(context.Background())
			if log := w.log.String(); !strings.Contains(log, "records=2") {
				t.Errorf("the log has\n%s", log)
			}
		})
	}
}

// After a batch the writer rests as long as it has worked, for a bounded time. It does not if the queue is half
// full, if it had to retry, or after Close.
func TestWriterRestsBetweenBatches(t *testing.T) {
	for name, test := range map[string]struct {
		works, want time.Duration
		messages    int
		maxMemory   int
		fails       bool // the first try
		closes      bool
	}{
		"a fast store":          {works: 30 * time.Millisecond, want: 60 * time.Millisecond, messages: 300},
		"a slow store":          {works: 10 * time.Second, want: 10*time.Second + 100*time.Millisecond, messages: 300},
		"half of the messages":  {works: 30 * time.Millisecond, want: 30 * time.Millisecond, messages: 256 + 8192},
		"less than half":        {works: 30 * time.Millisecond, want: 60 * time.Millisecond, messages: 256 + 8191},
		"half of the memory":    {works: 30 * time.Millisecond, want: 30 * time.Millisecond, messages: 1000, maxMemory: 180_000},
		"a store that recovers": {works: 30 * time.Millisecond, want: 30 * time.Millisecond, messages: 300, fails: true},
		"at the end":            {works: 30 * time.Millisecond, want: 30 * time.Millisecond, messages: 300, closes: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFixture(t)
				var begun []time.Time
				failed := !test.fails
				m := w.mirror(transcript.Options{MaxMemory: test.maxMemory, Store: func(context.Context) (*store.Store, error) {
					if !failed {
						failed = true
						return nil, errors.New("connection refused")
					}
					begun = append(begun, time.Now())
					time.Sleep(test.works)
					return w.s, nil
				}})
				synctest.Wait() // it waits for a message
				for n := range test.messages {
					sendMessages(t, m, n)
				}
				if !test.closes {
					time.Sleep(time.Minute)
				}
				m.Close(context.Background())
				if len(begun) < 2 || begun[1].Sub(begun[0]) != test.want {
					t.Errorf("batches began at %v, want the first two %v apart", begun, test.want)
				}
				if m.Dropped() > 0 {
					t.Error(m.Dropped(), "were lost")
				}
			})
		})
	}
}

// No record is lost while the store can't be reached for a while.
func TestRecordsSurviveAnUnreachableStore(t *testing.T) {
	w := newFixture(t)
	var tries atomic.Int64
	recovered := make(chan struct{})
	m := w.mirror(transcript.Options{Store: func(context.Context) (*store.Store, error) {
		if n := tries.Add(1); n < 5 {
			return nil, errors.New("connection refused")
		} else if n == 5 {
			close(recovered)
		}
		return w.s, nil
	}})
	for n := range 3 {
		sendMessages(t, m, n)
	}
	<-recovered
	m.Close(context.Background())
	want := []string{"12:00:00 u assistant 0 | text 0", "12:00:00 u assistant 1 | text 1", "12:00:00 u assistant 2 | text 2"}
	if diff := cmp.Diff(want, w.records("t")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if log := w.log.String(); strings.Count(log, "connection refused") != 1 || !strings.Contains(log, "is stored again") {
		t.Errorf("the log has\n%s", log)
	}
}

// While the store is busy, messages beyond the limit are dropped without waiting, and the
// gap is recorded.
func TestDroppedMessagesAreRecordedAsAGap(t *testing.T) {
	w := newFixture(t)
	var once sync.Once
	began, free := make(chan struct{}), make(chan struct{})
	m := w.mirror(transcript.Options{MaxMemory: 1000, Store: func(context.Context) (*store.Store, error) {
		once.Do(func() { close(began) })
		<-free
		return w.s, nil
	}})
	sendMessages(t, m, 0)
	<-began
	for n := range 1000 {
		sendMessages(t, m, n+1)
	}
	close(free)
	m.Close(context.Background())
	got := w.records("t")
	lost := m.Dropped()
	if lost < 900 || int64(len(got)) != 1001-lost+1 {
		t.Fatalf("%d kept, %d lost", len(got), lost)
	}
	gaps := 0
	for _, line := range got {
		if line == fmt.Sprintf("12:00:00 gap 0 | %d messages are missing: they came faster than they could be kept", lost) {
			gaps++
		}
	}
	if gaps != 1 {
		t.Errorf("the gap of %d is not there once:\n%s", lost, strings.Join(got, "\n"))
	}
}

// A store that can't be reached does not delay Close.
func TestCloseDoesNotWaitForAnUnreachableStore(t *testing.T) {
	w := newFixture(t)
	m := w.mirror(transcript.Options{Store: func(context.Context) (*store.Store, error) { return nil, errors.New("connection refused") }})
	sendMessages(t, m, 0)
	m.Close(context.Background())
	if log := w.log.String(); !strings.Contains(log, "records of the transcript are lost") {
		t.Errorf("the log has\n%s", log)
	}
}
