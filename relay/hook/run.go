package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"codex-bridge.example/relay/hook/ask"
)

// exitBlock is the status that Codex takes for a denial if stderr has a text. It is used
// only when no denial can be written.
const exitBlock = 2

// Run runs the process that Codex starts for a hook: it gets an answer from the bridge
// (package ask may have sent the request already), writes Codex's output, and returns the
// exit status. On any failure it writes a denial if the event decides, and nothing
// otherwise; stderr gets the reason. The status is still 0 then, because with 1 Codex lets
// the tool run (measured with 0.169).
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	p := &process{stdout: stdout, stderr: stderr}
	defer func() {
		if fault := recover(); fault != nil {
			status = p.failAfterPanic(fault)
		}
	}()
	f, err := parseFlags(args)
	p.event, p.allow = Event(f.Event), f.Allow
	if err != nil {
		reason := "its command line can't be read: " + strings.ReplaceAll(err.Error(), "\n", ", ")
		return p.fail(&ask.Failure{Reason: reason + "; codex runs this command with flags that the bridge writes"})
	}
	asking := ask.Early()
	if asking == nil || asking.Flags != f || stdin != os.Stdin {
		asking = ask.Start(f, stdin)
	}
	if err := asking.WriteError(); err != nil {
		return p.failWrite(err)
	}
	output, err := awaitOutput(asking)
	if err != nil {
		return p.fail(err)
	}
	return p.write(output)
}

func panicFailure(fault any) error {
	return &ask.Failure{Reason: fmt.Sprintf("internal error: %v", fault)}
}

// process holds the output of a run, which gets at most one answer.
type process struct {
	event          Event // "": unknown
	allow          bool
	stdout, stderr io.Writer
	wrote          bool // something has been written to stdout, or may have been
}

// fail ends a run without an answer and returns the exit status.
func (p *process) fail(err error) int {
	fmt.Fprintln(p.stderr, "codex-bridge hook:", err)
	f, ok := err.(*ask.Failure)      //nolint:errorlint // it is never wrapped
	_, unread := err.(unreadFailure) //nolint:errorlint // nor is this
	switch {
	case p.event == "": // it may be an event that decides
		return exitBlock
	case p.allow && ok && f.NoBridge:
		return 0
	case unread:
		return p.write(FailureAnswer(p.event, err.Error()).mustEncode(p.event))
	}
	return p.write(failureAnswer(p.event, unansweredPrefix+err.Error()).mustEncode(p.event))
}

// write writes the output for Codex and returns the exit status.
func (p *process) write(output []byte) int {
	if len(output) == 0 {
		return 0
	}
	p.wrote = true
	if _, err := p.stdout.Write(output); err != nil {
		return p.failWrite(err)
	}
	return 0
}

// failWrite ends a run whose output Codex has not got, or in part.
func (p *process) failWrite(err error) int {
	fmt.Fprintln(p.stderr, "codex-bridge hook: the answer can't be written:", err)
	return p.fallbackStatus()
}

// failAfterPanic ends a run that has panicked, with a denial if it can still be written.
func (p *process) failAfterPanic(fault any) (status int) {
	defer func() {
		if recover() != nil {
			status = p.fallbackStatus()
		}
	}()
	if !p.wrote {
		return p.fail(panicFailure(fault))
	}
	fmt.Fprintln(p.stderr, "codex-bridge hook:", panicFailure(fault))
	return p.fallbackStatus()
}

// fallbackStatus returns the status when no output can be written. For an event that only
// observes it is 0: with stop, Codex would take exitBlock as an order to continue.
func (p *process) fallbackStatus() int {
	if p.event == "" || p.event.Decides() {
		return exitBlock
	}
	return 0
}

// parseFlags parses the flags that [Server.Command] writes, as "--name value" or
// "--name=value". It returns the event even with an error, or "" if the event is not known.
func parseFlags(args []string) (f ask.Flags, err error) {
	values := map[string]string{}
	for len(args) > 0 {
		name, value, joined := strings.Cut(args[0], "=")
		args = args[1:]
		if !joined && len(args) > 0 {
			value, args, joined = args[0], args[1:], true
		}
		switch _, twice := values[name]; {
		case name != "--socket" && name != "--event" && name != "--timeout" && name != "--on-failure":
			err = errors.Join(err, fmt.Errorf("unknown flag %q", name))
		case twice:
			err = errors.Join(err, fmt.Errorf("%s is given twice", name))
			value = "" // use neither value
		case !joined:
			err = errors.Join(err, fmt.Errorf("%s has no value", name))
		}
		values[name] = value
	}
	if f.Event = values["--event"]; Event(f.Event).Name() == "" {
		err = errors.Join(err, fmt.Errorf("--event must be one of %v, not %q", Events(), f.Event))
		f.Event = ""
	}
	if f.Socket = values["--socket"]; !filepath.IsAbs(f.Socket) {
		err = errors.Join(err, fmt.Errorf("--socket must be an absolute path, not %q", f.Socket))
	}
	var wrong error
	if f.Timeout, wrong = time.ParseDuration(values["--timeout"]); wrong != nil || f.Timeout <= 0 {
		err = errors.Join(err, fmt.Errorf("--timeout must be a duration such as 10s, not %q", values["--timeout"]))
	}
	switch how, set := values["--on-failure"]; {
	case how == "allow":
		f.Allow = true
	case set && how != "deny":
		err = errors.Join(err, fmt.Errorf("--on-failure must be deny or allow, not %q", how))
	}
	return f, err
}
