package bridgetest

import (
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

// Role is a program that the test program plays if its first argument is Name. Tests use it to start
// programs on systems without a shell.
type Role struct {
	Name string
	Run  func(args []string) int // gets the arguments after the name; returns the exit status
}

// Main implements TestMain. It fails a package whose tests leave a goroutine behind. The test program
// also plays the roles, and Codex: a process that connects its streams to the test.
func Main(m *testing.M, roles ...Role) {
	for _, r := range roles {
		if len(os.Args) > 1 && os.Args[1] == r.Name {
			syscall.Exit(r.Run(os.Args[2:])) // os.Exit waits a second under the race detector
		}
	}
	PlayCodex()
	// These goroutines live as long as the process: the reaper of child processes, and the reader of a
	// client that does not close its input.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("codex-bridge.example/bridge/child.Start.func1.1"),
		goleak.IgnoreAnyFunction("codex-bridge.example/bridge.(*Proxy).fromClient"))
}

// PlayCodex plays Codex and ends the process, if the process was started for that. A package whose
// TestMain does not call Main must call it.
func PlayCodex() {
	if path := os.Getenv(EnvSocket); path != "" {
		syscall.Exit(Relay(path)) // os.Exit waits a second under the race detector
	}
}

// Relay connects the streams of this process to a socket, and returns the exit status.
func Relay(socket string) int {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.UnixConn).CloseWrite()
	}()
	_, _ = io.Copy(os.Stdout, conn)
	return 0
}
