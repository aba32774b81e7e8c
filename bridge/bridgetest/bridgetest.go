// Package bridgetest plays conversations through a real Proxy between a scripted editor and a
// scripted Codex, from text files:
//
//	editor> {…}   the editor sends this line
//	codex<  {…}   Codex must receive this message next
//	codex>  {…}   Codex sends this line
//	editor< {…}   the editor must receive this message next
//	editor<= …    the same, byte for byte (also codex<=)
//	# …           a comment
//
// Messages are compared as JSON values. The string "$name" matches any value the first time, and
// then stands for that value, also in lines to send. "<text>" matches any string.
package bridgetest

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/codex"
)

// EnvSocket is the environment variable with the socket of the test; see PlayCodex.
const EnvSocket = "BRIDGETEST_SOCKET"

// timeout is for messages that must come. No result depends on its length.
const timeout = 20 * time.Second

// Conversation is a running proxy. The test controls both sides.
type Conversation struct {
	t      *testing.T
	editor peer
	codex  peer
	ended  chan struct{}
	names  map[string]any
}

type peer struct {
	name     string
	w        io.WriteCloser
	received chan string
}

// Start starts a proxy with features.
func Start(t *testing.T, features ...bridge.Feature) *Conversation {
	t.Helper()
	return StartAs(t, bridge.Options{Features: features})
}

// StartObserved is Start with an Observer.
func StartObserved(t *testing.T, tap bridge.Observer, features ...bridge.Feature) *Conversation {
	t.Helper()
	return StartAs(t, bridge.Options{Observer: tap, Features: features})
}

// StartAs is Start with options. It sets the options for the two sides.
func StartAs(t *testing.T, o bridge.Options) *Conversation {
	t.Helper()
	// The path of a socket has a short maximum length, but a test's folder may be long.
	dir, err := os.MkdirTemp("", "bt")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	path := filepath.Join(dir, "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// A pipe of the system buffers the editor's messages, as in real use.
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW := io.Pipe()
	o.In, o.Out = inR, outW
	o.MaxMessage, o.Grace, o.Log = 1<<20, timeout, slog.New(slog.DiscardHandler)
	c := &Conversation{t: t, ended: make(chan struct{}), names: make(map[string]any)}
	begun := make(chan error)
	go func() {
		runtime.LockOSThread() // until Codex has exited; see codex.Start
		defer runtime.UnlockOSThread()
		started, err := codex.Start(codex.Command{Path: self, Env: append(os.Environ(), EnvSocket+"="+path)})
		if err != nil {
			begun <- err
			return
		}
		o.Upstream = started
		p, err := bridge.NewProxy(o)
		begun <- err
		if err != nil {
			started.Kill()
			return
		}
		p.Run(context.Background(), nil)
		outW.Close()
		close(c.ended)
	}()
	if err := <-begun; err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.editor = peer{"editor", inW, lines(outR)}
	c.codex = peer{"codex", conn, lines(conn)}
	t.Cleanup(func() {
		inW.Close()
		conn.Close()
		for range c.editor.received { // until the proxy closes it
		}
		select {
		case <-c.ended:
		case <-time.After(timeout):
			t.Error("the proxy does not end")
		}
	})
	return c
}

// EditorSends sends a line of the editor.
func (c *Conversation) EditorSends(line string) { c.send(c.editor, line) }

// CodexSends sends a line of Codex.
func (c *Conversation) CodexSends(line string) { c.send(c.codex, line) }

// CodexSendsPart sends the start of a line of Codex.
func (c *Conversation) CodexSendsPart(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.codex.w, text); err != nil {
		c.t.Fatalf("codex: %v", err)
	}
}

func (c *Conversation) send(s peer, line string) {
	c.t.Helper()
	if _, err := io.WriteString(s.w, line+"\n"); err != nil {
		c.t.Fatalf("%s: %v", s.name, err)
	}
}

// EditorReceives returns the channel with the lines that the editor receives.
func (c *Conversation) EditorReceives() <-chan string { return c.editor.received }

// CodexReceives returns the channel with the lines that Codex receives.
func (c *Conversation) CodexReceives() <-chan string { return c.codex.received }

// StartTurn plays Codex's notification that a turn runs in a thread. Without it Codex asks nothing about the turn.
func (c *Conversation) StartTurn(thread, turn string) {
	c.t.Helper()
	started := fmt.Sprintf(`{"method":"turn/started","params":{"threadId":%q,"turn":{"id":%q,"items":[],"status":"inProgress"}}}`, thread, turn)
	c.Play("turn/started", "codex> "+started+"\neditor< "+started+"\n")
}

// Bind gives "$name" a value.
func (c *Conversation) Bind(name string, value any) { c.names[name] = value }

// CodexEnds ends Codex. The lines that the editor receives afterwards can still be played.
func (c *Conversation) CodexEnds() { c.codex.w.Close() }

