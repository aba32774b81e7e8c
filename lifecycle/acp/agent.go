package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"codex-bridge.example/bridge/child"
)

const (
	exitWait   = 500 * time.Millisecond // for an agent's exit after its output is closed
	stderrTail = 1 << 10                // bytes of an agent's stderr that errors show
)

// errClientTooSlow is the reason for ending an agent whose updates fill the outbox.
var errClientTooSlow = errors.New("its messages come faster than the client reads them")

// agent is an agent's process with its session.
type agent struct {
	child  *child.Session
	stderr *stderrBuffer
	conn   *sdk.ClientSideConnection
	client *client
	id     sdk.SessionId
	grace  time.Duration
}

// program describes how to start an agent.
type program struct {
	command []string
	cwd     string
	env     []string
	version string        // of the bridge
	open    time.Duration // how long it may take to open its session
	grace   time.Duration
}

// codexACP is the agent that runs Codex by the program in CODEX_PATH, which is this bridge.
const codexACP = "codex-acp"

// runsCodex reports whether the configured program is codexACP, by its name or that of its package, and gets
// this bridge as its Codex. The name that an agent reports proves nothing.
func (p program) runsCodex() bool {
	if !slices.ContainsFunc(p.env, func(pair string) bool { return strings.HasPrefix(pair, "CODEX_PATH=") }) {
		return false
	}
	path, err := exec.LookPath(p.command[0])
	if err != nil {
		return false
	}
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	return name == codexACP || slices.Contains(strings.Split(filepath.ToSlash(target), "/"), codexACP)
}

// start starts an agent and opens its session: the session with the id resume, or a new one. On an
// error nothing is left.
func (p program) start(ctx context.Context, c *client, resume string) (*agent, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.open, fmt.Errorf("it has not opened a session after %s", p.open))
	defer cancel()
	a := &agent{stderr: &stderrBuffer{}, client: c, grace: p.grace}
	var err error
	if a.child, err = child.Open(p.command, p.cwd, p.env, a.stderr); err != nil {
		return nil, fmt.Errorf("the agent %q: %w", p.command[0], err)
	}
	if err := a.initialize(ctx, p, resume); err != nil {
		err = fmt.Errorf("the agent %q: %w", p.command[0], a.describeError(ctx, err))
		return nil, errors.Join(err, a.close(ctx))
	}
	return a, nil
}

// initialize performs the handshake and opens the session.
func (a *agent) initialize(ctx context.Context, p program, resume string) error {
	c := a.client
	c.onFull = func(error) { a.child.Kill() }
	ready := make(chan struct{}) // closed when the connection, which reads at once, has its logger
	a.conn = sdk.NewClientSideConnection(c, a.child, newMessageFilter(a.child, c, ready))
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // invalid lines may contain a model's text
	close(ready)
	response, err := a.conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber, ClientInfo: &sdk.Implementation{Name: "codex-bridge", Version: p.version},
	})
	if err != nil {
		return err
	}
	if response.ProtocolVersion != sdk.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the protocol, and the bridge %d", response.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	c.mu.Lock()
	c.ask.Behind = p.runsCodex() && response.AgentInfo != nil && strings.HasSuffix(response.AgentInfo.Name, codexACP)
	c.mu.Unlock()
	if resume != "" {
		if !response.AgentCapabilities.LoadSession {
			return errors.New("it can't resume a session; leave out resumeSessionId")
		}
		a.id = sdk.SessionId(resume)
		_, err = a.conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: a.id, Cwd: p.cwd, McpServers: []sdk.McpServer{}})
		return err
	}
	opened, err := a.conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: p.cwd, McpServers: []sdk.McpServer{}})
	a.id = opened.SessionId
	return err
}

// prompt runs one turn. When ctx ends it cancels the turn, and kills an agent that does not end it
// within a.grace.
func (a *agent) prompt(ctx context.Context, text string) (stop string, err error) {
	type end struct {
		stop string
		err  error
	}
	ended := make(chan end, 1)
	turnCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() { // ends with the turn, or with the agent
		response, err := a.conn.Prompt(turnCtx, sdk.PromptRequest{SessionId: a.id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
		ended <- end{string(response.StopReason), err}
	}()
	select {
	case e := <-ended:
		return e.stop, a.describeError(ctx, e.err)
	case <-ctx.Done():
	}
	if err := a.conn.Cancel(turnCtx, sdk.CancelNotification{SessionId: a.id}); err != nil {
		a.child.Kill()
	}
	late := time.NewTimer(a.grace)
	defer late.Stop()
	select {
	case <-ended:
	case <-late.C:
		a.child.Kill()
		cancel()
		<-ended
	}
	return string(sdk.StopReasonCancelled), context.Cause(ctx)
}

// describeError describes an agent's error. For an agent that has ended it names the exit status and
// the end of stderr.
func (a *agent) describeError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && a.alive() {
		return cause
	}
	if a.alive() && !isInternal(err) {
		return message(err)
	}
	late := time.NewTimer(exitWait)
	defer late.Stop()
	select {
	case <-a.child.Exited():
		return fmt.Errorf("it has ended, %s%s", a.child.Status(), a.stderr.describe())
	case <-late.C:
	}
	if a.alive() {
		return message(err)
	}
	return fmt.Errorf("it closed its output%s", a.stderr.describe())
}

// isInternal reports whether an error may be one of the connection: the SDK gives these the code of
// an agent's internal error.
func isInternal(err error) bool {
	var refused *sdk.RequestError
	return errors.As(err, &refused) && refused.Code == -32603
}

// message returns an agent's error with the text that the protocol puts into data.
func message(err error) error {
	var refused *sdk.RequestError
	if !errors.As(err, &refused) {
		return err
	}
	text := refused.Message
	if data, ok := refused.Data.(map[string]any); ok {
		for _, name := range []string{"message", "error", "details"} {
			if more, ok := data[name].(string); ok && more != "" {
				text += ": " + more
				break
			}
		}
	}
	return errors.New(text)
}

// alive reports whether the agent can take another turn.
func (a *agent) alive() bool {
	select {
	case <-a.child.Exited():
		return false
	case <-a.conn.Done():
		return false
	default:
		return true
	}
}

// close ends the agent and all its processes.
func (a *agent) close(ctx context.Context) error {
	err := a.child.End(context.WithoutCancel(ctx), a.grace)
	if a.conn != nil {
		<-a.conn.Done()
	}
	return err
}

// stderrBuffer keeps the end of a child's stderr.
type stderrBuffer struct {
	mu   sync.Mutex
	tail child.Tail
}

func (w *stderrBuffer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail.Max = stderrTail
	return w.tail.Write(p)
}

func (w *stderrBuffer) describe() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := strings.TrimSpace(strings.ToValidUTF8(string(w.tail.Kept), "\uFFFD")); text != "" {
		return "; its last words: " + text
	}
	return ""
}
