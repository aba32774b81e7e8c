//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/decision"
	"codex-bridge.example/bridge/store"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/rpc"
)

// These tests play the vectors through the program: the features that app-server assembles, between
// a scripted Codex and the client of codex-bridge run.

// The thread, the turn and the session of a case that names none.
const (
	vectorThread  = "thread-1"
	vectorTurn    = "turn-1"
	vectorSession = "agent:main:session-1"
)

// terminal is the client of codex-bridge run, with a scripted user.
type terminal struct {
	t       *testing.T
	codex   *bridgetest.Conversation
	screen  *follow.Screen
	session string // that the user's cards name
	ids     int
	log     func() []decision.Entry // the decisions so far
}

// atTerminal starts the program's features with this configuration, and a client that knows the
// bridge and asks its user.
func atTerminal(t *testing.T, configuration string) *terminal {
	t.Helper()
	return connected(t, configuration, true)
}

// connected is atTerminal for a client that may not answer approvals.
func connected(t *testing.T, configuration string, answers bool) *terminal {
	t.Helper()
	played, record := assembleFor(t, configuration)
	c := &terminal{t: t, codex: played, session: vectorSession}
	c.log = func() (all []decision.Entry) {
		s, err := record.Store(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for e, err := range s.Decisions(t.Context(), store.Filter{}) {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		return all
	}
	c.codex.EditorSends(fmt.Sprintf(`{"id":"hello","method":"initialize","params":{"clientInfo":{"name":"t","version":"1"},"capabilities":{"experimentalApi":true,"bridge":{"version":1,"approvals":%t}}}}`, answers))
	c.reply(`{}`)
	c.next(c.codex.EditorReceives()) // the answer
	c.screen = &follow.Screen{Out: io.Discard, Err: io.Discard, Now: time.Now}
	return c
}

// reply answers the next request to Codex and returns that request.
func (c *terminal) reply(result string) *rpc.Envelope {
	c.t.Helper()
	asked := c.next(c.codex.CodexReceives())
	c.codex.CodexSends(string(rpc.EncodeResult(asked.ID, json.RawMessage(result))))
	return asked
}

func (c *terminal) next(from <-chan string) *rpc.Envelope {
	c.t.Helper()
	select {
	case line := <-from:
		e, err := rpc.ParseEnvelope([]byte(strings.TrimSpace(line)))
		if err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		return e
	case <-time.After(waitTime()):
		c.t.Fatal("no message in time")
		return nil
	}
}

// turn sends turn/started and waits until the client receives it.
func (c *terminal) turn(thread, turn string) {
	c.t.Helper()
	c.codex.CodexSends(fmt.Sprintf(`{"method":"turn/started","params":{"threadId":%q,"turn":{"id":%q,"items":[],"status":"inProgress"}}}`, thread, turn))
	for {
		e := c.next(c.codex.EditorReceives())
		c.screen.Show(e.Method, e.Root().Get("params"))
		if e.Method == "turn/started" {
			return
		}
	}
}

// reaction is the user's reaction to a question.
type reaction struct {
	line string
	err  error // no input: io.EOF at the end of the input, context.Canceled if the turn was interrupted
}

// ask sends a request of Codex. It returns the response that Codex receives and the text that the
// user saw: "" if the bridge did not ask.
func (c *terminal) ask(method string, params json.RawMessage, does reaction) (answer rpc.Value, shown string) {
	c.t.Helper()
	c.ids++
	c.codex.CodexSends(string(rpc.EncodeRequest(mustID(c.t, c.ids), method, compact(c.t, params))))
	for {
		select {
		case line := <-c.codex.CodexReceives():
			e, err := rpc.ParseEnvelope([]byte(strings.TrimSpace(line)))
			if err != nil {
				c.t.Fatal(err)
			}
			return e.Root(), shown
		case line := <-c.codex.EditorReceives():
			e, err := rpc.ParseEnvelope([]byte(strings.TrimSpace(line)))
			if err != nil {
				c.t.Fatal(err)
			}
			if !e.ID.IsValid() {
				c.screen.Show(e.Method, e.Root().Get("params"))
				continue
			}
			shown = c.answerAsUser(e, does)
		case <-time.After(waitTime()):
			c.t.Fatalf("%s got no response", method)
		}
	}
}

// compact returns JSON on one line.
func compact(t *testing.T, text json.RawMessage) json.RawMessage {
	t.Helper()
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return line.Bytes()
}

func mustID(t *testing.T, n int) rpc.ID {
	t.Helper()
	doc, err := rpc.ParseValue(fmt.Append(nil, n))
	if err != nil {
		t.Fatal(err)
	}
	id, _ := rpc.ParseID(doc.Root())
	return id
}

// answerAsUser answers a request as codex-bridge run does for its user.
func (c *terminal) answerAsUser(e *rpc.Envelope, does reaction) (shown string) {
	c.t.Helper()
	in, keys := io.Pipe()
	defer keys.Close()
	ctx, interrupt := context.WithCancel(c.t.Context())
	defer interrupt()
	desk := &typist{act: func() {
		switch {
		case errors.Is(does.err, context.Canceled):
			interrupt()
		case does.err == nil:
			_, _ = io.WriteString(keys, does.line+"\n")
			keys.Close()
		default:
			keys.Close()
		}
	}}
	c.screen.Err = desk
	person := follow.NewPerson(c.screen, in, c.session)
	result, ok := person.Answer(ctx, e.Method, e.Root().Get("params"))
	if ok && os.Getenv(withoutFeature) != fmt.Sprintf("%T", person) {
		c.codex.EditorSends(string(rpc.EncodeResult(e.ID, result)))
	} else {
		c.codex.EditorSends(string(rpc.EncodeError(e.ID, rpc.Errorf(rpc.CodeUnknownMethod, "not answered here"))))
	}
	return desk.String()
}

// typist acts when the bridge shows something.
type typist struct {
	act func()

	mu   sync.Mutex
	text bytes.Buffer
	once sync.Once
}

func (p *typist) Write(b []byte) (int, error) {
	p.once.Do(func() { go p.act() })
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

func (p *typist) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// sameJSON compares JSON values; "<text>" matches any text that is not empty.
func sameJSON(t *testing.T, want, got json.RawMessage) {
	t.Helper()
	var w, g any
	if err := json.Unmarshal(want, &w); err != nil {
		t.Fatalf("%s: %v", want, err)
	}
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	if diff := cmp.Diff(w, g, masked); diff != "" {
		t.Errorf("the answer (-want +got):\n%s", diff)
	}
}

// masked is an option of cmp.Diff for a vector and a value: "<text>" matches any text that is not
// empty.
var masked = cmp.FilterValues(func(a, b string) bool {
	return a == "<text>" && b != "" || b == "<text>" && a != ""
}, cmp.Ignore())

// isLike reports whether got is the text of a vector, in which "<text>" stands for any text that is
// not empty.
func isLike(want, got string) bool { return likeText(want, "$").MatchString(got) }

// startsLike reports whether got starts with the text of a vector.
func startsLike(want, got string) bool { return likeText(want, "").MatchString(got) }

func likeText(want, end string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.ReplaceAll(regexp.QuoteMeta(want), "<text>", ".+") + end)
}
