package serve

import (
	"context"
	"slices"

	"codex-bridge.example/bridge"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

// shownQuestion is a question that a client is shown, and another one has to answer.
type shownQuestion struct {
	starter *Client // who has to answer
	decline func()  // for the client that is shown the question
}

// maxShown bounds openThread.shown. Few questions of a thread are pending at once.
const maxShown = 256

// declineAll declines questions that no client can answer any more. One that has its answer stays.
func (s *Clients) declineAll(questions []shownQuestion) {
	for _, q := range questions {
		q.decline()
	}
}

// maxParents bounds the levels of subagents.
const maxParents = 8

// find returns the open thread of a message: that of a subagent's parent if no client has opened the
// subagent's own; nil if there is none.
func (s *Clients) find(id string) *openThread {
	for range maxParents {
		s.mu.Lock()
		t := s.threads[id]
		s.mu.Unlock()
		if t != nil {
			return t
		}
		if id = s.options.Parent(id); id == "" {
			break
		}
	}
	return nil
}

// starter returns who began a turn, if that client still has the thread open, and the clients that have.
// held is the thread that the starter has open: id, or a parent of it. It is nil if no client has opened one.
func (s *Clients) starter(id, turn string) (held *openThread, starter *Client, clients []*Client) {
	t := s.find(id)
	if t == nil {
		return nil, nil, nil
	}
	s.mu.Lock()
	if starter = s.turns[turn]; starter == nil {
		starter = t.beginner()
	}
	clients = t.clients
	s.mu.Unlock()
	if slices.Contains(clients, starter) {
		return t, starter, clients
	}
	// Codex asks the clients of the parent, too, if another client has opened a subagent's thread (measured
	// with Codex 0.169).
	for range maxParents {
		if id = s.options.Parent(id); id == "" {
			break
		}
		s.mu.Lock()
		parent := s.threads[id]
		has := parent != nil && slices.Contains(parent.clients, starter)
		s.mu.Unlock()
		if has {
			return parent, starter, clients
		}
	}
	return t, nil, clients
}

// forPerson are the requests of Codex that a person answers.
var forPerson = []string{
	"item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
	"execCommandApproval", "applyPatchApproval", "mcpServer/elicitation/request", "item/tool/requestUserInput",
}

const toolCall = "item/tool/call"

// part is the role of a client in a request of Codex that each client of a thread gets.
type part uint8

const (
	answers  part = iota // its person, or its bridge
	watches              // the person sees the question, and owner answers
	ignores              // owner answers
	declines             // its bridge: the client that began the turn has gone. Codex takes the first answer
)

// question lets one client answer a request of Codex.
func (c *Client) question(_ context.Context, msg *bridge.ServerMessage) {
	if !msg.ID.IsValid() {
		return
	}
	params := msg.Root().Get("params")
	thread := threadOf(params)
	switch plays, t, owner := c.part(msg.Method, params); plays {
	case ignores:
		c.skip(msg, t, owner, thread)
	case watches:
		c.show(msg, t, owner, thread)
	case declines:
		c.warn("a question is declined, since the client that began the turn has gone", msg.Method, thread)
		if msg.Method == toolCall {
			msg.Reply(noToolResult)
		} else if no := c.clients.options.Decline(msg.Method, params); no != nil {
			msg.Reply(no)
		} else {
			msg.Refuse(rpc.Errorf(rpc.CodeRefused, "the client that began the turn has gone"))
		}
	}
}

// part returns the client's part in a request, the thread, and the client that answers.
func (c *Client) part(method string, params rpc.Value) (plays part, t *openThread, owner *Client) {
	thread := threadOf(params)
	if thread == "" {
		return answers, nil, nil
	}
	turn, _ := params.Get("turnId").Text()
	var clients []*Client
	if t, owner, clients = c.clients.starter(thread, turn); t != nil && method == toolCall {
		if own := c.clients.toolsOf(t); own != nil && own.IsOwnTool(params) {
			owner = own
		}
		if owner == nil && c.IsOwnTool(params) && c.clients.isDepartedTurn(t, turn) {
			return declines, t, nil
		}
	}
	forUser := slices.Contains(forPerson, method)
	if owner == nil && !forUser && len(clients) > 0 {
		owner = clients[0]
	}
	switch {
	case owner == c, owner == nil && !forUser:
		return answers, t, owner
	case !forUser:
		return ignores, t, owner
	case c.clients.options.AnyMayAnswer && slices.Contains(clients, c):
		return answers, t, owner
	case owner == nil:
		return declines, t, owner
	}
	return watches, t, owner
}

// threadOf returns the id of the thread in params, "" if there is none.
func threadOf(params rpc.Value) string {
	thread, ok := params.Get("threadId").Text()
	if !ok {
		thread, _ = params.Get("conversationId").Text() // legacy approvals
	}
	return thread
}

// toolsOf returns the client that has started the thread with tools of its own and still has it open, or nil.
func (s *Clients) toolsOf(t *openThread) *Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(t.clients, t.tools) {
		return nil
	}
	return t.tools
}