func lines(r io.Reader) chan string {
	got := make(chan string, 1024)
	go func() {
		defer close(got)
		for b := bufio.NewReader(r); ; {
			line, err := b.ReadString('\n')
			if line != "" {
				got <- line
			}
			if err != nil {
				return
			}
		}
	}()
	return got
}

// Play plays a script. Failures contain name.
func (c *Conversation) Play(name string, script string) {
	c.t.Helper()
	n := 0
	for line := range strings.Lines(script) {
		n++
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		if err := c.step(verb, rest); err != nil {
			c.t.Fatalf("%s:%d: %s\n%v", name, n, line, err)
		}
	}
}

// NextToCodex returns the next n messages that Codex receives, sorted, if their order is undefined.
func (c *Conversation) NextToCodex(n int) []string {
	c.t.Helper()
	var all []string
	for range n {
		select {
		case got, ok := <-c.codex.received:
			if !ok {
				c.t.Fatal("codex receives nothing more")
			}
			all = append(all, strings.TrimSuffix(got, "\n"))
		case <-time.After(timeout):
			c.t.Fatalf("codex receives nothing; %s", c.pending())
		}
	}
	slices.Sort(all)
	return all
}

func (c *Conversation) step(verb, text string) error {
	s := &c.editor
	if strings.HasPrefix(verb, "codex") {
		s = &c.codex
	}
	switch strings.TrimPrefix(verb, s.name) {
	case ">":
		text, err := c.replaceNames(text)
		if err == nil {
			_, err = io.WriteString(s.w, text+"\n")
		}
		return err
	case "<", "<=":
		select {
		case got, ok := <-s.received:
			if !ok {
				return fmt.Errorf("%s receives nothing more", s.name)
			}
			if got = strings.TrimSuffix(got, "\n"); isUnexpectedNotice(text, got) || s == &c.codex && c.answersConfigRead(text, got) {
				return c.step(verb, text)
			}
			if strings.HasSuffix(verb, "=") {
				if text, err := c.replaceNames(text); err != nil || got != text {
					return errors.Join(err, fmt.Errorf("%s receives\n%s", s.name, got))
				}
				return nil
			}
			return c.compare(text, got)
		case <-time.After(timeout):
			return fmt.Errorf("%s receives nothing; %s", s.name, c.pending())
		}
	}
	return fmt.Errorf("unknown step")
}

// isUnexpectedNotice reports whether got is a notice for the user in place of another line. A script
// has only the notices that it is about.
func isUnexpectedNotice(want, got string) bool {
	const notice = `"method":"configWarning"`
	return strings.Contains(got, notice) && !strings.Contains(want, notice)
}

// answersConfigRead answers the bridge's question for Codex's configuration if a script has another
// line in its place: the configuration is empty.
func (c *Conversation) answersConfigRead(want, got string) bool {
	const question = `"method":"config/read"`
	if !strings.Contains(got, question) || strings.Contains(want, question) {
		return false
	}
	var m struct{ ID json.RawMessage }
	if json.Unmarshal([]byte(got), &m) != nil {
		return false
	}
	_, err := fmt.Fprintf(c.codex.w, `{"id":%s,"result":{"config":{},"layers":[]}}`+"\n", m.ID)
	return err == nil
}

// replaceNames replaces bound names by their values.
func (c *Conversation) replaceNames(text string) (string, error) {
	for name, value := range c.names {
		raw, err := json.Marshal(value)
		if err != nil {
			return "", err
		}
		text = strings.ReplaceAll(text, `"$`+name+`"`, string(raw))
	}
	return text, nil
}

// pending returns the messages that were received and not expected.
func (c *Conversation) pending() string {
	var all []string
	for _, s := range []peer{c.editor, c.codex} {
		select {
		case got := <-s.received:
			all = append(all, s.name+" has received "+got)
		default:
		}
	}
	return strings.Join(all, "; ")
}

func (c *Conversation) compare(want, got string) error {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return fmt.Errorf("the script's JSON: %w", err)
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return fmt.Errorf("not JSON: %s", got)
	}
	w = c.bindNames(w, g)
	if diff := cmp.Diff(w, g); diff != "" {
		return fmt.Errorf("got %s\n(-want +got)\n%s", got, diff)
	}
	return nil
}

// bindNames replaces "$name" and "<text>" in want, and binds new names.
func (c *Conversation) bindNames(want, got any) any {
	switch w := want.(type) {
	case string:
		if name, ok := strings.CutPrefix(w, "$"); ok {
			if value, known := c.names[name]; known {
				return value
			}
			c.names[name] = got
			return got
		}
		if _, isText := got.(string); w == "<text>" && isText {
			return got
		}
	case map[string]any:
		if g, ok := got.(map[string]any); ok {
			for key, value := range w {
				if member, there := g[key]; there {
					w[key] = c.bindNames(value, member)
				}
			}
		}
	case []any:
		if g, ok := got.([]any); ok {
			for i := range min(len(w), len(g)) {
				w[i] = c.bindNames(w[i], g[i])
			}
		}
	}
	return want
}
