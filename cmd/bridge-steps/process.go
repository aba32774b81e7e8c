//go:build linux && amd64

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// environ is what the program runs with: one thread at a time, no collection of garbage, no
// signals that tell it to give way, and none of the instructions that only some processors
// have, so that the counts of one machine are those of all.
var environ = []string{"GOMAXPROCS=1", "GOGC=off", "GODEBUG=cpu.all=off,asyncpreemptoff=1"}

// patience is how long a process may take. A walk has less than 100,000 steps, of 10 to 30 µs each.
const patience = 10 * time.Minute

// process is a program of which the first thread is traced. All calls have to come from the
// thread that has started it.
type process struct {
	cmd   *exec.Cmd
	pid   int
	bound *time.Timer
}

func start(path, dir string, args ...string) (*process, error) {
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, environ, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return nil, refused(err)
	}
	p := &process{cmd: cmd, pid: cmd.Process.Pid}
	p.bound = time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	if _, err := p.stopped(); err != nil { // at its first instruction
		return nil, errors.Join(err, p.kill())
	}
	return p, nil
}

// refused says what it means that a process that is to be traced can't be started.
func refused(err error) error {
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOSYS) {
		return err
	}
	return fmt.Errorf("ptrace is not allowed here, and without it nothing can be counted "+
		"(a container may need the capability SYS_PTRACE, a system kernel.yama.ptrace_scope below 3): %w", err)
}

// run lets the thread run to the next breakpoint.
func (p *process) run() error {
	return p.resume(func() error { return syscall.PtraceCont(p.pid, 0) })
}

// step has the thread do one instruction.
func (p *process) step() error {
	return p.resume(func() error { return syscall.PtraceSingleStep(p.pid) })
}

// resume goes on in a way until the thread is stopped by what that way ends with. A signal
// from outside, such as that the window has another size, comes before the next instruction,
// and is left out.
func (p *process) resume(on func() error) error {
	for {
		if err := on(); err != nil {
			return err
		}
		switch at, err := p.stopped(); {
		case err != nil:
			return err
		case at == syscall.SIGTRAP:
			return nil
		case at == syscall.SIGSEGV || at == syscall.SIGBUS || at == syscall.SIGILL || at == syscall.SIGFPE:
			return fmt.Errorf("%v: %v", p.cmd.Args, at)
		}
	}
}

// stopped waits until the thread is stopped, and tells by which signal.
func (p *process) stopped() (syscall.Signal, error) {
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.pid, &status, syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case status.Stopped():
			return status.StopSignal(), nil
		default:
			return 0, fmt.Errorf("%v has ended before it was counted (status %d, signal %d)", p.cmd.Args, status.ExitStatus(), status.Signal())
		}
	}
}

// out lets the thread run until the function that it has just entered, with these registers,
// returns, and tells where to.
func (p *process) out(regs *syscall.PtraceRegs) (to uint64, err error) {
	const breakpoint = 0xcc
	to, err = p.word(regs.Rsp)
	if err != nil {
		return 0, err
	}
	var was [1]byte
	if _, err := syscall.PtracePeekText(p.pid, uintptr(to), was[:]); err != nil {
		return 0, err
	}
	if _, err := syscall.PtracePokeText(p.pid, uintptr(to), []byte{breakpoint}); err != nil {
		return 0, err
	}
	if err := p.run(); err != nil {
		return 0, err
	}
	if _, err := syscall.PtracePokeText(p.pid, uintptr(to), was[:]); err != nil {
		return 0, err
	}
	after, err := p.registers()
	if err != nil {
		return 0, err
	}
	if after.Rip != to+1 {
		return 0, fmt.Errorf("it came out at %#x, not at %#x", after.Rip, to)
	}
	after.Rip = to
	return to, syscall.PtraceSetRegs(p.pid, after)
}

func (p *process) registers() (*syscall.PtraceRegs, error) {
	var regs syscall.PtraceRegs
	return &regs, syscall.PtraceGetRegs(p.pid, &regs)
}

// word is what lies at a place in memory.
func (p *process) word(at uint64) (uint64, error) {
	var b [8]byte
	if _, err := syscall.PtracePeekData(p.pid, uintptr(at), b[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b[:]), nil
}

// kill ends the process and waits for it.
func (p *process) kill() error {
	p.bound.Stop()
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.pid, &status, syscall.WALL, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.ECHILD), err == nil && (status.Exited() || status.Signaled()):
			return p.cmd.Process.Release()
		case err != nil:
			return err
		}
	}
}
