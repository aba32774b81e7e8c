//go:build !portable && (amd64 || arm64)

package supervise

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"codex-bridge.example/bridge/supervise/enter"
)

// Supervisor decides the program starts of one Codex. Its methods may be called concurrently.
type Supervisor struct {
	options   Options
	listener  listener
	processes processes
	receivers receivers
	full      atomic.Int64 // calls of Options.Full since the last of Drained

	mu    sync.Mutex
	on    bool
	holds bool // Codex runs below the filter: it has started a hook
	first int  // the process of Start
	codex *tree
	calls calls
}

// New returns a Supervisor. On a system without this feature, Start starts Codex without it.
func New(o Options) *Supervisor {
	return &Supervisor{options: o, codex: &tree{kind: codex}}
}

// Holds reports whether the programs of Codex are supervised: it has started one of the bridge's hooks
// below the filter.
func (s *Supervisor) Holds() bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.on && s.holds
}

// Start starts a command by start, below a filter. It returns when the command runs. It may be called
// once.
func (s *Supervisor) Start(cmd *exec.Cmd, start func(*exec.Cmd) error) error {
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer func() { _ = ours.Close() }()
	defer theirs.Close()
	if len(cmd.ExtraFiles) > 0 {
		return errors.New("a supervised program gets no more files") // the socket has the first number
	}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Args = slices.Concat([]string{"codex-bridge", enter.Word, enter.Run, cmd.Path}, cmd.Args)
	cmd.Path = self
	cmd.Env = slices.DeleteFunc(slices.Clone(cmd.Environ()), isCommandVariable) // an outer Codex has set them
	if err := start(cmd); err != nil {
		return err
	}
	theirs.Close()
	s.first = cmd.Process.Pid // no notification is read before receive
	return s.receive(ours)
}

// self is this program, also after its file was replaced.
const self = "/proc/self/exe"

// Check returns why program starts can't be supervised here, and nil if they can. It starts a process of this
// program, by start, that ends at once.
func Check(start, wait func(*exec.Cmd) error) error {
	s := New(Options{Required: true, Decide: func(context.Context, Start) bool { return true }})
	cmd := exec.Command(self, enter.Word, enter.Probe)
	err := s.Start(cmd, start)
	if cmd.Process != nil {
		err = errors.Join(err, wait(cmd))
	}
	return err
}

// socketPair returns a socket and its peer.
func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	file := os.NewFile(uintptr(fds[0]), "supervised")
	defer file.Close()
	theirs = os.NewFile(uintptr(fds[1]), "supervised")
	conn, err := net.FileConn(file)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return conn.(*net.UnixConn), theirs, nil
}

// receive gets the listener of the filter, and serves it until the last process with it has ended. It
// returns when the program has started.
func (s *Supervisor) receive(conn *net.UnixConn) error {
	if err := s.checkReadable(conn); err != nil {
		return err
	}
	step, failure, fd, err := readReport(conn)
	switch {
	case errors.Is(err, io.EOF) && !s.options.Required:
		return nil // it runs without a filter
	case err != nil:
		return errEnded(err)
	case step == enter.StepExec:
		return failure
	case step != 0 && step != enter.StepExec:
		if err := s.goWithout(conn, unsupported(step, failure)); err != nil {
			return err
		}
	default:
		s.listener = newListener(fd)
		s.mu.Lock()
		s.on = true
		s.mu.Unlock()
		go s.serve() // ends with the last process that has the filter
	}
	if step, failure, _, err = readReport(conn); err == nil && step == enter.StepExec {
		return failure
	}
	return nil // the socket was closed when the program started
}

