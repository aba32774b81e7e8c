//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Programs start while the decisions about others wait, and those that wait start afterwards.
func TestStartWhileDecisionsWait(t *testing.T) {
	t.Parallel()
	const slow = 20
	waiting, free := make(chan struct{}, slow), make(chan struct{})
	s := New(Options{Required: true, Decide: func(_ context.Context, start Start) bool {
		if filepath.Base(start.Programs[0].Path) == "sleep" {
			waiting <- struct{}{}
			<-free
		}
		return true
	}})
	const line = `for i in $(/usr/bin/seq 20); do /bin/sleep 0 && echo slept & done; read x; /bin/echo quick; wait`
	s.Announce(call(line))
	cmd := exec.Command("/bin/sh", "-c", `/bin/bash -c "$0"; exit`, line)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(cmd, (*exec.Cmd).Start); err != nil {
		t.Fatal(err)
	}
	for range slow {
		<-waiting
	}
	_, _ = in.Write([]byte("go on\n"))
	lines := bufio.NewReader(out)
	if first, err := lines.ReadString('\n'); first != "quick\n" {
		t.Errorf("it first wrote %q, %v", first, err)
	}
	close(free)
	rest, err := io.ReadAll(lines)
	if got := strings.Count(string(rest), "slept\n"); got != slow || err != nil {
		t.Errorf("%d programs started after their decision, want %d; %v", got, slow, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
