package child_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"codex-bridge/bridge/child"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "child" {
		be(os.Args[2], os.Args[3:])
		return
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("codex-bridge/bridge/child.Start.func1.1")) // the reaper lives as long as the process
}

func be(what string, args []string) {
	switch what {
	case "both":
		text, _ := io.ReadAll(os.Stdin)
		fmt.Printf("<%s>", text)
		fmt.Fprint(os.Stderr, strings.Repeat("x", 100)+"end")
		os.Exit(3)
	case "parent": // ends at once, or not, and leaves one behind that holds its output
		cmd := exec.Command(os.Args[0], "child", "held", args[0])
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		if args[1] == "stays" {
			_ = cmd.Wait()
		}
	case "held": // until the test closes the connection
		conn, err := net.Dial("tcp", args[0])
		if err != nil {
			panic(err)
		}
		_, _ = io.Copy(io.Discard, conn)
	case "much":
		for {
			if _, err := fmt.Print(strings.Repeat("x", 1<<12)); err != nil {
				return
			}
		}
	}
}

func command(args ...string) child.Command {
	return child.Command{Args: append([]string{os.Args[0], "child"}, args...), Env: os.Environ(), Max: 1 << 16, Tail: 10}
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

// What the child has started goes with it, whether the child itself still runs or not.
func TestRunEndsTheTree(t *testing.T) {
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
			if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") { // ends when the grandchild does
				t.Error(err)
			}
		})
	}
}
