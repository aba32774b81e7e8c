//go:build !portable && (amd64 || arm64)

package enter

import (
	"encoding/binary"
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// init runs on the main thread, whose filter the program inherits.
func init() {
	if len(os.Args) < 3 || os.Args[1] != Word {
		return
	}
	switch os.Args[2] {
	case Probe:
		os.Exit(0)
	case Run:
		if len(os.Args) > 4 {
			enter(os.Args[3], os.Args[4:])
			os.Exit(exitFailed)
		}
	}
}

// exitFailed is the status of a process that could not become the program, as in shells.
const exitFailed = 126

// enter returns if this process can't become the program.
func enter(path string, args []string) {
	syscall.CloseOnExec(Socket)
	text := []byte(Text)
	answer := ask(binary.NativeEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&text[0])))))
	runtime.KeepAlive(text)
	if answer == Filter {
		answer = NoFilter
		if step, err := install(); err != 0 {
			answer = ask(failure(step, err))
		}
	}
	if answer != NoFilter {
		return
	}
	err := syscall.Exec(path, args, syscall.Environ()) //nolint:gosec // the bridge names the program
	if number, ok := err.(syscall.Errno); ok {         //nolint:errorlint // package syscall wraps nothing
		_, _ = syscall.Write(Socket, failure(StepExec, number)) // without the bridge, it is lost
	}
}

func failure(step byte, err syscall.Errno) []byte {
	return binary.BigEndian.AppendUint32([]byte{step}, uint32(err))
}

// ask sends a message and returns the answer of the bridge; 0 if it is gone.
func ask(message []byte) byte {
	var answer [1]byte
	if _, err := syscall.Write(Socket, message); err != nil {
		return 0
	}
	if n, err := syscall.Read(Socket, answer[:]); err != nil || n != 1 {
		return 0
	}
	return answer[0]
}

// install sets the filter and sends its listener.
func install() (failed byte, err syscall.Errno) {
	const setNoNewPrivs = 38
	if _, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivs, 1, 0, 0, 0, 0); err != 0 {
		return StepPrivileges, err
	}
	program := filter()
	listener, err := setFilter(&program)
	if err != 0 {
		return StepFilter, err
	}
	if sent := syscall.Sendmsg(Socket, []byte{0}, syscall.UnixRights(int(listener)), nil, 0); sent != nil {
		failed = StepSend
		err, _ = sent.(syscall.Errno) //nolint:errorlint // package syscall wraps nothing
	}
	// The bridge has its own. Without that, no program starts, so this process does not wait for itself.
	_ = syscall.Close(int(listener))
	return failed, err
}

// setFilter sets a filter with a listener. Only a deadly signal ends the wait for an answer (since Linux 5.19):
// another one would begin the call again, and so the question to a person.
func setFilter(program *[]instruction) (listener uintptr, err syscall.Errno) {
	const (
		setModeFilter = 1
		newListener   = 1 << 3
		waitKillable  = 1 << 5
	)
	code := struct {
		length uint16
		first  *instruction
	}{uint16(len(*program)), &(*program)[0]}
	listener, _, err = syscall.RawSyscall(sysSeccomp, setModeFilter, newListener|waitKillable, uintptr(unsafe.Pointer(&code)))
	return listener, err
}
