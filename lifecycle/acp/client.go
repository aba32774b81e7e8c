package acp

import (
	"context"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// client is what an agent may ask of us, and tell. Files and terminals it has of its own.
type client struct {
	judge func(context.Context, Ask) Answer
	tell  func(Update) bool // false: nobody keeps up with it

	mu     sync.Mutex
	ask    Ask // what all of this child's have in common
	update Update
	during context.Context // of the turn under way
	silent bool            // what it says is not of a turn: its history, say
	burst  func(error)
}

var _ sdk.Client = (*client)(nil)

// turn has what follows belong to a run, whose questions end with during; "" to none.
func (c *client) turn(during context.Context, run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.update.Run, c.silent, c.during = run, run == "", during
}

func (c *client) say(u Update) {
	c.mu.Lock()
	u.Child, u.Run, u.Agent = c.update.Child, c.update.Run, c.update.Agent
	silent := c.silent
	c.mu.Unlock()
	if !silent && !c.tell(u) {
		c.burst(errUntold)
	}
}

// RequestPermission implements sdk.Client.
func (c *client) RequestPermission(ctx context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	a := asked(p)
	c.mu.Lock()
	a.Child, a.Agent, a.Cwd, a.Behind = c.ask.Child, c.ask.Agent, c.ask.Cwd, c.ask.Behind
	during := c.during
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if during != nil { // an agent that is told to stop may wait for this
		defer context.AfterFunc(during, func() { cancel(context.Cause(during)) })()
	}
	answer := c.judge(ctx, a)
	if ctx.Err() != nil {
		answer.Allow = false
	}
	words := "refused"
	if answer.Allow {
		words = "allowed"
	}
	if answer.Reason != "" {
		words += ": " + answer.Reason
	}
	c.say(Update{Kind: Decided, Text: words, Tool: &Tool{ID: a.Call, Title: a.Title, Kind: a.Kind}})
	return answered(p.Options, answer), nil
}

// SessionUpdate implements sdk.Client.
func (c *client) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	switch u := n.Update; {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		c.say(Update{Kind: Said, Text: u.AgentMessageChunk.Content.Text.Text})
	case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
		c.say(Update{Kind: Thought, Text: u.AgentThoughtChunk.Content.Text.Text})
	case u.ToolCall != nil:
		c.say(Update{Kind: Used, Tool: &Tool{
			ID: string(u.ToolCall.ToolCallId), Title: u.ToolCall.Title, Kind: string(u.ToolCall.Kind), Status: string(u.ToolCall.Status),
		}})
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		t := &Tool{ID: string(u.ToolCallUpdate.ToolCallId), Status: string(*u.ToolCallUpdate.Status)}
		if u.ToolCallUpdate.Title != nil {
			t.Title = *u.ToolCallUpdate.Title
		}
		c.say(Update{Kind: Used, Tool: t})
	}
	return nil
}

// refused is what an agent is told that wants a file or a terminal of us: we have said at
// the beginning that there are none.
func refused(what string) error {
	return &sdk.RequestError{Code: -32601, Message: what + " is not to be had here; agents have their own"}
}

// ReadTextFile implements sdk.Client.
func (*client) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	return sdk.ReadTextFileResponse{}, refused("fs/read_text_file")
}

// WriteTextFile implements sdk.Client.
func (*client) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	return sdk.WriteTextFileResponse{}, refused("fs/write_text_file")
}

// CreateTerminal implements sdk.Client.
func (*client) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return sdk.CreateTerminalResponse{}, refused("terminal/create")
}

// KillTerminal implements sdk.Client.
func (*client) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, refused("terminal/kill")
}

// TerminalOutput implements sdk.Client.
func (*client) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{}, refused("terminal/output")
}

// ReleaseTerminal implements sdk.Client.
func (*client) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, refused("terminal/release")
}

// WaitForTerminalExit implements sdk.Client.
func (*client) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{}, refused("terminal/wait_for_exit")
}
