//go:build !portable && (amd64 || arm64)

package supervise

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// member is a process with its place among the others.
type member struct {
	pid    int
	parent int
	// began tells it from earlier processes with its number, which may be reused.
	began uint64
}

// memberOf returns the process of a thread. It returns false if there is none.
func memberOf(thread int) (member, bool) {
	if hasInfo() {
		return memberByDescriptor(thread)
	}
	return memberByName(thread)
}

// hasInfo reports whether the kernel describes processes by their descriptors (Linux 6.13). That takes a tenth of
// the time for the files in /proc.
var hasInfo = sync.OnceValue(func() bool {
	m, ok := memberByDescriptor(os.Getpid())
	return ok && m.pid == os.Getpid() && m.parent == os.Getppid()
})

// processInfo is struct pidfd_info in its first form.
type processInfo struct {
	mask             uint64
	_                uint64
	_, group, parent uint32
	_                [9]uint32
}

func memberByDescriptor(thread int) (member, bool) {
	const (
		ofThread       = unix.O_EXCL // PIDFD_THREAD
		requestGetInfo = 0xc040ff0b  // PIDFD_GET_INFO
	)
	for {
		fd, err := unix.PidfdOpen(thread, ofThread)
		if err != nil {
			return member{}, false
		}
		info := processInfo{mask: unix.PIDFD_INFO_PID}
		var file unix.Stat_t
		_, _, failure := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), requestGetInfo, uintptr(unsafe.Pointer(&info)))
		if failure == 0 {
			err = unix.Fstat(fd, &file)
		}
		closeFile(fd)
		switch {
		case failure != 0 || err != nil:
			return member{}, false
		case int(info.group) == thread:
			return member{thread, int(info.parent), file.Ino}, true // the number of the file is never reused
		}
		thread = int(info.group)
	}
}

func memberByName(thread int) (member, bool) {
	pid := processOf(thread)
	stat, err := readProc(pid, "stat")
	if err != nil {
		return member{}, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const ppid, starttime = 4 - 3, 22 - 3 // numbers in proc(5), counted behind the name
	if len(fields) <= starttime {
		return member{}, false
	}
	parent, err := strconv.Atoi(string(fields[ppid]))
	if err != nil {
		return member{}, false
	}
	began, err := strconv.ParseUint(string(fields[starttime]), 10, 64)
	return member{pid, parent, began}, err == nil
}

// processOf returns the process of a thread, and 0 if there is none.
func processOf(thread int) int {
	if fd, err := unix.PidfdOpen(thread, 0); err == nil {
		closeFile(fd)
		return thread // only the first thread of a process has a descriptor of this kind
	}
	status, err := readProc(thread, "status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(status, []byte("\nTgid:\t"))
	number, _, _ := bytes.Cut(rest, []byte("\n"))
	pid, err := strconv.Atoi(string(number))
	if err != nil {
		return 0
	}
	return pid
}

// readProc reads a file about a process.
func readProc(pid int, name string) ([]byte, error) {
	return os.ReadFile("/proc/" + strconv.Itoa(pid) + "/" + name)
}
