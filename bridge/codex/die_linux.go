//go:build !portable

package codex

import (
	"os"
	"syscall"
	"unsafe"
)

// dieBySignal ends this process by sig. Go handles signals that dump core (SIGABRT, SIGQUIT)
// itself, by printing goroutines and exiting with 2, and ignores others. So the kernel's
// default handler is restored by a system call.
func dieBySignal(sig syscall.Signal) {
	var defaults [4]uintptr // a zero struct sigaction: SIG_DFL, no flags
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(&defaults)), 0, 8, 0, 0)
	_ = syscall.Kill(os.Getpid(), sig)
}
