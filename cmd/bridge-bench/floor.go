//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/supervise/enter"
)

// floorOfStarts returns the times of program starts without a supervisor, and with one that lets each program start
// and reads nothing: what the kernel's way takes.
func (b *bench) floorOfStarts(n int) (direct, floor []float64, err error) {
	for i := range turnsOfStarts {
		err := alternate(n+i, func() error { return b.directStarts(&floor, true) }, func() error { return b.directStarts(&direct, false) })
		if err != nil {
			return nil, nil, err
		}
	}
	return direct, floor, nil
}

// directStarts runs a starter below this process, and adds its times.
func (b *bench) directStarts(all *[]float64, watched bool) error {
	file := filepath.Join(b.dir, "measured")
	cmd := exec.Command(b.self, file)
	cmd.Env, cmd.Stderr = []string{fmt.Sprintf("%s=%d", envStarter, startsOfTurn), "PATH=" + os.Getenv("PATH")}, os.Stderr
	start := cmd.Start
	if watched {
		start = func() error { return startAnswered(cmd) }
	}
	if err := start(); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return err
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var took []float64
	err = errors.Join(json.Unmarshal(raw, &took), os.Remove(file))
	*all = append(*all, took...)
	return err
}

// startAnswered starts a command below a filter whose reports are answered at once.
func startAnswered(cmd *exec.Cmd) error {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return err
	}
	defer conn.Close()
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Args = append([]string{cmd.Path, enter.Word, enter.Run, cmd.Path}, cmd.Args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	theirs.Close()
	if _, err := io.ReadFull(conn, make([]byte, 8)); err != nil {
		return err
	}
	if _, err := conn.Write([]byte{enter.Filter}); err != nil {
		return err
	}
	control := make([]byte, unix.CmsgSpace(4))
	_, size, _, _, err := conn.(*net.UnixConn).ReadMsgUnix(make([]byte, 1), control)
	if err != nil {
		return err
	}
	messages, err := unix.ParseSocketControlMessage(control[:size])
	if err != nil || len(messages) != 1 {
		return errors.Join(err, errors.New("the system lets no process supervise the starts of others"))
	}
	listeners, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return err
	}
	go answerAll(listeners[0])
	return nil
}

// answerAll lets each program start, until no process has the filter any more.
func answerAll(listener int) {
	defer func() { _ = unix.Close(listener) }()
	const setFlags, wakeHere, goOn = 0x40082104, 1, 1
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), setFlags, wakeHere) // as the bridge does
	for slice := time.Now(); ; {
		if now := time.Now(); now.Sub(slice) > 5*time.Millisecond {
			slice = now
			runtime.Gosched() // as the bridge does
		}
		poll := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, -1); err != nil && err != unix.EINTR {
			return
		}
		if poll[0].Revents&unix.POLLIN == 0 {
			if poll[0].Revents != 0 {
				return
			}
			continue
		}
		var report [80]byte // struct seccomp_notif: it begins with the id
		if _, _, err := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&report))); err != 0 {
			continue
		}
		answer := struct {
			id    uint64
			value int64
			err   int32
			flags uint32
		}{id: *(*uint64)(unsafe.Pointer(&report)), flags: goOn}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&answer)))
	}
}
