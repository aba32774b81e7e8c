//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The effects that an attack may have.

// marked: its marker is there.
func marked(s *assault) bool { return fileExists(filepath.Join(s.out, "marker")) }

// lost: the victim is not what it was.
func lost(s *assault) bool {
	b, err := os.ReadFile(filepath.Join(s.out, "victim"))
	return err != nil || string(b) != victim
}

// configured: the user's configuration of codex is not what it was.
func configured(s *assault) bool { return !bytes.Equal(s.codex, s.config()) }

// connected: somebody has called the listener.
func connected(s *assault) bool { return len(s.line.lines()) > 0 }

// called: somebody has asked the world's way out for a host of that name.
func called(host string) effect {
	return func(s *assault) bool {
		return slices.ContainsFunc(s.wayOut.lines(), func(line string) bool { return strings.Contains(line, host) })
	}
}

// taken: codex has answered the attack with a result.
func taken(s *assault) bool {
	for _, m := range s.Messages()[s.from:] {
		if !m.Sent && m.IsAnswer() && m.Error == nil && string(m.ID) == strconv.Quote(s.name) {
			return true
		}
	}
	return false
}

// heardByModel: the attack's word has come before the model.
func heardByModel(s *assault) bool {
	for _, r := range s.model.Requests() {
		if bytes.Contains(r.Body, []byte(s.word)) {
			return true
		}
	}
	return false
}

// tells: codex says one of the texts to the client.
func tells(texts ...string) effect {
	return func(s *assault) bool {
		heard := s.heard()
		for _, text := range texts {
			if strings.Contains(heard, s.fill.Replace(text)) {
				return true
			}
		}
		return false
	}
}

// secret: the client has read the user's key.
func secret(s *assault) bool {
	return strings.Contains(s.heard(), base64.StdEncoding.EncodeToString([]byte(s.secret())))
}

// named: the client has learnt its name.
var named = tells(`"fileName":"key-$WORD"`, `"file_name":"key-$WORD"`)

// file: there is a file of that name.
func file(name string) effect {
	return func(s *assault) bool { return fileExists(s.fill.Replace(name)) }
}

// listener keeps the first line that each caller says.
type listener struct {
	port string

	mu   sync.Mutex
	said []string
}

// listen opens a listener on the loopback interface, which answers nothing.
func listen(t *testing.T) *listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	line := &listener{port: port}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return // closed below
			}
			serving.Go(func() { line.hear(c) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return line
}

func (l *listener) hear(c net.Conn) {
	defer c.Close()
	text, _ := bufio.NewReader(io.LimitReader(c, 4096)).ReadString('\n') // nothing at all is a call, too
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, text)
}

func (l *listener) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.said)
}
