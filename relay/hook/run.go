package hook

import (
	"fmt"
	"io"
	"os"
	"strings"

	"codex-bridge/relay/hook/ask"
)

// exitBlock is the last resort: Codex takes it, with a text on stderr, for a denial.
const exitBlock = 2

// Run is the process that Codex starts for a hook. It has asked the bridge already (see
// package ask), or does so, writes what Codex reads, and returns the exit status. Whatever
// fails, for an event that decides it writes a denial, and for others nothing; stderr
// has the reason. The status is 0 then: with 1 Codex lets the tool run (measured).
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	p := &process{stdout: stdout, stderr: stderr}
	defer func() {
		if fault := recover(); fault != nil {
			status = p.collapse(fault)
		}
	}()
	f, err := parseFlags(args)
	p.event, p.allow = Event(f.Event), f.Allow
	if err != nil {
		reason := "its command line can't be read: " + strings.ReplaceAll(err.Error(), "\n", ", ")
		return p.fail(&ask.Failure{Reason: reason + "; codex runs this command with flags of the bridge's own"})
	}
	asking := ask.Begun()
	if asking == nil || asking.Flags != f || stdin != os.Stdin {
		asking = ask.Start(f, stdin)
	}
	answer, err := outcome(asking)
	if err != nil {
		return p.fail(err)
	}
	return p.print(answer)
}

func broken(fault any) error {
	return &ask.Failure{Reason: fmt.Sprintf("a fault of its own: %v", fault)}
}

// process is what a run writes to. It writes one answer.
type process struct {
	event          Event // "": it can't be told
	allow          bool
	stdout, stderr io.Writer
	started        bool // it writes, or has written
}

// fail ends a run without an answer.
func (p *process) fail(err error) int {
	fmt.Fprintln(p.stderr, "codex-bridge hook:", err)
	f, ok := err.(*ask.Failure) //nolint:errorlint // it is never wrapped
	switch {
	case p.event == "": // every event could be one that decides
		return exitBlock
	case p.allow && ok && f.Absent:
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
