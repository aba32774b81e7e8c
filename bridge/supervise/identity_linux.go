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
	if !hasInfo() {
		return memberByName(thread)
	}
	m, fd, ok := openMember(thread)
	if ok {
		closeFile(fd)
	}
	return m, ok
}

// maxKept is how many processes are known by a descriptor.
const maxKept = 64

// members keeps descriptors of the latest processes: the one that starts others is asked for again and again. Safe for
// concurrent use.
type members struct {
	mu   sync.Mutex
	kept [maxKept]keptMember
}

type keptMember struct {
	began uint64 // 0: there is none
	fd    int
}

// of returns the process of a thread. It returns false if there is none.
func (all *members) of(thread int) (member, bool) {
	if !hasInfo() {
		return memberByName(thread)
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	kept := &all.kept[uint(thread)%maxKept]
	if kept.began != 0 {
		if info, ok := infoOf(kept.fd); ok && int(info.pid) == thread {
			return member{thread, int(info.parent), kept.began}, true
		}
	}
	m, fd, ok := openMember(thread)
	if ok {
		kept = &all.kept[uint(m.pid)%maxKept]
		kept.close()
		*kept = keptMember{m.began, fd}
	}
	return m, ok
}

// close closes the descriptors.
func (all *members) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for i := range all.kept {
		all.kept[i].close()
	}
}

func (k *keptMember) close() {
	if k.began != 0 {
		closeFile(k.fd)
		*k = keptMember{}
	}
}

// hasInfo reports whether the kernel describes processes by their descriptors (Linux 6.13). That takes a tenth of
// the time for the files in /proc.
var hasInfo = sync.OnceValue(func() bool {
	m, fd, ok := openMember(os.Getpid())
	if ok {
		closeFile(fd)
	}
	return ok && m.pid == os.Getpid() && m.parent == os.Getppid()
})

// processInfo is struct pidfd_info in its first form.
type processInfo struct {
	mask               uint64
	_                  uint64
	pid, group, parent uint32
	_                  [9]uint32
}

// infoOf returns what the kernel says of the thread of a descriptor. It returns false if there is no such thread any
// more. Until then, no other one has its number.
func infoOf(fd int) (info processInfo, ok bool) {
	const requestGetInfo = 0xc040ff0b // PIDFD_GET_INFO
	info.mask = unix.PIDFD_INFO_PID
	_, _, failure := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), requestGetInfo, uintptr(unsafe.Pointer(&info)))
	return info, failure == 0
}

// openMember returns the process of a thread, with a descriptor of it.
func openMember(thread int) (m member, fd int, ok bool) {
	const ofThread = unix.O_EXCL // PIDFD_THREAD
	for {
		fd, err := unix.PidfdOpen(thread, ofThread)
		if err != nil {
			return member{}, 0, false
		}
		info, ok := infoOf(fd)
		var file unix.Stat_t
		switch {
		case !ok || int(info.group) == thread && unix.Fstat(fd, &file) != nil:
			closeFile(fd)
			return member{}, 0, false
		case int(info.group) == thread:
			return member{thread, int(info.parent), file.Ino}, fd, true // the number of the file is never reused
		}
		closeFile(fd)
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
