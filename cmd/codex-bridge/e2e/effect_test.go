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

// The effects of attacks.

// hasMarker: the marker file exists.
func hasMarker(s *attackRun) bool { return fileExists(filepath.Join(s.out, "marker")) }

// victimChanged: the victim was changed.
func victimChanged(s *attackRun) bool {
	b, err := os.ReadFile(filepath.Join(s.out, "victim"))
	return err != nil || string(b) != victim
}

// configChanged: the user's configuration of Codex was changed.
func configChanged(s *attackRun) bool { return !bytes.Equal(s.codex, s.config()) }

// connected: a process connected to the listener.
func connected(s *attackRun) bool { return len(s.line.lines()) > 0 }

// calledHost: a process asked the proxy for a host of that name.
func calledHost(host string) effect {
	return func(s *attackRun) bool {
		return slices.ContainsFunc(s.wayOut.lines(), func(line string) bool { return strings.Contains(line, host) })
	}
}

// gotResult: Codex responded with a result.
func gotResult(s *attackRun) bool {
	for _, m := range s.Messages()[s.from:] {
		if !m.Sent && m.IsAnswer() && m.Error == nil && string(m.ID) == strconv.Quote(s.name) {
			return true
		}
	}
	return false
}

// reachedModel: the model got the attack's word.
func reachedModel(s *attackRun) bool {
	for _, r := range s.model.Requests() {
		if bytes.Contains(r.Body, []byte(s.word)) {
			return true
		}
	}
	return false
}

// clientReceives: Codex sends one of the texts to the client.
func clientReceives(texts ...string) effect {
	return func(s *attackRun) bool {
		heard := s.receivedText()
		for _, text := range texts {
			if strings.Contains(heard, s.fill.Replace(text)) {
				return true
			}
		}
		return false
	}
}

// readSecret: the client read the user's key.
func readSecret(s *attackRun) bool {
	return strings.Contains(s.receivedText(), base64.StdEncoding.EncodeToString([]byte(s.secretText())))
}

// clientLearnsName: the client received the name of the key.
var clientLearnsName = clientReceives(`"fileName":"key-$WORD"`, `"file_name":"key-$WORD"`)

// createsFile: a file of that name exists.
func createsFile(name string) effect {
	return func(s *attackRun) bool { return fileExists(s.fill.Replace(name)) }
}

// listener records the first line of each connection.
type listener struct {
	port string

	mu   sync.Mutex
	said []string
}

// listen opens a listener on the loopback interface that never responds.
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
			serving.Go(func() { line.handle(c) })
		}
	})
	t.Cleanup(func() { l.Close(); serving.Wait() })
	return line
}

func (l *listener) handle(c net.Conn) {
	defer c.Close()
	text, _ := bufio.NewReader(io.LimitReader(c, 4096)).ReadString('\n') // an empty connection counts too
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said = append(l.said, text)
}

func (l *listener) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.said)
}
