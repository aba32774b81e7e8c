// Package headless runs turns without an editor: codex exec, and codex-bridge run.
package headless

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"codex-bridge.example/bridge/child"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/setting"
	"codex-bridge.example/cmd/codex-bridge/internal/assembly"
	"codex-bridge.example/cmd/codex-bridge/internal/buildinfo"
	"codex-bridge.example/cmd/codex-bridge/internal/exit"
	"codex-bridge.example/cmd/codex-bridge/internal/follow"
	"codex-bridge.example/cmd/codex-bridge/internal/output"
	"codex-bridge.example/rpc"
)

// RunCmd is the command "codex-bridge run".
type RunCmd struct {
	Session string        `required:"" placeholder:"KEY" help:"The key of the session; the same key continues the same conversation."`
	JSON    bool          `name:"json" help:"Print each event, then the result, as a line of JSON."`
	Timeout time.Duration `default:"20m" help:"Interrupt a turn that takes longer."`
	Cwd     string        `placeholder:"FOLDER" help:"The folder of a new thread; by default the current one."`
	Model   string        `help:"The model of a new thread."`
	Sandbox string        `enum:",read-only,workspace-write,danger-full-access" default:"" help:"The sandbox of a new thread: read-only, workspace-write or danger-full-access."`
	Trigger string        `enum:"user,cron,heartbeat" default:"user" help:"What starts the turn: user, cron or heartbeat. The model reads about the last two."`
	Text    []string      `arg:"" optional:"" help:"The message; by default, or with -, standard input."`
}

// Help describes the output and the exit status.
func (RunCmd) Help() string {
	return `The reply goes to standard output: on a terminal as it comes, else the last message. Questions, progress and errors go to stderr,
and so do warnings: what the policy has refused or changed, and those of Codex.
On a terminal the bridge asks you for approvals; without one, and with --json, it declines them.

Exit status: 0 completed, 1 failed, 2 wrong call or configuration, 3 another process has the session, 4 refused by the policy,
124 timeout, 127 Codex not found, 130 interrupted.`
}

// Run runs one turn.
func (c RunCmd) Run(in io.Reader, out io.Writer) error {
	text := strings.Join(c.Text, " ")
	terminal := output.IsTerminal(os.Stdin) && output.IsTerminal(os.Stderr)
	if text == "" || text == "-" {
		if output.IsTerminal(os.Stdin) && text == "" {
			return exit.UsageError("no message: give it as an argument, or on standard input")
		}
		raw, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		text, terminal = string(raw), false
	}
	if strings.TrimSpace(text) == "" {
		return exit.UsageError("the message is blank")
	}
	if c.JSON {
		terminal = false
	}
	screen := &follow.Screen{
		Out: out, Err: os.Stderr, Stream: output.IsTerminal(os.Stdout) && !c.JSON, Progress: output.IsTerminal(os.Stderr), JSON: c.JSON, Now: time.Now,
		Line: func(text string) { output.PrintError("%s", text) },
	}
	t := &turnRun{RunCmd: c, text: text, screen: screen}
	if terminal {
		t.person = follow.NewPerson(screen, in, c.Session)
	}
	return t.run()
}

// turnRun runs one turn: it starts the bridge, runs the turn and ends the bridge.
type turnRun struct {
	RunCmd
	text   string
	screen *follow.Screen
	person *follow.Person // nil without a terminal
	client *child.Client
	// questions ends with the person's first interrupt, which cancels the open question.
	questions context.Context
	cancel    context.CancelFunc
}

func (t *turnRun) run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cwd, err := exit.ExistingFolder("--cwd", t.Cwd)
	if err != nil {
		return err
	}
	said := output.LogTail{Stderr: os.Getenv("CODEX_BRIDGE_LOG") != ""}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t.questions, t.cancel = context.WithCancel(ctx)
	t.client, err = child.Connect(ctx, child.ClientOptions{
		Command: []string{self, "app-server"}, Dir: cwd, Env: os.Environ(), Stderr: &said, Handle: t.handle, Grace: runGrace,
	})
	if err != nil {
		return err
	}
	t.screen.Begin()
	result, err := t.turn(ctx)
	if closed := t.client.Close(ctx); err == nil {
		err = closed
	}
	var answered *rpc.Error
	if err != nil && !errors.As(err, &answered) {
		answered = rpc.Errorf(rpc.CodeUpstream, "%v", err)
		if code := t.client.ExitCode(); code == exit.Config || code == exit.NotFound {
			t.screen.Interrupt(func(io.Writer) { printOutput(said.String()) })
			return exit.Status(code)
		}
		answered.Message += said.LastLine()
	}
	t.screen.End(result, answered)
	return t.outcome(result, answered)
}

// runGrace is how long the bridge has to end after the turn, with its Codex.
const runGrace = 5*time.Second + assembly.EndGrace

