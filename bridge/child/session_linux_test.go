package child_test

import (
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func init() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as the bridge is
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

// What has left the group ends, too, when the child ends as it is asked to.
func TestSessionEndsStrays(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := open(t, io.Discard, "stray", l.Addr().String())
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := s.End(t.Context(), time.Minute); err != nil || s.How() != "exit status 0" {
		t.Error(s.How(), err)
	}
	if _, err := io.ReadAll(conn); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
}
