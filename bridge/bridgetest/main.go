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

// Role is what the test program is when the first argument that it is started with is the
// role's name: what a test starts has to run where there is no shell.
type Role struct {
	Name string
	Run  func(args []string) int // those behind the name; the exit status
}

// Main is for TestMain. It fails a package whose tests leave a goroutine behind. The test
// program is also its own scripted codex, a process that passes its streams to the test, and
// plays the roles.
func Main(m *testing.M, roles ...Role) {
	for _, r := range roles {
		if len(os.Args) > 1 && os.Args[1] == r.Name {
			syscall.Exit(r.Run(os.Args[2:])) // os.Exit waits a second under the race detector
		}
	}
	PlayCodex()
	// What lives as long as the process: who reaps its children, and who reads a client that
	// never leaves.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("codex-bridge/bridge/child.Start.func1.1"),
		goleak.IgnoreAnyFunction("codex-bridge/bridge.(*Proxy).fromClient"))
}

// PlayCodex ends this process as the scripted codex of a test, if it was started as that. A
// package whose TestMain is not Main calls it there.
func PlayCodex() {
	if path := os.Getenv(EnvSocket); path != "" {
		syscall.Exit(Relay(path)) // os.Exit waits a second under the race detector
	}
}

// HandOver passes the streams of this process to who listens at a socket, and returns what it
// is to exit with.
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
