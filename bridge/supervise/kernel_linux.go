//go:build !portable && (amd64 || arm64)

package supervise

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif: a process waits at a call.
type notification struct {
	id    uint64
	pid   uint32 // of the thread, as this process sees it; 0: not visible
	flags uint32
	call  int32 // the number
	arch  uint32
	_     uint64 // instruction pointer
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// Requests of ioctl(2) that golang.org/x/sys/unix may lack.
const (
	requestIsValid  = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
	requestSetFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
	goOn            = 1          // SECCOMP_USER_NOTIF_FLAG_CONTINUE
	wakeHere        = 1          // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
)

// listener is the filter's end in this process.
type listener struct{ fd int }

func newListener(fd int) listener {
	l := listener{fd}
	_ = l.ioctl(requestSetFlags, wakeHere) // since Linux 6.6; it only saves time
	return l
}

func (l listener) ioctl(request, arg uintptr) error {
	_, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), request, arg)
	if err != 0 {
		return err
	}
	return nil
}

// receive waits for the next process. It returns false when no process has the filter any more.
func (l listener) receive() (n notification, ok bool) {
	for {
		poll := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR {
			return n, false
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents&(unix.POLLHUP|unix.POLLERR|unix.POLLNVAL) != 0 {
				return n, false
			}
			continue
		}
		n = notification{}
		switch err := l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); {
		case err == nil:
			return n, true
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.ENOENT), errors.Is(err, unix.EAGAIN): // the process was killed meanwhile
		default:
			return n, false
		}
	}
}

// waits reports whether the process still waits for this answer. Then all that was read of it before
// is its own, and not that of another process with its id.
func (l listener) waits(n *notification) bool {
	return l.ioctl(requestIsValid, uintptr(unsafe.Pointer(&n.id))) == nil
}

// answer lets the call go on if failure is 0, and else lets it fail. The process may be gone.
func (l listener) answer(n *notification, failure unix.Errno) {
	r := response{id: n.id, flags: goOn}
	if failure != 0 {
		r = response{id: n.id, err: -int32(failure)}
	}
	_ = l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&r)))
}

func (l listener) close() { _ = os.NewFile(uintptr(l.fd), "seccomp").Close() }
