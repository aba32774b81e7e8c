package hook_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"codex-bridge.example/relay/hook"
)

// acceptOne listens with a token, prints the address, and then whether it accepts a connection. An argument
// "network" allows commands the network, "later" does so after the start, and "dial" makes this process its
// own client.
func acceptOne(folder string) int {
	var network atomic.Bool
	network.Store(slices.Contains(os.Args, "network"))
	l, err := hook.ListenTCP("127.0.0.1:0", filepath.Join(folder, "token"), network.Load, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer l.Close()
	fmt.Println(l.Addr())
	network.Store(network.Load() || slices.Contains(os.Args, "later"))
	client := io.Reader(os.Stdin) // ends when the parent is rejected
	if slices.Contains(os.Args, "dial") {
		if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, client)
		fmt.Println("rejected")
		os.Exit(0)
	}()
	if _, err := l.Accept(); err == nil {
		fmt.Println("accepted")
	}
	return 0
}

// checkAccepts starts a process that runs acceptOne with the arguments, connects to it unless it connects
// itself, and compares what it says.
func checkAccepts(t *testing.T, want string, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], slices.Concat([]string{"accept", folder(t)}, args)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Scan()
	if !slices.Contains(args, "dial") {
		conn, err := net.Dial("tcp", lines.Text())
		if err != nil {
			t.Fatal(err)
		}
		go func() { // ends with the process
			_, _ = io.Copy(io.Discard, conn)
			stdin.Close()
			conn.Close()
		}()
	}
	lines.Scan()
	if got := lines.Text(); got != want {
		t.Errorf("%q: %q, want %q", args, got, want)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
