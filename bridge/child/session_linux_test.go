//go:build !portable

package child_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/child"
)

// Only here are strays found whose parent has ended: they become children of the bridge.
func init() {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil { // as in the bridge
		panic(err)
	}
	findsOrphans = true
	sessionEnds["killed by another process"] = sessionEnd{"signal: killed", func(_ *child.Session, address string) error {
		for _, pid := range child.Children(os.Getpid()) {
			if command, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline"); strings.Contains(string(command), "stray\x00"+address) {
				return syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		return fmt.Errorf("no child has the argument %s", address)
	}}
}
