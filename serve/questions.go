package serve

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"codex-bridge.example/bridge"
	"codex-bridge.example/bridge/display"
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/relay/approvals"
	"codex-bridge.example/relay/hook"
	"codex-bridge.example/rpc"
)

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

// part is the role of a client in a request of Codex that each client of a thread gets.
type part uint8

const (
	answers part = iota // its person, or its bridge
	watches             // only owner answers, and the person learns that
	ignores             // others answer
)

// question lets a client answer a request of Codex, or keeps it from the client.
func (c *Client) question(_ context.Context, msg *bridge.ServerMessage) {
	params := msg.Root().Get("params")
	if !msg.ID.IsValid() || threadOf(params) == "" {
		return
	}
	plays, owner := c.part(msg.Method, params)
	q := c.clients.register(c, msg, plays, owner)
	switch {
	case q == nil || plays == ignores:
		msg.Skip()
	case plays == watches:
		c.watch(msg, owner)
	default:
		c.takeEnd(msg.ID.Key())
		msg.OnResponse(func(r *bridge.ClientResponse) { c.clients.answer(c, q, r) })
	}
}

// part returns the client's part in a request, and the client that alone answers; nil: each that may.
func (c *Client) part(method string, params rpc.Value) (plays part, owner *Client) {
	thread := threadOf(params)
	turn, _ := params.Get("turnId").Text()
	s := c.clients
	t, starter, clients := s.starter(thread, turn)
	if methods.IsForPerson(method) {
		return c.personPart(thread, starter)
	}
	owner = starter
	if t != nil && method == methods.ToolCall {
		if own := s.toolsOf(t); own != nil && own.IsOwnTool(params) {
			owner = own
		}
		if owner == nil && c.IsOwnTool(params) && s.isDepartedTurn(t, turn) {
			return ignores, departed
		}
	}
	if owner == nil && len(clients) > 0 {
		owner = clients[0]
	}
	if owner == nil || owner == c {
		return answers, owner
	}
	return ignores, owner
}

// personPart is part for a question to the person.
func (c *Client) personPart(thread string, starter *Client) (part, *Client) {
	s := c.clients
	switch {
	case s.options.AnyMayAnswer:
		if ok, _ := c.HasPerson(); !ok && s.hasPerson(s.audience(thread)) {
			return ignores, nil
		}
		return answers, nil
	case starter == nil:
		return ignores, departed
	case starter == c:
		return answers, c
	}
	return watches, starter
}

// audience returns the clients that have opened a thread or a parent of it: Codex asks these (measured with
// Codex 0.169).
func (s *Clients) audience(thread string) (all []*Client) {
	for range maxParents {
		s.mu.Lock()
		if t := s.threads[thread]; t != nil {
			for _, c := range t.clients {
				if !slices.Contains(all, c) {
					all = append(all, c)
				}
			}
		}
		s.mu.Unlock()
		if thread = s.options.Parent(thread); thread == "" {
			break
		}
	}
	return all
}

// has reports whether a client has opened a thread or a parent of it.
func (s *Clients) has(c *Client, thread string) bool { return slices.Contains(s.audience(thread), c) }

// hasPerson reports whether one of the clients answers questions for a person.
func (s *Clients) hasPerson(clients []*Client) bool {
	return slices.ContainsFunc(clients, func(c *Client) bool { ok, _ := c.HasPerson(); return ok })
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

// watch tells the client of a question that only owner may answer. A client that knows the bridge gets the
// question, marked. Others would offer an answer that does not count, so they get a warning.
func (c *Client) watch(msg *bridge.ServerMessage, owner *Client) {
	params := msg.Root().Get("params")
	thread, method := threadOf(params), msg.Method
	if !c.KnowsBridge() {
		what, _ := params.Get("command").Text()
		c.warnWaiting(thread, method, what, owner)
		msg.Skip()
		return
	}
	c.takeEnd(msg.ID.Key())
	patch := rpc.NewEnvelopePatch(msg.Envelope)
	if params.Get("reason").Exists() { // the policy marks it for owner only
		patch.Set(params, "reason", []byte("null"))
	}
	patch.Set(params, "bridge", rpc.Encode(approvals.NewWatchHint(owner.Name(), 0)))
	msg.Line = patch.Bytes()
	msg.Show(func() { c.warnIgnored(thread, method, owner) })
}

// warnWaiting tells the person that a question waits for another client.
func (c *Client) warnWaiting(thread, method, what string, owner *Client) {
	shown := "a question"
	if strings.TrimSpace(what) != "" {
		shown = display.Excerpt(what)
	}
	c.notifyWarning(thread, fmt.Sprintf("codex-bridge: %s waits for an answer of %s, which began the turn. Answer there; serve.answer = \"any\" lets each client answer.", shown, owner.Name()))
	c.warn("a question waits for the client that began the turn", method, thread)
}

// warnIgnored tells the person that an answer does not count.
func (c *Client) warnIgnored(thread, method string, owner *Client) {
	c.notifyWarning(thread, fmt.Sprintf("codex-bridge: this answer does not count, since only %s, which began the turn, may answer. Answer there; serve.answer = \"any\" lets each client answer.", owner.Name()))
	c.warn("an answer is ignored, since only the client that began the turn may answer; see serve.answer", method, thread)
}

func (c *Client) notifyWarning(thread, text string) {
	if !c.conn.OptedOut("warning") {
		c.conn.Notify("warning", map[string]string{"threadId": thread, "message": text})
	}
}

// NoToolResult is the result of a tool whose client has gone. Without one the turn would wait for ever.
var NoToolResult = []byte(`{"contentItems":[{"type":"inputText","text":"The client that runs this tool has gone."}],"success":false}`)

func (c *Client) warn(text, method, thread string) {
	c.clients.options.Log.Warn(text, "method", method, "thread", thread, "client", c.Name())
}

// Decide answers a hook by the client that began the turn. If that has gone, another client's bridge answers:
// one that may answer questions in its place, or else any, without a question.
func (s *Clients) Decide(ctx context.Context, call *hook.Call) hook.Answer {
	_, starter, _ := s.starter(call.Thread(), call.TurnID)
	if all := s.audience(call.Thread()); starter == nil && s.options.AnyMayAnswer && len(all) > 0 {
		starter = all[0]
	}
	if starter != nil {
		return starter.ClientOptions.Decide(ctx, call, true)
	}
	s.mu.Lock()
	all := s.all
	s.mu.Unlock()
	if len(all) == 0 {
		return s.options.NoClient(ctx, call)
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

// Stage implements bridge.Feature.
func (unsolicited) Stage() bridge.Stage { return bridge.Last }