// checkReadable lets the first process set the filter if this process can read its memory.
func (s *Supervisor) checkReadable(conn *net.UnixConn) error {
	var address [8]byte
	if _, err := io.ReadFull(conn, address[:]); err != nil {
		return errEnded(err)
	}
	text := make([]byte, len(enter.Text))
	_, err := process(s.first).readAt(binary.NativeEndian.Uint64(address[:]), text)
	if err == nil {
		_, err = os.Readlink(string(viewOf(uint32(s.first))) + "/root")
	}
	if err == nil && string(text) != enter.Text {
		err = errors.New("it has other text")
	}
	if err != nil {
		return s.goWithout(conn, &UnsupportedError{fmt.Sprintf("the memory of other processes can't be read: %v (kernel.yama.ptrace_scope may forbid it)", err)})
	}
	_, err = conn.Write([]byte{enter.Filter})
	return errEnded(err)
}

// goWithout lets the first process become the program without a filter, unless one is required.
func (s *Supervisor) goWithout(conn *net.UnixConn, why error) error {
	if s.options.Required {
		return why
	}
	if s.options.Unsupported != nil {
		s.options.Unsupported(why)
	}
	_, err := conn.Write([]byte{enter.NoFilter})
	return errEnded(err)
}

// errEnded returns the error for a first process that reads or writes no more.
func errEnded(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("its first process has ended: %w", err)
}

// unsupported returns why there is no filter.
func unsupported(step byte, failure unix.Errno) error {
	hint := ""
	switch {
	case failure == unix.EBUSY:
		hint = "another program, such as an outer codex-bridge, supervises this one already"
	case failure == unix.EINVAL, failure == unix.ENOSYS:
		hint = "the kernel is older than Linux 5.19, or has no seccomp"
	case failure == unix.EPERM, failure == unix.EACCES:
		hint = "the container forbids it"
	default:
		hint = fmt.Sprintf("step %d", step)
	}
	return &UnsupportedError{fmt.Sprintf("%v (%s)", failure, hint)}
}

// readReport reads a message of the first process. fd is -1 without a listener.
func readReport(conn *net.UnixConn) (step byte, failure unix.Errno, fd int, err error) {
	var text [5]byte
	control := make([]byte, unix.CmsgSpace(4))
	n, nc, _, _, err := conn.ReadMsgUnix(text[:1], control)
	if err != nil {
		return 0, 0, -1, err
	}
	if n == 0 {
		return 0, 0, -1, errors.New("it sent nothing")
	}
	if text[0] != 0 {
		for at := 1; at < len(text); {
			n, err := conn.Read(text[at:])
			if err != nil {
				return 0, 0, -1, err
			}
			at += n
		}
		return text[0], unix.Errno(binary.BigEndian.Uint32(text[1:])), -1, nil
	}
	messages, err := unix.ParseSocketControlMessage(control[:nc])
	if err != nil || len(messages) != 1 {
		return 0, 0, -1, errors.New("it sent no listener")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, 0, -1, errors.New("it sent no listener")
	}
	unix.CloseOnExec(fds[0])
	return 0, 0, fds[0], nil
}

// handle decides about a process that waits, in a turn of the receivers.
func (s *Supervisor) handle(n *notification, turn uint64) {
	m, ok := s.processes.members.of(int(n.pid))
	if n.pid == 0 || !ok {
		s.listener.answer(n, unix.EPERM) // it can't be read
		return
	}
	at := s.processes.find(m)
	kind, known := s.kindOf(at.tree)
	isChild := kind == command || at.isChild(m) // the programs of a command are decided in each case
	memory := pagesOf(n.pid)
	defer memory.release()
	if known && kind == own && isChild && s.startsOwn(memory, n, m, at.tree) {
		return
	}
	one := read(memory, n, known && (kind == codex || kind == sandbox))
	if !s.listener.waits(n) {
		return
	}
	failure := one.failure
	if failure != 0 { // nothing starts
		s.listener.answer(n, failure)
		return
	}
	to, calls, judged := s.assign(at, m.pid, isChild, one)
	var consents []string
	start := Start{PID: m.pid, Programs: one.programs, Calls: calls, Follow: viewOf(n.pid).follow, Unreadable: one.unreadable}
	if judged {
		start.Within, start.Consent = s.processes.consentsOf(m), func(name string) { consents = append(consents, name) }
	}
	if judged && !s.decide(n, turn, start) {
		failure = unix.EPERM
	} else {
		s.processes.set(m, to)
		for _, name := range consents {
			s.processes.consent(m.pid, name)
		}
	}
	s.listener.answer(n, failure)
}