// turn runs the turn. A first SIGINT interrupts the turn; a second one ends this process.
//
// The bridge starts in the folder of a new thread. With a cwd, Codex would trust the project for good.
func (t *turnRun) turn(ctx context.Context) (rpc.Value, error) {
	_, err := t.client.Initialize(ctx, map[string]any{
		"clientInfo": map[string]any{"name": "codex-bridge-run", "title": "codex-bridge run", "version": buildinfo.Version},
		"capabilities": map[string]any{
			"experimentalApi": true, "bridge": map[string]any{"version": 1, "approvals": t.person != nil, "elicitations": t.person != nil},
		},
	})
	if err != nil {
		return rpc.Value{}, err
	}
	start := make(map[string]any)
	for name, text := range map[string]string{"model": t.Model, "sandbox": t.Sandbox} {
		if text != "" {
			start[name] = text
		}
	}
	t.warnOfIgnoredFlags(ctx)
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { t.drawProgress(ctx) })
	helpers.Go(func() { t.watchInterrupt(ctx) })
	return t.client.Call(ctx, "bridge/turn/run", map[string]any{
		"sessionKey": t.Session, "input": t.text, "thread": start, "trigger": t.Trigger, "timeoutMs": t.Timeout.Milliseconds(),
	})
}

// warnOfIgnoredFlags shows a warning if the session has a thread and flags for a new one are set.
// Codex resumes a thread with its own settings.
func (t *turnRun) warnOfIgnoredFlags(ctx context.Context) {
	var flags []string
	for _, flag := range []struct{ name, value string }{{"--cwd", t.Cwd}, {"--model", t.Model}, {"--sandbox", t.Sandbox}} {
		if flag.value != "" && flag.value != setting.ReadOnly { // which the thread gets
			flags = append(flags, flag.name)
		}
	}
	if len(flags) == 0 {
		return
	}
	kept, err := t.client.Call(ctx, "bridge/binding/read", map[string]any{"sessionKey": t.Session})
	if thread, ok := kept.Get("binding").Get("threadId").Text(); err == nil && ok {
		t.warn(thread, fmt.Sprintf("ignored %s: the session goes on with its thread %s and the thread's settings; to start a new one, use \"codex-bridge threads clear %s\"",
			strings.Join(flags, ", "), display.Line(thread), display.Line(t.Session)))
	}
}

func (t *turnRun) warn(thread, text string) {
	if t.JSON {
		t.screen.Warn(thread, text)
		return
	}
	t.screen.Interrupt(func(io.Writer) { output.PrintError("codex-bridge: %s", text) })
}

// drawProgress redraws the progress line every second until ctx ends.
func (t *turnRun) drawProgress(ctx context.Context) {
	for each := time.NewTicker(time.Second); ; {
		select {
		case <-each.C:
			t.screen.Tick()
		case <-ctx.Done():
			each.Stop()
			return
		}
	}
}

func (t *turnRun) watchInterrupt(ctx context.Context) {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	select {
	case <-keys:
	case <-ctx.Done():
		return
	}
	signal.Stop(keys) // the next SIGINT ends this process and Codex
	t.cancel()
	for ctx.Err() == nil {
		result, err := t.client.Call(ctx, "bridge/turn/interrupt", map[string]any{"sessionKey": t.Session})
		if err == nil && result.Get("turnId").Exists() {
			return
		}
		select { // the turn has not started yet, or has ended: then ctx ends too
		case <-time.After(interruptRetry):
		case <-ctx.Done():
		}
	}
}

// interruptRetry is the pause before an interrupt is sent again to a turn that has not started.
const interruptRetry = 200 * time.Millisecond

// handle shows notifications, and asks the user for the responses to requests.
func (t *turnRun) handle(ctx context.Context, m *child.Message) {
	if !m.IsRequest() {
		t.screen.Show(m.Method, m.Params)
		return
	}
	if t.person == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.questions, cancel)()
	if result, ok := t.person.Answer(ctx, m.Method, m.Params); ok {
		_ = m.Reply(result) // fails only if the bridge has ended
	}
}

// outcome prints why the turn failed and returns its exit status; nil if it completed.
func (t *turnRun) outcome(result rpc.Value, failed *rpc.Error) error {
	problem, code := "", exit.Failed
	switch {
	case failed != nil:
		problem = failed.Message
		switch failed.Code {
		case rpc.CodeInvalidParams:
			code = exit.Config
		case rpc.CodeBusy:
			code = exit.Busy
		case rpc.CodeRefused, rpc.CodeNotVerified:
			code = exit.Refused
		case rpc.CodeDeadline:
			code = exit.TimedOut
		}
	case result.Get("status").Is("completed"):
		return nil
	case result.Get("status").Is("interrupted"):
		problem, code = "the turn was interrupted", exit.Interrupted
	default:
		problem, _ = result.Get("error").Text()
		problem = "the turn has failed: " + problem
	}
	if !t.JSON {
		output.PrintError("codex-bridge: %s", follow.StripControls(problem))
	}
	return exit.Status(code)
}

// printOutput prints the stderr of another codex-bridge: its errors as this process prints them, its log and the
// lines of Codex as they are.
func printOutput(text string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "codex-bridge: ") {
			output.PrintError("%s", strings.TrimSuffix(line, "\n"))
		} else {
			fmt.Fprint(os.Stderr, line)
		}
	}
}
