package hook_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"codex-bridge.example/relay/hook"
)

// Invalid answers and panics are denials, even with --on-failure allow.
func TestInvalidAnswersAndPanicsAreDenials(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(context.Context, *hook.Call) hook.Answer
		want   string
	}{
		"panic":   {func(context.Context, *hook.Call) hook.Answer { panic("lost") }, "internal error"},
		"unknown": {func(context.Context, *hook.Call) hook.Answer { return hook.Answer{Decision: "ask"} }, "its answer is invalid"},
		"input": {func(context.Context, *hook.Call) hook.Answer { return hook.Answer{Input: json.RawMessage("{")} },
			"its answer is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			var log lockedBuffer
			s := listen(t, hook.Options{Decide: c.decide, Log: slog.New(slog.NewTextHandler(&log, nil))})
			for e, o := range askAll(t, s.Socket(), longTimeout, "--on-failure", "allow") {
				if reason := checkDenial(t, e, o); e.Decides() && !strings.Contains(reason, c.want) {
					t.Errorf("%s: %q", e, reason)
				}
			}
			if n := strings.Count(log.String(), "level=ERROR"); n != len(hook.Events()) {
				t.Errorf("%d errors were logged:\n%s", n, log.String())
			}
		})
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// A bad request gets an error that does not reveal the tokens.
func TestServerRejectsBadRequests(t *testing.T) {
	decided := false
	s := listen(t, hook.Options{Decide: func(_ context.Context, call *hook.Call) hook.Answer {
		decided = decided || call.Unreadable == nil
		return hook.Answer{}
	}})
	text, err := os.ReadFile(filepath.Join(filepath.Dir(s.Socket()), hook.TokenName))
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(string(text), "\n")
	for name, params := range map[string]string{
		"no token":          `{"event":"pre_tool_use","timeoutMs":1000,"payload":""}`,
		"wrong token":       `{"token":"x","event":"pre_tool_use","timeoutMs":1000}`,
		"the answer's":      `{"token":"` + words[1] + `","event":"pre_tool_use","timeoutMs":1000}`,
		"no event":          `{"token":"` + words[0] + `","timeoutMs":1000}`,
		"another event":     `{"token":"` + words[0] + `","event":"session_start","timeoutMs":1000}`,
		"no time":           `{"token":"` + words[0] + `","event":"stop"}`,
		"unreadable":        `{"token":"` + words[0] + `","event":"stop","timeoutMs":1000,"payload":"e25vcGU="}`,
		"payload no base64": `{"token":"` + words[0] + `","event":"stop","timeoutMs":1000,"payload":"{}"}`,
		"no tool":           `{"token":"` + words[0] + `","event":"pre_tool_use","timeoutMs":1000}`,
		"null":              `null`,
		"nothing":           ``,
	} {
		conn := dial(t, s)
		line := `{"jsonrpc":"2.0","id":1,"method":"hook"}`
		if params != "" {
			line = `{"jsonrpc":"2.0","id":1,"method":"hook","params":` + params + `}`
		}
		if _, err := conn.Write([]byte(line + "\n")); err != nil {
			t.Fatal(err)
		}
		said, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(said, `"error"`) || strings.Contains(said, words[0]) || strings.Contains(said, words[1]) {
			t.Errorf("%s: %q, %v", name, said, err)
		}
	}
	if decided {
		t.Error("it was decided")
	}
}

// The server closes the connection of a process that sends more than the limit.
func TestServerClosesOversizedRequest(t *testing.T) {
	s := listen(t, hook.Options{})
	conn := dial(t, s)
	much := bytes.Repeat([]byte(" "), 1<<20)
	for range 1000 {
		if _, err := conn.Write(much); err != nil {
			return
		}
	}
	t.Error("1 GiB was taken")
}

// Connections that send nothing delay neither other processes nor Close.
func TestSilentProcessDelaysNoOther(t *testing.T) {
	s := listen(t, hook.Options{Decide: denyCall})
	for range 50 {
		dial(t, s)
	}
	if reason := checkDenial(t, hook.PreToolUse, ask(t, s.Socket(), hook.PreToolUse, longTimeout)); reason != "call-1" {
		t.Errorf("%q", reason)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// The context of a call ends when its process is gone.
func TestContextEndsWhenProcessIsGone(t *testing.T) {
	asked, ended := make(chan struct{}), make(chan struct{})
	s := listen(t, hook.Options{Decide: func(ctx context.Context, _ *hook.Call) hook.Answer {
		close(asked)
		<-ctx.Done()
		close(ended)
		return hook.Answer{}
	}})
	text, err := os.ReadFile(filepath.Join(filepath.Dir(s.Socket()), hook.TokenName))
	if err != nil {
		t.Fatal(err)
	}
	conn := dial(t, s)
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "hook", "params": map[string]any{
		"token": strings.Split(string(text), "\n")[0], "event": "stop", "timeoutMs": time.Hour.Milliseconds(), "payload": []byte(payload(hook.Stop, "c")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	<-asked
	conn.Close()
	<-ended
}

// Listen removes folders of dead servers, and keeps those of live servers and unknown
// files.
func TestListenRemovesStaleFolders(t *testing.T) {
	base := folder(t)
	alive := listen(t, hook.Options{Folder: base, Decide: denyCall})
	at := func(names ...string) string { return filepath.Join(append([]string{base}, names...)...) }
	old := time.Now().Add(-2 * hook.MaxStartupAge)
	for name, age := range map[string]time.Time{"making": time.Now(), "made": old} {
		if err := os.Mkdir(at(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at(name), age, age); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(at("elsewhere"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at("elsewhere", "hook.sock"), []byte("no socket"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(at("elsewhere"), old, old); err != nil {
		t.Fatal(err)
	}
	next := listen(t, hook.Options{Folder: base, Decide: denyCall})
	for name, there := range map[string]bool{"making": true, "made": false, "file": true, "elsewhere": true} {
		if _, err := os.Stat(at(name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, s := range []*hook.Server{alive, next} {
		if reason := checkDenial(t, hook.PreToolUse, ask(t, s.Socket(), hook.PreToolUse, longTimeout)); reason != "call-1" {
			t.Errorf("%q", reason)
		}
	}
}

func TestServerCloseTwice(t *testing.T) {
	s := listen(t, hook.Options{})
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
