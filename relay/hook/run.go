package hook

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// exitBlock is the last resort: Codex takes it, with a text on stderr, for a denial.
const exitBlock = 2

// margin is what is left of Codex's time when the process gives up, or a fifth of that
// time if it is less: for its start, which Codex counts, and for what it prints. A
// denial that comes too late is none.
const margin = 500 * time.Millisecond

// Run is the process that Codex starts for a hook. It reads what Codex says of the
// call, asks the bridge, writes what Codex reads, and returns the exit status. Whatever
// fails, for an event that decides it writes a denial, and for others nothing; stderr
// has the reason. The status is 0 then: with 1 Codex lets the tool run (measured).
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	start := time.Now()
	p := &process{stdout: stdout, stderr: stderr}
	defer func() {
		if fault := recover(); fault != nil {
			status = p.collapse(fault)
		}
	}()
	f, err := parseFlags(args)
	p.flags = f
	if err != nil {
		reason := "its command line can't be read: " + strings.ReplaceAll(err.Error(), "\n", ", ")
		return p.fail(&failure{reason + "; codex runs this command with flags of the bridge's own", false})
	}
	span := f.timeout - min(margin, f.timeout/5)
	a := &asker{flags: f, span: span, deadline: start.Add(span)}
	// What is waited for may hang in a system call that knows no deadline.
	done := make(chan said, 1)
	go func() {
		defer func() {
			if fault := recover(); fault != nil {
				done <- said{err: broken(fault)}
			}
		}()
		answer, err := a.ask(stdin)
		done <- said{answer, err}
	}()
	up := time.NewTimer(time.Until(a.deadline))
	defer up.Stop()
	select {
	case s := <-done:
		if s.err != nil {
			return p.fail(s.err)
		}
		return p.print(s.answer)
	case <-up.C:
		return p.fail(stage(a.at.Load()).late(f, span))
	}
}

// said is what a bridge was heard to say.
type said struct {
	answer Answer
	err    error
}

func broken(fault any) error { return &failure{fmt.Sprintf("a fault of its own: %v", fault), false} }

// process is what a run writes to. It writes one answer.
type process struct {
	flags
	stdout, stderr io.Writer
	started        bool // it writes, or has written
}

// fail ends a run without an answer.
func (p *process) fail(err error) int {
	fmt.Fprintln(p.stderr, "codex-bridge hook:", err)
	f, ok := err.(*failure) //nolint:errorlint // it is made here, and never wrapped
	switch {
	case p.event == "": // every event could be one that decides
		return exitBlock
	case p.allow && ok && f.absent:
		return 0
	}
	return p.print(Failed(p.event, err.Error()))
}

// print writes an answer that Output takes.
func (p *process) print(answer Answer) int {
	line, err := answer.Output(p.event)
	if err == nil && len(line) > 0 {
		p.started = true
		_, err = p.stdout.Write(line)
	}
	if err != nil {
		fmt.Fprintln(p.stderr, "codex-bridge hook: the answer can't be written:", err)
		return p.last()
	}
	return 0
}

// collapse ends a run that has panicked: by a denial, if that can still be written.
func (p *process) collapse(fault any) (status int) {
	defer func() {
		if recover() != nil {
			status = p.last()
		}
	}()
	if !p.started {
		return p.fail(broken(fault))
	}
	fmt.Fprintln(p.stderr, "codex-bridge hook:", broken(fault))
	return p.last()
}

// last is the status where nothing better is left. An event that only looks on is let
// be: stop would take it for an order to go on.
func (p *process) last() int {
	if p.event == "" || p.event.Decides() {
		return exitBlock
	}
	return 0
}
