//go:build !portable && (amd64 || arm64)

package supervise

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// helperWord is the first argument of the test's program if it is a helper. The second is its name in helpers.
const helperWord = "helper"

// wordsVariable makes the test's program write its words.
const wordsVariable = "SUPERVISE_TEST_WORDS"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperWord {
		helpers[os.Args[2]](os.Args[3:])
		os.Exit(0)
	}
	if os.Getenv(wordsVariable) != "" {
		fmt.Printf("%q\n", os.Args)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// helpers are what the test's program does in a process of its own. They write the names of errors.
var helpers map[string]func(args []string)

func init() {
	helpers = map[string]func([]string){
		"exec":      func(a []string) { fail(syscall.Exec(a[0], a[1:], os.Environ())) },
		"at-empty":  func(a []string) { atEmpty(openForExec(a[0]), a[1:]) },
		"at-memory": func(a []string) { atEmpty(copyToMemory(a[0]), a[1:]) },
		"memory": func(a []string) {
			fail(syscall.Exec("/proc/self/fd/"+strconv.Itoa(copyToMemory(a[0])), a[1:], os.Environ()))
		},
		"at-folder":    atFolderHelper,
		"empty-argv":   func(a []string) { rawExec(a[0], uintptr(unsafe.Pointer(&[1]uintptr{}))) },
		"null-argv":    func(a []string) { rawExec(a[0], 0) },
		"unmapped":     func(a []string) { rawExec(a[0], 4096) },
		"unmapped-arg": func(a []string) { rawExec(a[0], uintptr(unsafe.Pointer(&[2]uintptr{4096}))) },
		"unmapped-path": func([]string) {
			_, _, err := unix.RawSyscall(unix.SYS_EXECVE, 4096, 0, 0)
			fail(err)
		},
		"endless": endless,
		"big":     func(a []string) { fail(syscall.Exec(a[0], append([]string{a[0]}, bigArgs(a[1])...), nil)) },
		"thread":  threadExec,
		"beside":  execBeside,
		"clone":   cloneParent,
		"dumpable": func(a []string) {
			fail(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
			fail(syscall.Exec(a[0], a, os.Environ()))
		},
		"errnos":    errnos,
		"starts":    starts,
		"each":      each,
		"supervise": superviseHelper,
		"fd": func(a []string) {
			fd := openForExec(a[0])
			fail(syscall.Exec(a[1]+strconv.Itoa(fd), a[2:], os.Environ()))
		},
		"thread-descriptors": threadDescriptors,
		"descriptor": func([]string) {
			process, err := unix.PidfdOpen(os.Getpid(), 0)
			fail(err)
			_, err = unix.PidfdGetfd(process, 0, 0)
			fail(err)
		},
		"environment": func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) },
	}
}

// fail ends a helper that has failed.
func fail(err error) {
	number, ok := err.(syscall.Errno) //nolint:errorlint // package syscall wraps nothing
	switch {
	case ok && number == 0, err == nil:
		return
	case ok:
		fmt.Println(unix.ErrnoName(number))
	default:
		fmt.Println(err)
	}
	os.Exit(1)
}

func openForExec(file string) int {
	fd, err := unix.Open(file, unix.O_PATH, 0)
	fail(err)
	return fd
}

func copyToMemory(file string) int {
	fd, err := unix.MemfdCreate("forbidden", 0)
	fail(err)
	text, err := os.ReadFile(file)
	fail(err)
	_, err = unix.Write(fd, text)
	fail(err)
	return fd
}

func atEmpty(fd int, args []string) { execAt(fd, "", args, 0x1000) }

func execAt(fd int, name string, args []string, flags uintptr) {
	path, err := unix.BytePtrFromString(name)
	fail(err)
	argv, err := syscall.SlicePtrFromStrings(args)
	fail(err)
	env, err := syscall.SlicePtrFromStrings(os.Environ())
	fail(err)
	_, _, errno := unix.Syscall6(unix.SYS_EXECVEAT, uintptr(fd), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), uintptr(unsafe.Pointer(&env[0])), flags, 0)
	fail(errno)
}

// atFolderHelper runs FOLDER NAME ARGS… by the descriptor of the folder.
func atFolderHelper(a []string) { execAt(openForExec(a[0]), a[1], a[2:], 0) }

func rawExec(file string, argv uintptr) {
	path, err := unix.BytePtrFromString(file)
	fail(err)
	_, _, errno := unix.Syscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), argv, 0)
	fail(errno)
}

