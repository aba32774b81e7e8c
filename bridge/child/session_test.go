package child_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"codex-bridge.example/bridge/child"
)

func open(t *testing.T, stderr io.Writer, args ...string) *child.Session {
	t.Helper()
	s, err := child.Open(append([]string{os.Args[0], "child"}, args...), "", os.Environ(), stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Kill()
		<-s.Exited()
	})
	return s
}

func TestSession(t *testing.T) {
	var stderr bytes.Buffer
	s := open(t, &stderr, "echo")
	lines := bufio.NewReader(s)
	for _, want := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(s, want); err != nil {
			t.Fatal(err)
		}
		if got, err := lines.ReadString('\n'); err != nil || got != want {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if err := s.End(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	if s.Status() != "exit status 0" || stderr.String() != "end of input" {
		t.Errorf("%s, %q", s.Status(), stderr.String())
	}
	if _, err := lines.ReadByte(); err != io.EOF {
		t.Error(err)
	}
	if _, err := s.Write([]byte("x")); err == nil {
		t.Error("written to a child that has ended")
	}
	s.Kill()
	if err := s.End(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
}

func TestOpenWithoutProgram(t *testing.T) {
	for _, args := range [][]string{nil, {t.TempDir()}} {
		if s, err := child.Open(args, "", nil, io.Discard); err == nil {
			t.Errorf("%q was opened: %v", args, s)
		}
	}
}

// A child that ignores the end of its input and SIGTERM is killed; at once if ctx is done.
func TestSessionKillsUnresponsiveChild(t *testing.T) {
	s := open(t, io.Discard, "deaf")
	if _, err := bufio.NewReader(s).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.End(ctx, time.Hour); err != nil {
		t.Error(err)
	}
	if s.Status() == "exit status 0" {
		t.Error(s.Status())
	}
}

// The descendants of a child end with it, whether it is killed or ends by itself.
func TestSessionKillsDescendants(t *testing.T) {
	for _, parent := range []string{"stays", "goes"} {
		t.Run(parent, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if parent == "goes" { // perhaps before its child runs
				s := open(t, io.Discard, "parent", l.Addr().String(), parent)
				if rest, err := io.ReadAll(s); err != nil || len(rest) > 0 {
					t.Errorf("%q, %v", rest, err)
				}
				<-s.Exited()
				return
			}
			s := open(t, io.Discard, "parent", l.Addr().String(), parent)
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			s.Kill()
			if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") { // ends with the grandchild
				t.Error(err)
			}
		})
	}
}
