package bridgetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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

// Main implements TestMain. It fails a package whose tests leave a goroutine behind. The tests have
// an empty home folder instead of the developer's; see setHome. The test program also plays the
// roles, and Codex: a process that connects its streams to the test.
func Main(m *testing.M, roles ...Role) {
	for _, r := range roles {
		if len(os.Args) > 1 && os.Args[1] == r.Name {
			syscall.Exit(r.Run(os.Args[2:])) // os.Exit waits a second under the race detector
		}
	}
	PlayCodex()
	home, err := setHome()
	if err != nil {
		panic(err)
	}
	// These goroutines live as long as the process: the reaper of child processes, and the reader of a
	// client that does not close its input.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("codex-bridge.example/bridge/child.Start.func1.1"),
		goleak.IgnoreAnyFunction("codex-bridge.example/bridge.(*Proxy).fromClient"),
		goleak.Cleanup(func(status int) {
			_ = os.RemoveAll(home) // a temporary folder
			os.Exit(status)
		}))
}

// setHome makes a temporary folder, and sets it as the home folder of the process and its children.
// The folders of programs are below it. Tests that run the go command need another TestMain: its
// caches would be there, too.
func setHome() (home string, err error) {
	if home, err = os.MkdirTemp("", "home-"); err != nil {
		return "", err
	}
	for variable, path := range map[string]string{
		"HOME": "", "USERPROFILE": "", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state", "XDG_CACHE_HOME": ".cache", "CODEX_HOME": ".codex",
	} {
		err = errors.Join(err, os.Setenv(variable, filepath.Join(home, path)))
	}
	return home, err
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
