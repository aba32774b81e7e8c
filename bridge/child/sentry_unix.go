//go:build unix

package child

import (
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// sentry is a process that outlives the bridge for a moment. The bridge writes it the process
// groups of its children. When the bridge is gone it kills the groups that are left. Without a
// mark, the descendants of a group's first process are killed too, as long as that runs. A group
// with the mark TERM is a Codex, which gets SIGTERM, and is killed if it goes on; so are the
// descendants that it had. Another mark is a variable in the environment, by which processes are
// found that have left the group; one without a group is its own first word. The kernel's death
// signal reaches only a child, not its descendants.
//
// The sentry is a shell: it takes 1 MiB and starts in a millisecond. Without a shell, a group
// outlives a bridge that is killed.
var sentry struct {
	mu    sync.Mutex
	in    *os.File // nil if it does not run
	pid   int
	tried bool
}

const sentryScript = `groups=
while read -r sign group mark; do
	case $sign in
	+) groups="$groups $group:$mark" ;;
	-) rest=; for g in $groups; do case $g in "$group":*) ;; *) rest="$rest $g" ;; esac; done; groups=$rest ;;
	esac
done
children() {
	if [ -r /proc/self/stat ]; then
		cat "/proc/$1/task/"*/children 2>/dev/null
	else
		ps -A -o pid= -o ppid= | while read -r pid parent; do
			if [ "$parent" = "$1" ]; then echo "$pid"; fi
		done
	fi
}
below() {
	for pid in $(children "$1"); do echo "$pid"; (below "$pid"); done
}
end() {
	descendants=$(below "$1")
	kill -s TERM "$1"
	sleep 0.2
	kill -s TERM "$1"
	for try in 1 2 3 4 5 6; do
		kill -0 "$1" || break
		sleep 0.1
	done
	for pid in "$1" $descendants $(below "$1"); do kill -s KILL "$pid"; done
}
for g in $groups; do
	case $g in
	*:) for pid in $(below "${g%:}"); do kill -s KILL "$pid"; done; kill -s KILL -- "-${g%:}" ;;
	*:TERM) end "${g%%:*}" & ;;
	CODEX_BRIDGE_*) ;;
	*) kill -s KILL -- "-${g%%:*}" ;;
	esac
done
wait
for try in 1 2 3 4 5; do # one that has just been started may be seen only in the next round
	for g in $groups; do
		case $g in *CODEX_BRIDGE_*) ;; *) continue ;; esac
		grep -lsF -- "${g#*:}" /proc/[0-9]*/environ | while read -r file; do
			pid=${file#/proc/}
			kill -s KILL "${pid%/environ}"
		done
	done
	[ -r /proc/self/stat ] && sleep 0.05
done`

// watch adds a group to the sentry, by the id of its first process. The sentry finds processes
// that have left the group by the mark in their environment, if there is one.
func watch(group int, mark string) { writeSentry("+ " + strconv.Itoa(group) + " " + mark) }

// unwatch removes a group. It must be called before the process id can be reused.
func unwatch(group int) { writeSentry("- " + strconv.Itoa(group)) }

// ensureSentry starts the sentry before a child: its start takes a while, and the bridge may be
// killed in between.
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
		_, _ = sentry.in.WriteString(line + "\n") // the sentry may have been killed
	}
}

// startSentry starts the sentry in a session of its own, away from signals of a terminal.
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
	sentry.pid = cmd.Process.Pid
	return in
}