// isDepartedTurn reports whether the client that began the turn has left.
func (s *Clients) isDepartedTurn(t *openThread, turn string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.turns[turn]; one != nil {
		return one == departed
	}
	return t.beginner() == departed
}

// show sends the client a question that starter has to answer.
func (c *Client) show(msg *bridge.ServerMessage, t *openThread, starter *Client, thread string) {
	method := msg.Method
	request := msg.Show(func() {
		c.warn("an answer is ignored, since only the client that began the turn may answer; see serve.answer", method, thread)
	})
	if no := c.clients.options.Decline(method, msg.Root().Get("params")); no != nil {
		c.clients.declineWithout(starter, t, func() {
			if request.Reply(no) {
				c.warn("a question is declined, since the client that began the turn has gone", method, thread)
			}
		})
	}
}

// noToolResult is the result of a tool whose client has gone. Without one the turn would wait for ever.
var noToolResult = []byte(`{"contentItems":[{"type":"inputText","text":"The client that runs this tool has gone."}],"success":false}`)

// skip keeps a request from this client, since owner answers it.
func (c *Client) skip(msg *bridge.ServerMessage, t *openThread, owner *Client, thread string) {
	method, request := msg.Method, msg.Skip()
	if method == toolCall {
		c.clients.declineWithout(owner, t, func() {
			if request.Reply(noToolResult) { // Codex ignores it if owner has answered
				c.clients.options.Log.Debug("a tool is answered, since its client has gone", "thread", thread, "client", c.Name())
			}
		})
	}
}

// declineWithout calls decline when owner has no longer opened the thread, which may be the case already.
func (s *Clients) declineWithout(owner *Client, t *openThread, decline func()) {
	s.mu.Lock()
	gone := !slices.Contains(t.clients, owner)
	if !gone {
		t.shown = append(t.shown, shownQuestion{owner, decline})
		if len(t.shown) > maxShown {
			t.shown = slices.Delete(t.shown, 0, 1)
		}
	}
	s.mu.Unlock()
	if gone {
		decline()
	}
}

func (c *Client) warn(text, method, thread string) {
	c.clients.options.Log.Warn(text, "method", method, "thread", thread, "client", c.Name())
}

// IsStarter reports whether the client began the turn that a request of Codex is about. If that client has
// gone, the first other one counts.
func (c *Client) IsStarter(params rpc.Value) bool {
	thread, _ := params.Get("threadId").Text()
	turn, _ := params.Get("turnId").Text()
	t, starter, clients := c.clients.starter(thread, turn)
	return t == nil || starter == c || starter == nil && len(clients) > 0 && clients[0] == c
}

// Decide answers a hook by the client that began the turn. If that has gone, another client's bridge
// answers, without a question.
func (s *Clients) Decide(ctx context.Context, call *hook.Call) hook.Answer {
	if _, starter, _ := s.starter(call.Thread(), call.TurnID); starter != nil {
		return starter.ClientOptions.Decide(ctx, call, true)
	}
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	if len(all) == 0 {
		return hook.Answer{Decision: hook.Deny, Reason: "No client is connected to codex-bridge, so nobody is responsible for this call."}
	}
	return all[0].ClientOptions.Decide(ctx, call, false)
}

// Last returns the feature that comes after all others. It stops each response without a request:
// Codex accepts an answer to any of its requests from every connection.
func (c *Client) Last() bridge.Feature { return unsolicited{} }

type unsolicited struct{}

// Routes implements bridge.Feature.
func (unsolicited) Routes() []bridge.Route {
	return []bridge.Route{{
		From: bridge.Client, Method: bridge.Unsolicited, Why: "Codex would take it for the answer of another client",
		HandleClient: func(context.Context, *bridge.ClientMessage) *rpc.Error {
			return rpc.Errorf(rpc.CodeInvalidRequest, "codex has sent this client no request with this id, or it has its response")
		},
	}}
}
