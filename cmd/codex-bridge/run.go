package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"codex-bridge/bridge/appserver"
	"codex-bridge/cmd/codex-bridge/internal/follow"
	"codex-bridge/rpc"
)

// Exit statuses of run beside those of the contract.
const (
	exitBusy        = 3   // another process has the session
	exitRefused     = 4   // by the policy
	exitTimedOut    = 124 // as of timeout(1)
	exitInterrupted = 130 // as of a shell
)

type runCmd struct {
	Session string        `required:"" placeholder:"KEY" help:"The key of the session; the same key continues the same conversation."`
	JSON    bool          `name:"json" help:"Print each event, then the result, as a line of JSON."`
	Timeout time.Duration `default:"20m" help:"Interrupt a turn that takes longer."`
	Cwd     string        `default:"." placeholder:"FOLDER" help:"The folder of a new thread."`
	Model   string        `help:"The model of a new thread."`
	Sandbox string        `enum:",read-only,workspace-write,danger-full-access" default:"" help:"The sandbox of a new thread: read-only, workspace-write or danger-full-access."`
	Trigger string        `enum:"user,cron,heartbeat" default:"user" help:"What starts the turn: user, cron or heartbeat. The model reads about the last two."`
	Text    []string      `arg:"" optional:"" help:"The message; by default, or with -, standard input."`
}

// Help describes the output and the exit status.
func (runCmd) Help() string {
	return `The reply goes to standard output: on a terminal as it comes, else the last message. Questions, progress and errors go to stderr.
On a terminal the bridge asks you for approvals; without one, and with --json, it declines them.

Exit status: 0 completed, 1 failed, 2 wrong call or configuration, 3 another process has the session, 4 refused by the policy,
124 timeout, 127 Codex not found, 130 interrupted.`
}

// Run runs one turn.
func (c runCmd) Run(in io.Reader, out io.Writer) error {
	text := strings.Join(c.Text, " ")
	terminal := isTerminal(os.Stdin) && isTerminal(os.Stderr)
	if text == "" || text == "-" {
		if isTerminal(os.Stdin) && text == "" {
			return wrongUse("what is to be said? Give a text, or write it to standard input")
		}
		raw, err := io.ReadAll(in)
		if err != nil {
			return err
		}
		text, terminal = string(raw), false
	}
	if strings.TrimSpace(text) == "" {
		return wrongUse("there is nothing to say: the text is blank")
	}
	if c.JSON {
		terminal = false
	}
	screen := &follow.Screen{
		Out: out, Err: os.Stderr, Stream: isTerminal(os.Stdout) && !c.JSON, Progress: isTerminal(os.Stderr), JSON: c.JSON, Now: time.Now,
	}
	t := &talk{runCmd: c, text: text, screen: screen}
	if terminal {
		t.person = follow.NewPerson(screen, in, c.Session)
	}
	return t.run()
}

// talk is one turn, from the start of the bridge to its end.
type talk struct {
	runCmd
	text   string
	screen *follow.Screen
	person *follow.Person // nil: nobody is there to be asked
	client *appserver.Client
	// asking ends with the person's first interrupt, which cancels the open question.
	asking context.Context
	cancel context.CancelFunc
}

func (t *talk) run() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cwd, err := filepath.Abs(t.Cwd)
	if err != nil {
		return wrongUse("--cwd: " + err.Error())
	}
	var said tail
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	t.asking, t.cancel = context.WithCancel(ctx)
	t.client, err = appserver.Start(ctx, appserver.Options{
		Command: []string{self, "app-server"}, Dir: cwd, Env: os.Environ(), Stderr: &said, Handle: t.handle, Grace: runGrace,
	})
	if err != nil {
		return err
	}
	t.screen.Begin()
	result, err := t.turn(ctx, cwd)
	if closed := t.client.Close(ctx); err == nil {
		err = closed
	}
	var answered *rpc.Error
	if err != nil && !errors.As(err, &answered) {
		answered = rpc.Errorf(rpc.CodeUpstream, "%v", err)
		if status := strings.TrimPrefix(t.client.Status(), "exit status "); status == "2" || status == "127" {
			t.screen.Aside(func(stderr io.Writer) { fmt.Fprintf(stderr, "%s", said.String()) })
			return silent(map[string]int{"2": exitConfig, "127": exitNotFound}[status])
		}
		answered.Message += said.last()
	}
	t.screen.End(result, answered)
	return t.outcome(result, answered)
}

