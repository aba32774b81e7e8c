//go:build unix

package child_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
)

func init() {
	stray = func(addresses ...string) {
		cmd := exec.Command(os.Args[0], append([]string{"child", "held"}, addresses...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
}

// sessionEnds are the ways in which a session ends.
var sessionEnds = map[string]sessionEnd{
	"end of input": {"exit status 0", func(s *child.Session, _ string) error { return s.End(context.Background(), time.Minute) }},
	"Kill":         {"signal: killed", func(s *child.Session, _ string) error { s.Kill(); return nil }},
}

// sessionEnd ends a session whose child has the argument address.
type sessionEnd struct {
	status string
	end    func(s *child.Session, address string) error
}

// listenForStray returns a listener for a stray, and a function that waits for the stray's
// connection and returns one that waits for its end.
func listenForStray(t *testing.T) (address string, accept func() (awaitEnd func())) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), func() func() {
		t.Helper()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() }) // ends a stray that was not killed
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		return func() {
			t.Helper()
			if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Error(err)
			}
		}
	}
}

// Descendants that have left the group are killed, too.
func TestSessionEndsStrays(t *testing.T) {
	for name, c := range sessionEnds {
		t.Run(name, func(t *testing.T) {
			address, accept := listenForStray(t)
			s := open(t, io.Discard, "stray", address)
			awaitEnd := accept()
			if err := c.end(s, address); err != nil {
				t.Error(err)
			}
			awaitEnd()
			<-s.Exited()
			if s.Status() != c.status {
				t.Errorf("%s, and not %s", s.Status(), c.status)
			}
		})
	}
}

// Run kills such descendants when its time is up.
func TestRunKillsStrays(t *testing.T) {
	address, accept := listenForStray(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	late := errors.New("late")
	ran := make(chan error)
	c := command("stray", address, "stays")
	go func() {
		_, err := child.Run(ctx, c)
		ran <- err
	}()
	awaitEnd := accept()
	cancel(late)
	if err := <-ran; !errors.Is(err, late) {
		t.Error(err)
	}
	awaitEnd()
}
