package acp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"codex-bridge/bridge/child"
)

const (
	farewell  = 500 * time.Millisecond
	lastWords = 1 << 10
)

// errUntold is why an agent is ended whose work nobody hears.
var errUntold = errors.New("its messages come faster than the client reads them")

// agent is an agent's program, with its one session.
type agent struct {
	child  *child.Session
	stderr *words
	conn   *sdk.ClientSideConnection
	client *client
	id     sdk.SessionId
	grace  time.Duration
}

// program is how an agent is started.
type program struct {
	command []string
	cwd     string
	env     []string
	version string        // of the bridge
	open    time.Duration // how long it may take to open its session
	grace   time.Duration
}

// start starts an agent, and opens its session: the one of that id, or a new one. Of one
// that fails nothing is left.
func (p program) start(ctx context.Context, c *client, resume string) (*agent, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, p.open, fmt.Errorf("it has not opened a session after %s", p.open))
	defer cancel()
	a := &agent{stderr: &words{}, client: c, grace: p.grace}
	var err error
	if a.child, err = child.Open(p.command, p.cwd, p.env, a.stderr); err != nil {
		return nil, fmt.Errorf("the agent %q: %w", p.command[0], err)
	}
	if err := a.begin(ctx, p, resume); err != nil {
		err = fmt.Errorf("the agent %q: %w", p.command[0], a.why(ctx, err))
		return nil, errors.Join(err, a.close(ctx))
	}
	return a, nil
}

// begin shakes hands, and opens the session.
func (a *agent) begin(ctx context.Context, p program, resume string) error {
	c := a.client
	c.burst = func(error) { a.child.Kill() }
	quiet := make(chan struct{}) // until it has its logger, which it uses as soon as something comes
	a.conn = sdk.NewClientSideConnection(c, a.child, newSieve(a.child, c, quiet))
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // lines that can't be read hold what a model said
	close(quiet)
	said, err := a.conn.Initialize(ctx, sdk.InitializeRequest{
		ProtocolVersion: sdk.ProtocolVersionNumber, ClientInfo: &sdk.Implementation{Name: "codex-bridge", Version: p.version},
	})
	if err != nil {
		return err
	}
	if said.ProtocolVersion != sdk.ProtocolVersionNumber {
		return fmt.Errorf("it speaks version %d of the protocol, and the bridge %d", said.ProtocolVersion, sdk.ProtocolVersionNumber)
	}
	c.mu.Lock()
	c.ask.Behind = said.AgentInfo != nil && strings.HasSuffix(said.AgentInfo.Name, "codex-acp")
	c.mu.Unlock()
	if resume != "" {
		if !said.AgentCapabilities.LoadSession {
			return errors.New("it can't go on with a session; leave out resumeSessionId")
		}
		a.id = sdk.SessionId(resume)
		_, err = a.conn.LoadSession(ctx, sdk.LoadSessionRequest{SessionId: a.id, Cwd: p.cwd, McpServers: []sdk.McpServer{}})
		return err
	}
	opened, err := a.conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: p.cwd, McpServers: []sdk.McpServer{}})
	a.id = opened.SessionId
	return err
}

// prompt has the agent take a turn. When ctx ends it is told to stop, and ended when it
// does not within a grace.
func (a *agent) prompt(ctx context.Context, text string) (stop string, err error) {
	type end struct {
		stop string
		err  error
	}
	ended := make(chan end, 1)
	apart, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	go func() { // ends with the turn, or with the agent
		response, err := a.conn.Prompt(apart, sdk.PromptRequest{SessionId: a.id, Prompt: []sdk.ContentBlock{sdk.TextBlock(text)}})
		ended <- end{string(response.StopReason), err}
	}()
	select {
	case e := <-ended:
		return e.stop, a.why(ctx, e.err)
	case <-ctx.Done():
	}
	if err := a.conn.Cancel(apart, sdk.CancelNotification{SessionId: a.id}); err != nil {
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

// why is an error of the agent's in words: when it has ended, how, and what it said last.
func (a *agent) why(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && a.alive() {
		return cause
	}
	if a.alive() && !internal(err) {
		return message(err)
	}
	late := time.NewTimer(farewell) // between the end of its pipes and its own
	defer late.Stop()
	select {
	case <-a.child.Exited():
		return fmt.Errorf("it has ended, %s%s", a.child.Status(), a.stderr.said())
	case <-late.C:
	}
	if a.alive() {
		return message(err)
	}
	return fmt.Errorf("it closed its output%s", a.stderr.said())
}

// internal tells whether an error may be that of the connection: the protocol's package
// gives them the code of an agent's own.
func internal(err error) bool {
	var refused *sdk.RequestError
	return errors.As(err, &refused) && refused.Code == -32603
}

// message is what an agent's error says; the protocol puts the interesting part into data.
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

// alive tells whether it may take another turn.
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

// close ends the agent with what it has started.
func (a *agent) close(ctx context.Context) error {
	err := a.child.End(context.WithoutCancel(ctx), a.grace)
	if a.conn != nil {
		<-a.conn.Done()
	}
	return err
}

// words are the last that a child writes on stderr.
type words struct {
	mu   sync.Mutex
	tail child.Tail
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tail.Max = lastWords
	return w.tail.Write(p)
}

func (w *words) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text := strings.TrimSpace(strings.ToValidUTF8(string(w.tail.Kept), "\uFFFD")); text != "" {
		return "; its last words: " + text
	}
	return ""
}
