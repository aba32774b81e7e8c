// Package bridgetest plays conversations through a real Proxy between a scripted
// editor and a scripted codex, from text files:
//
//	editor> {…}   the editor sends this line
//	codex<  {…}   codex must get this message, and none before it
//	codex>  {…}   codex sends this line
//	editor< {…}   the editor must get this message, and none before it
//	editor<= …    the same, byte for byte (also codex<=)
//	# …           a remark
//
// Messages are compared as JSON values. A string "$name" stands for any value
// the first time, and for that same value from then on, also in what is sent;
// "<text>" for any text.
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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"codex-bridge/bridge"
	"codex-bridge/bridge/codex"
)

// EnvSocket is the variable with the socket of the test that plays Codex; see PlayCodex.
const EnvSocket = "BRIDGETEST_SOCKET"

// patience is for messages that must come; nothing depends on its length.
const timeout = 20 * time.Second

// Conversation is a running proxy with both its sides in the test's hands.
type Conversation struct {
	t      *testing.T
	editor peer
	codex  peer
	ended  chan error
	names  map[string]any
}

type peer struct {
	name     string
	w        io.WriteCloser
	received chan string
}

// Start starts a proxy with these features.
func Start(t *testing.T, features ...bridge.Feature) *Conversation {
	t.Helper()
	return StartAs(t, bridge.Options{Features: features})
}

// Tapped is Start with a Tap.
func StartObserved(t *testing.T, tap bridge.Observer, features ...bridge.Feature) *Conversation {
	t.Helper()
	return StartAs(t, bridge.Options{Observer: tap, Features: features})
}

// StartAs is Start with options: all but the two sides, which are the test's.
func StartAs(t *testing.T, o bridge.Options) *Conversation {
	t.Helper()
	// A socket's path is short by nature, a test's folder may not be.
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
	// The editor's messages wait in a pipe of the system's, as they do in life.
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW := io.Pipe()
	o.In, o.Out = inR, outW
	o.Command = codex.Command{Path: self, Env: append(os.Environ(), EnvSocket+"="+path)}
	o.MaxMessage, o.Grace, o.Log = 1<<20, timeout, slog.New(slog.DiscardHandler)
	p, err := bridge.NewProxy(o)
	if err != nil {
		t.Fatal(err)
	}
	c := &Conversation{t: t, ended: make(chan error, 1), names: make(map[string]any)}
	go func() {
		_, err := p.Run(context.Background(), nil)
		outW.Close()
		c.ended <- err
	}()
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.editor = peer{"editor", inW, lines(outR)}
	c.codex = peer{"codex", conn, lines(conn)}
	t.Cleanup(func() {
		inW.Close()
		conn.Close()
		for range c.editor.received { // until the proxy has closed it
		}
		select {
		case err := <-c.ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(timeout):
			t.Error("the proxy does not end")
		}
	})
	return c
}

// EditorSays and CodexSays send a line, for a test that is no script.
func (c *Conversation) EditorSends(line string) { c.send(c.editor, line) }

// CodexSays is EditorSays for the other side.
func (c *Conversation) CodexSends(line string) { c.send(c.codex, line) }

// CodexSaysPart is CodexSays for the beginning of a line.
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

// EditorHears and CodexHears have what has come to a side, a line each.
func (c *Conversation) EditorReceives() <-chan string { return c.editor.received }

// CodexHears is EditorHears for the other side.
func (c *Conversation) CodexReceives() <-chan string { return c.codex.received }

// Bind gives "$name" a value.
func (c *Conversation) Bind(name string, value any) { c.names[name] = value }

// CodexEnds has codex end; what the editor gets of that can still be played.
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

// Play plays a script; name is what failures call it.
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

// CodexGets are the next messages that codex gets, sorted: for those that come in no
// order.
func (c *Conversation) NextToCodex(n int) []string {
	c.t.Helper()
	var all []string
	for range n {
		select {
		case got, ok := <-c.codex.received:
			if !ok {
				c.t.Fatal("codex gets nothing more")
			}
			all = append(all, strings.TrimSuffix(got, "\n"))
		case <-time.After(timeout):
			c.t.Fatalf("codex gets nothing; %s", c.pending())
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
				return fmt.Errorf("%s gets nothing more", s.name)
			}
			got = strings.TrimSuffix(got, "\n")
			if strings.HasSuffix(verb, "=") {
				if text, err := c.replaceNames(text); err != nil || got != text {
					return errors.Join(err, fmt.Errorf("%s gets\n%s", s.name, got))
				}
				return nil
			}
			return c.compare(text, got)
		case <-time.After(timeout):
			return fmt.Errorf("%s gets nothing; %s", s.name, c.pending())
		}
	}
	return fmt.Errorf("no such step")
}

// fill puts values in the place of the names that are bound.
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

// pending is what has come and was not asked for.
func (c *Conversation) pending() string {
	var all []string
	for _, s := range []peer{c.editor, c.codex} {
		select {
		case got := <-s.received:
			all = append(all, s.name+" has got "+got)
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

// bind puts what is meant in the place of "$name" and "<text>".
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
