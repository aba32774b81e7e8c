//go:build unix

package child

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// sentry is a process that outlives the bridge by a moment: it hears of the groups of
// children, and when the bridge is gone, killed for instance, it kills those that are left.
// The death signal reaches a child alone, and not what the child has started.
//
// It is a shell: it takes 1 MiB, starts in a millisecond, and nothing waits for it. Where
// there is none, a group outlives a bridge that is killed.
var sentry struct {
	mu    sync.Mutex
	in    *os.File // nil: there is none
	tried bool
}

const sentryScript = `groups=
while read -r sign group mark; do
	case $sign in
	+) groups="$groups $group:$mark" ;;
	-) rest=; for g in $groups; do case $g in "$group":*) ;; *) rest="$rest $g" ;; esac; done; groups=$rest ;;
	esac
done
for g in $groups; do kill -s KILL -- "-${g%%:*}"; done
for g in $groups; do
	[ -n "${g#*:}" ] && grep -lsF -- "${g#*:}" /proc/[0-9]*/environ | while read -r file; do
		pid=${file#/proc/}
		kill -s KILL "${pid%/environ}"
	done
done`

// watch has the sentry know of a group, by the number of its first process. What has left
// the group it finds by the mark in the environment, where there is one.
func watch(group int, mark string) { writeSentry("+ " + strconv.Itoa(group) + " " + mark) }

// unwatch is called before the number can be another's.
func unwatch(group int) { writeSentry("- " + strconv.Itoa(group)) }

// expect has the sentry there before the child is: to start it takes a while, in which the
// bridge may be killed.
func ensureSentry() {
	sentry.mu.Lock()
	defer sentry.mu.Unlock()
	if !sentry.tried {
		sentry.tried = true
		sentry.in = startSentry()
	}
}

func writeSentry(line string) {
	sentry.mu.Lock()
	defer sentry.mu.Unlock()
	if sentry.in != nil {
		_, _ = sentry.in.WriteString(line + "\n") // a sentry that is gone can't be told
	}
}

// startSentry starts it in a session of its own: signals of a terminal are not for it.
func startSentry() *os.File {
	out, in, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer out.Close()
	cmd := exec.Command("/bin/sh", "-c", sentryScript, "codex-bridge-sentry")
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{}, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := Start(cmd); err != nil {
		in.Close()
		return nil
	}
	return in
}