// startsOwn answers a program of what Codex has started for itself. Its file need not be known, since it is not
// decided. It returns false for a hook of the bridge.
func (s *Supervisor) startsOwn(memory *pages, n *notification, m member, t *tree) bool {
	var words []string
	if c, err := callOf(n); err == nil {
		words, _, _ = memory.lists(c, false) // one that can't be read is no hook
	}
	if s.runsHook(words) {
		return false
	}
	if s.listener.waits(n) {
		s.processes.set(m, t)
		s.listener.answer(n, 0)
	}
	return true
}

// candidate is a program that a process has asked for.
type candidate struct {
	programs   []Program
	env        []string   // if it was wanted
	failure    unix.Errno // with which the kernel would answer; 0: the program can start
	unreadable string     // why the program is not known
}

// words returns the argument vector that the process has given.
func (c candidate) words() []string {
	if len(c.programs) == 0 {
		return nil
	}
	return c.programs[0].Args
}

// read reads the program of a process that waits. It looks for the file before it reads the words, as the kernel does:
// most shells look for a program in one folder of PATH after the other.
func read(memory *pages, n *notification, wantEnv bool) candidate {
	called, err := callOf(n)
	if err != nil {
		return candidate{unreadable: err.Error()}
	}
	file, err := memory.file(called)
	if err != nil {
		return unread(err)
	}
	v := viewOf(n.pid)
	program, f, fileErr := v.main(file)
	if failure, ok := failureOf(fileErr); ok {
		return candidate{failure: failure}
	}
	words, env, err := memory.lists(called, wantEnv)
	if err != nil {
		if fileErr == nil {
			f.close()
		}
		return unread(err)
	}
	program.Args = words
	c := candidate{programs: []Program{program}, env: env}
	if fileErr == nil {
		c.programs, fileErr = v.withInterpreters(program, f, file)
	}
	if fileErr != nil {
		failure, ok := failureOf(fileErr)
		if c.failure = failure; !ok {
			c.unreadable = fileErr.Error()
		}
	}
	return c
}

// unread returns the candidate of a call whose memory can't be read.
func unread(err error) (c candidate) {
	if !errors.Is(err, unix.EFAULT) && !errors.Is(err, unix.E2BIG) && !errors.Is(err, unix.ENAMETOOLONG) {
		return candidate{unreadable: err.Error()}
	}
	errors.As(err, &c.failure)
	return c
}

// failureOf returns the errno with which the kernel answers for a file; false if the file is known or can't be
// determined.
func failureOf(err error) (failure unix.Errno, ok bool) {
	if errors.Is(err, errUnknownFile) || !errors.As(err, &failure) {
		return 0, false
	}
	return failure, true
}

// decide asks the owner of the Supervisor.
func (s *Supervisor) decide(n *notification, turn uint64, start Start) bool {
	d := &decision{listener: s.listener, notification: n}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	defer d.cancel()
	if !s.receivers.deciding.add(d) {
		first := s.full.Add(1) == 1
		return s.options.Full != nil && s.options.Full(start, first)
	}
	defer func() { s.decided(s.receivers.deciding.end(d)) }()
	if s.receivers.turn.Load() != turn { // it was lost before, so that replace may not have seen the decision
		d.watch()
	}
	return s.options.Decide(d.ctx, start)
}

// decided tells the owner that a decision has ended, if others did not get a place before. left are those that run.
func (s *Supervisor) decided(left int) {
	if s.full.Load() == 0 || left > maxWaiting/2 {
		return
	}
	if n := s.full.Swap(0); n > 0 && s.options.Drained != nil {
		s.options.Drained(int(n))
	}
}
