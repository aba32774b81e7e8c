package child_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/child"
)

func init() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as in the bridge
		panic(err)
	}
	stray = func(addresses ...string) {
		cmd := exec.Command(os.Args[0], append([]string{"child", "held"}, addresses...)...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
	}
}

// Descendants that have left the group are killed, too, when the child ends by itself or is
// killed by another process.
func TestSessionEndsStrays(t *testing.T) {
	for name, end := range map[string]func(s *child.Session, pid int) error{
		"exit status 0":  func(s *child.Session, _ int) error { return s.End(t.Context(), time.Minute) },
		"signal: killed": func(_ *child.Session, pid int) error { return syscall.Kill(pid, syscall.SIGKILL) },
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		before := child.Children(os.Getpid())
		s := open(t, io.Discard, "stray", l.Addr().String())
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if err := conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
			t.Fatal(err)
		}
		for _, pid := range child.Children(os.Getpid()) {
			if command, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); slices.Contains(before, pid) || !strings.Contains(string(command), "stray") {
				continue
			}
			if err := end(s, pid); err != nil {
				t.Error(err)
			}
		}
		if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Error(err)
		}
		<-s.Exited()
		if s.Status() != name {
			t.Errorf("%s, and not %s", s.Status(), name)
		}
	}
}
