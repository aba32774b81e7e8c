//go:build unix && (!linux || portable)

package child

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a line of ps.
type process struct {
	parent int
	start  string // with the id, identifies the process: an id may be reused
}

// listTimeout is the time for one list of processes.
const listTimeout = 2 * time.Second

// processes returns all processes by id, as ps prints them: this build knows no other list.
func processes() map[int]process {
	ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "lstart=")
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC0"} // the start time must not change with the settings
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	return parseProcesses(string(out))
}

func parseProcesses(out string) map[int]process {
	all := map[int]process{}
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		pid, err := strconv.Atoi(fields[0])
		parent, parentErr := strconv.Atoi(fields[1])
		if err == nil && parentErr == nil {
			all[pid] = process{parent, strings.Join(fields[2:], " ")}
		}
	}
	return all
}

// descendants returns the descendants of a child of this process. A child that has been waited for
// has none: its id may be another process's.
func descendants(pid int) strays {
	all := processes()
	found := strays{}
	if all[pid].parent != os.Getpid() {
		return found
	}
	for id, p := range all {
		ancestor := p.parent
		for range all { // a list that is no tree must not loop
			if ancestor == pid {
				found[id] = p.start
				break
			}
			next, ok := all[ancestor]
			if !ok {
				break
			}
			ancestor = next.parent
		}
	}
	return found
}

// KillTree kills a child of this process with its group and its descendants. A descendant is not
// found if its parent has ended and it has left the group.
func KillTree(pid int) {
	found := descendants(pid)
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	for id := range found {
		_ = syscall.Kill(id, syscall.SIGKILL)
	}
}

// strays are the descendants of a child, with their start times. They can't be found after the child
// has ended.
type strays map[int]string

func (*group) strays(cmd *exec.Cmd, exited <-chan struct{}) strays {
	select {
	case <-exited:
		return nil
	default:
		return descendants(cmd.Process.Pid)
	}
}

func (s strays) kill() {
	if len(s) == 0 {
		return
	}
	all := processes()
	for pid, start := range s {
		if all[pid].start == start {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