// runGrace is how long codex has to end when the turn is over.
const runGrace = 5 * time.Second

// turn runs the turn. An interrupt from the keyboard interrupts it; a second one ends us.
func (t *talk) turn(ctx context.Context, cwd string) (rpc.Value, error) {
	_, err := t.client.Initialize(ctx, map[string]any{
		"clientInfo": map[string]any{"name": "codex-bridge-run", "title": "codex-bridge run", "version": Version},
		"capabilities": map[string]any{
			"experimentalApi": true, "bridge": map[string]any{"version": 1, "approvals": t.person != nil, "elicitations": t.person != nil},
		},
	})
	if err != nil {
		return rpc.Value{}, err
	}
	start := map[string]any{"cwd": cwd}
	for name, text := range map[string]string{"model": t.Model, "sandbox": t.Sandbox} {
		if text != "" {
			start[name] = text
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	beside.Go(func() { t.tick(ctx) })
	beside.Go(func() { t.keyboard(ctx) })
	return t.client.Call(ctx, "bridge/turn/run", map[string]any{
		"sessionKey": t.Session, "input": t.text, "thread": start, "trigger": t.Trigger, "timeoutMs": t.Timeout.Milliseconds(),
	})
}

// tick draws the line of progress anew until ctx ends.
func (t *talk) tick(ctx context.Context) {
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

func (t *talk) keyboard(ctx context.Context) {
	keys := make(chan os.Signal, 1)
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	select {
	case <-keys:
	case <-ctx.Done():
		return
	}
	signal.Stop(keys) // the next one ends the process, and codex with it
	t.cancel()
	for ctx.Err() == nil {
		result, err := t.client.Call(ctx, "bridge/turn/interrupt", map[string]any{"sessionKey": t.Session})
		if err == nil && result.Get("turnId").Exists() {
			return
		}
		select { // it has not begun, or is over: then ctx ends
		case <-time.After(interruptAgain):
		case <-ctx.Done():
		}
	}
}

// interruptAgain is for a turn that is not there yet.
const interruptAgain = 200 * time.Millisecond

// handle shows what the app-server says, and asks the person.
func (t *talk) handle(ctx context.Context, m *appserver.Message) {
	if !m.IsRequest() {
		t.screen.Take(m.Method, m.Params)
		return
	}
	if t.person == nil {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.asking, cancel)()
	if result, ok := t.person.Answer(ctx, m.Method, m.Params); ok {
		_ = m.Reply(result) // of a bridge that has ended
	}
}

// outcome is the error of the turn's end, told, with its exit status.
func (t *talk) outcome(result rpc.Value, failed *rpc.Error) error {
	problem, code := "", exitFailed
	switch {
	case failed != nil:
		problem = failed.Message
		switch failed.Code {
		case rpc.CodeInvalidParams:
			code = exitConfig
		case rpc.CodeBusy:
			code = exitBusy
		case rpc.CodeRefused, rpc.CodeNotVerified:
			code = exitRefused
		case rpc.CodeDeadline:
			code = exitTimedOut
		}
	case result.Get("status").Is("completed"):
		return nil
	case result.Get("status").Is("interrupted"):
		problem, code = "the turn was interrupted", exitInterrupted
	default:
		problem, _ = result.Get("error").Text()
		problem = "the turn has failed: " + problem
	}
	if !t.JSON {
		fmt.Fprintln(os.Stderr, "codex-bridge: "+follow.Plain(problem))
	}
	return silent(code)
}

func wrongUse(text string) error {
	fmt.Fprintln(os.Stderr, "codex-bridge: "+text)
	return silent(exitConfig)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// tail is the end of what the bridge has logged: it is shown when it was the last word.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const maxTail = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if n := len(t.kept) - maxTail; n > 0 {
		t.kept = t.kept[n:]
	}
	if os.Getenv("CODEX_BRIDGE_LOG") != "" {
		_, _ = os.Stderr.Write(b)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// last is the last line, after a colon; "" for none.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := bytes.Split(bytes.TrimSpace(t.kept), []byte("\n"))
	if last := string(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}