// endless has a list of two million words.
func endless(a []string) {
	const size = 16 << 20
	list, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	fail(err)
	word := []byte("a word\x00")
	pointers := unsafe.Slice((*uintptr)(unsafe.Pointer(&list[0])), size/8)
	for i := range pointers[:len(pointers)-1] {
		pointers[i] = uintptr(unsafe.Pointer(&word[0]))
	}
	rawExec(a[0], uintptr(unsafe.Pointer(&list[0])))
}

// bigArgs returns arguments of some bytes.
func bigArgs(size string) (args []string) {
	n, err := strconv.Atoi(size)
	fail(err)
	for ; n > 0; n -= 100_000 {
		args = append(args, strings.Repeat("x", 100_000))
	}
	return args
}

// threadExec starts a program from a thread that is not the first of its process.
func threadExec(a []string) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // the main goroutine has the first thread, see init
		if unix.Gettid() == os.Getpid() {
			fail(fmt.Errorf("this is the first thread"))
		}
		fail(syscall.Exec(a[0], a, os.Environ()))
		close(done)
	}()
	<-done
}

// execBeside starts a program from one thread, and a shell with a line from another when there is input. Only one of
// them can become the process.
func execBeside(a []string) {
	go func() {
		runtime.LockOSThread()
		execAt(-1, a[0], a[:2], 0) // syscall.Exec of the other thread would wait for one of this
	}()
	_, err := os.Stdin.Read(make([]byte, 1))
	fail(err)
	fail(syscall.Exec("/bin/sh", []string{"sh", "-c", a[2]}, os.Environ()))
}

func init() { runtime.LockOSThread() }

// threadDescriptors starts the first file by the number of a descriptor of its process. In the thread that starts it,
// the number is of the second file.
func threadDescriptors(a []string) {
	const number = 50
	fail(unix.Dup3(openForExec(a[0]), number, 0))
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		fail(unix.Unshare(unix.CLONE_FILES))
		fail(unix.Dup3(openForExec(a[1]), number, 0))
		fail(syscall.Exec("/proc/self/fd/"+strconv.Itoa(number), a[1:], os.Environ()))
		close(done)
	}()
	<-done
}

// cloneParent starts a program in a process whose parent is that of this one.
func cloneParent(a []string) {
	path, err := unix.BytePtrFromString(a[0])
	fail(err)
	argv, err := syscall.SlicePtrFromStrings(a)
	fail(err)
	pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_PARENT|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if errno != 0 {
		fail(errno)
	}
	if pid == 0 {
		_, _, errno = syscall.RawSyscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), 0)
		syscall.RawSyscall(unix.SYS_EXIT, uintptr(errno), 0, 0)
	}
	for { // it is no child of this process, so it can't be waited for
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(int(pid)) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// errnos writes the error of each program.
func errnos(files []string) {
	for _, file := range files {
		path, err := unix.BytePtrFromString(file)
		fail(err)
		argv, err := syscall.SlicePtrFromStrings([]string{file})
		fail(err)
		_, _, errno := unix.Syscall(unix.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&argv[0])), 0)
		if len(file) > 60 {
			file = file[:60] + "…"
		}
		fmt.Printf("%q: %s\n", file, unix.ErrnoName(errno))
	}
}

// superviseHelper is a supervisor that starts a script of bash. Decisions on touch do not end; it writes a line for
// each. It can be run below another supervisor.
func superviseHelper(a []string) {
	required := len(a) > 1
	s := New(Options{
		Required:    required,
		Unsupported: func(err error) { fmt.Println("unsupported:", err) },
		Decide: func(ctx context.Context, start Start) bool {
			if isForbidden(start) {
				fmt.Println("waits")
				<-ctx.Done()
			}
			return true
		},
	})
	cmd := exec.Command("/bin/bash", "-c", a[0])
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stdout
	cmd.Env = append(os.Environ(), "LINE=touch marker; echo $?")
	s.Announce(call("touch marker; echo $?"))
	fail(s.Start(cmd, (*exec.Cmd).Start))
	fail(cmd.Wait())
}

// each starts each file with one argument.
func each(files []string) {
	for _, file := range files {
		cmd := exec.Command(file, "z")
		cmd.Env = append(os.Environ(), wordsVariable+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			out = append(out, strings.ReplaceAll(err.Error(), file, "it")+"\n"...)
		}
		fmt.Print(file, " ", string(out))
	}
}
