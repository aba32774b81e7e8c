package acp

import (
	"context"
	"slices"
	"sync"

	sdk "github.com/coder/acp-go-sdk"
)

// client handles the requests and notifications of an agent. It offers no files and terminals.
type client struct {
	judge func(context.Context, Ask) Answer
	put   func(Update) bool // false: the outbox is full

	mu     sync.Mutex
	ask    Ask             // the fields that all requests of this child have in common
	run    string          // "" outside of a turn: updates, such as the session's history, are dropped
	during context.Context // of the current turn, or of all agents
	onFull func(error)     // called if put returns false
	calls  announcedCalls
}

var _ sdk.Client = (*client)(nil)

// setTurn assigns the following updates to a run; "" means none. Permission requests end with
// during.
func (c *client) setTurn(during context.Context, run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.run, c.during = run, during
}

// send puts an update of the current run into the outbox.
func (c *client) send(u Update) {
	c.mu.Lock()
	u.Child, u.Run, u.Agent = c.ask.Child, c.run, c.ask.Agent
	c.mu.Unlock()
	if u.Run != "" && !c.put(u) {
		c.onFull(errClientTooSlow)
	}
}

// RequestPermission implements sdk.Client.
func (c *client) RequestPermission(ctx context.Context, p sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	c.mu.Lock()
	a := readToolCall(c.calls.merge(p.ToolCall), c.ask.Folder)
	a.Child, a.Agent, a.Behind = c.ask.Child, c.ask.Agent, c.ask.Behind
	during := c.during
	c.mu.Unlock()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// An agent may wait for this answer before it handles a cancellation.
	defer context.AfterFunc(during, func() { cancel(context.Cause(during)) })()
	answer := Answer{Reason: "a yes could not be given: the agent offers no answer that allows it once (kind allow_once)"}
	if slices.ContainsFunc(p.Options, func(o sdk.PermissionOption) bool { return o.Kind == sdk.PermissionOptionKindAllowOnce }) {
		answer = c.judge(ctx, a)
	}
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
	c.send(Update{Kind: Decided, Text: words, Tool: &Tool{ID: a.Call, Title: a.Title, Kind: a.Kind}})
	return permissionResponse(p.Options, answer), nil
}

// SessionUpdate implements sdk.Client.
func (c *client) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	c.mu.Lock()
	switch u := n.Update; {
	case u.ToolCall != nil:
		c.calls.announce(*u.ToolCall)
	case u.ToolCallUpdate != nil:
		c.calls.update(*u.ToolCallUpdate)
	}
	c.mu.Unlock()
	switch u := n.Update; {
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		c.send(Update{Kind: Said, Text: u.AgentMessageChunk.Content.Text.Text})
	case u.AgentThoughtChunk != nil && u.AgentThoughtChunk.Content.Text != nil:
		c.send(Update{Kind: Thought, Text: u.AgentThoughtChunk.Content.Text.Text})
	case u.ToolCall != nil:
		c.send(Update{Kind: Used, Tool: &Tool{
			ID: string(u.ToolCall.ToolCallId), Title: u.ToolCall.Title, Kind: string(u.ToolCall.Kind), Status: string(u.ToolCall.Status),
		}})
	case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
		t := &Tool{ID: string(u.ToolCallUpdate.ToolCallId), Status: string(*u.ToolCallUpdate.Status)}
		if u.ToolCallUpdate.Title != nil {
			t.Title = *u.ToolCallUpdate.Title
		}
		c.send(Update{Kind: Used, Tool: t})
	}
	return nil
}

// unsupported returns the error for a file or terminal request. The bridge's capabilities have
// neither.
func unsupported(method string) error {
	return &sdk.RequestError{Code: -32601, Message: method + " is not supported; use the agent's own files and terminals"}
}

// ReadTextFile implements sdk.Client.
func (*client) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	return sdk.ReadTextFileResponse{}, unsupported("fs/read_text_file")
}

// WriteTextFile implements sdk.Client.
func (*client) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	return sdk.WriteTextFileResponse{}, unsupported("fs/write_text_file")
}

// CreateTerminal implements sdk.Client.
func (*client) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	return sdk.CreateTerminalResponse{}, unsupported("terminal/create")
}

// KillTerminal implements sdk.Client.
func (*client) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	return sdk.KillTerminalResponse{}, unsupported("terminal/kill")
}

// TerminalOutput implements sdk.Client.
func (*client) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	return sdk.TerminalOutputResponse{}, unsupported("terminal/output")
}

// ReleaseTerminal implements sdk.Client.
func (*client) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	return sdk.ReleaseTerminalResponse{}, unsupported("terminal/release")
}

// WaitForTerminalExit implements sdk.Client.
func (*client) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	return sdk.WaitForTerminalExitResponse{}, unsupported("terminal/wait_for_exit")
}
