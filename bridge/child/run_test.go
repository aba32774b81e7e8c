package child_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"codex-bridge.example/bridge/bridgetest"
	"codex-bridge.example/bridge/child"
)

func TestMain(m *testing.M) {
	bridgetest.Main(m, bridgetest.Role{Name: "child", Run: be}, bridgetest.Role{Name: "serve", Run: serve})
}

// stray starts a child that leaves the group; nil on Windows, where none can.
var stray func(addresses ...string)

// findsOrphans reports whether strays of a child that has ended are found.
var findsOrphans bool

func be(args []string) int {
	what, args := args[0], args[1:]
	switch what {
	case "both":
		text, _ := io.ReadAll(os.Stdin)
		fmt.Printf("<%s>", text)
		fmt.Fprint(os.Stderr, strings.Repeat("x", 100)+"end")
		return 3
	case "parent": // starts a child that holds its output, and may end
		cmd := exec.Command(os.Args[0], "child", "held", args[0])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if args[1] == "stays" {
			_ = cmd.Wait()
		}
	case "leaves": // starts a child, and one that leaves the group if it would be found, and ends
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			panic(err)
		}
		cmd := exec.Command(os.Args[0], "child", "held", args[0], l.Addr().String())
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if findsOrphans {
			stray(args[0], l.Addr().String())
			_, _ = l.Accept()
		}
		_, _ = l.Accept()
		fmt.Print("answer")
	case "late": // ends before its child, which prints
		cmd := exec.Command(os.Args[0], "child", "rest")
		cmd.Stdout = os.Stdout
		if _, err := cmd.StdinPipe(); err != nil { // ends with this process
			panic(err)
		}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	case "rest":
		_, _ = io.Copy(io.Discard, os.Stdin)
		fmt.Print("the rest")
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "end of input")
	case "deaf": // ignores the end of its input and SIGTERM
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		select {}
	case "stray": // leaves a child in another session, and may end with its input
		stray(args[0])
		if len(args) > 1 {
			select {}
		}
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "held": // runs until the test closes the connection
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			panic(err)
		}
		if len(args) > 1 { // reports that it runs
			if _, err := net.Dial("tcp", args[1]); err != nil {
				panic(err)
			}
		}
		_, _ = io.Copy(io.Discard, conn)
	case "much":
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<12)); err != nil {
				return 0
			}
		}
	}
	return 0
}

func command(args ...string) child.Command {
	return child.Command{Args: append([]string{os.Args[0], "child"}, args...), Env: os.Environ(), MaxStdout: 1 << 16, MaxStderr: 10}
}

func TestRun(t *testing.T) {
	c := command("both")
	c.Stdin = []byte("in")
	got, err := child.Run(t.Context(), c)
	if err != nil || string(got.Stdout) != "<in>" || string(got.Stderr) != "xxxxxxxend" || got.Code != 3 {
		t.Errorf("%q %q %d, %v", got.Stdout, got.Stderr, got.Code, err)
	}
	if _, err := child.Run(t.Context(), command("much")); !errors.Is(err, child.ErrTooLong) {
		t.Error(err)
	}
	c.Args[0] = t.TempDir()
	if _, err := child.Run(t.Context(), c); err == nil {
		t.Error("a folder was run")
	}
}

// Run kills the descendants of a child, whether it still runs or not.
func TestRunKillsDescendants(t *testing.T) {
	for _, parent := range []string{"stays", "goes"} {
		t.Run(parent, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			ctx, cancel := context.WithCancelCause(t.Context())
			late := errors.New("late")
			ran := make(chan error)
			go func() {
				_, err := child.Run(ctx, command("parent", l.Addr().String(), parent))
				ran <- err
			}()
			conn, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			cancel(late)
			if err := <-ran; !errors.Is(err, late) {
				t.Error(err)
			}
			if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") { // ends with the grandchild
				t.Error(err)
			}
		})
	}
}

// With a Grace, Run returns soon after the child has ended, even if a descendant holds its
// output, and leaves no process.
func TestRunWithGrace(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := command("leaves", l.Addr().String())
	c.Grace = time.Millisecond
	ran := make(chan error)
	go func() {
		got, err := child.Run(t.Context(), c)
		if string(got.Stdout) != "answer" || got.Status != "exit status 0" {
			t.Errorf("%+v", got)
		}
		ran <- err
	}()
	left := 1
	if findsOrphans {
		left = 2
	}
	for range left {
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		defer func() {
			if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") { // ends with the descendant
				t.Error(err)
			}
		}()
	}
	if err := <-ran; err != nil {
		t.Error(err)
	}
}

// Output of a descendant after the child's end, as in a shell's pipeline, is read to its end.
func TestRunWithGraceReadsLateOutput(t *testing.T) {
	c := command("late")
	c.Grace = time.Hour
	if got, err := child.Run(t.Context(), c); err != nil || string(got.Stdout) != "the rest" {
		t.Errorf("%+v, %v", got, err)
	}
	c = command("both")
	c.Grace = time.Hour
	if got, err := child.Run(t.Context(), c); err != nil || string(got.Stdout) != "<>" || got.Status != "exit status 3" {
		t.Errorf("%+v, %v", got, err)
	}
}
