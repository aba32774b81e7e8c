package turn

import (
	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	EventStarted      EventKind = iota + 1 // a turn runs
	EventTextAdded                         // to the text of an agent message
	EventMessage                           // an agent message is complete
	EventInput                             // input has become part of the conversation
	EventEnded                             // a turn runs no more
	EventThreadClosed                      // the thread is not loaded any more
	EventRetrying                          // Codex tries something again that has failed
)

// EventMethods are the notifications that ReadEvent reads.
var EventMethods = append([]string{"turn/started", "item/agentMessage/delta", "item/started", "item/completed", "turn/completed", "error"}, methods.UnloadNotifications...)

// Event is what a notification of Codex tells of a turn.
type Event struct {
	Kind         EventKind
	Thread, Turn string
	Message      AgentMessage   // of EventTextAdded and EventMessage
	Client       string         // of EventInput: the id that the sender gave the input
	Echoes       bool           // of EventInput: this Codex says that id, if there is one
	Messages     []AgentMessage // of EventEnded
	Status       Status         // of EventEnded
	Problem      string         // of EventEnded and EventRetrying: what failed
}

// AgentMessage is a message of the agent, or a part of one. Item may be empty.
type AgentMessage struct{ Item, Text string }

// Status is how a turn ended.
type Status string

// The ends of a turn.
const (
	StatusCompleted   Status = "completed"
	StatusInterrupted Status = "interrupted"
	StatusFailed      Status = "failed"
)

// ReadEvent reads a notification; ok is false if it is not about a turn.
func ReadEvent(method string, params rpc.Value) (e Event, ok bool) {
	e.Thread, _ = params.Get("threadId").Text()
	e.Turn, _ = params.Get("turnId").Text()
	if id, has := params.Get("turn").Get("id").Text(); has {
		e.Turn = id
	}
	if e.Thread == "" {
		return Event{}, false
	}
	switch method {
	case "turn/started":
		e.Kind = EventStarted
	case "thread/closed", "thread/archived", "thread/deleted":
		e.Kind = EventThreadClosed
		return e, true
	case "item/agentMessage/delta":
		e.Kind = EventTextAdded
		e.Message.Item, _ = params.Get("itemId").Text()
		e.Message.Text, _ = params.Get("delta").Text()
	case "item/started", "item/completed":
		item := params.Get("item")
		switch {
		case item.Get("type").Is("userMessage"):
			e.Kind = EventInput
			e.Client, _ = item.Get("clientId").Text()
			e.Echoes = item.Get("clientId").Exists()
		case item.Get("type").Is("agentMessage") && method == "item/completed":
			e.Kind, e.Message = EventMessage, readAgentMessage(item)
		default:
			return Event{}, false
		}
	case "turn/completed":
		e.Kind = EventEnded
		e.ended(params.Get("turn"))
	case "error":
		if again, _ := params.Get("willRetry").Bool(); !again {
			return Event{}, false // the end of the turn says it
		}
		e.Kind = EventRetrying
		e.Problem, _ = params.Get("error").Get("message").Text()
	default:
		return Event{}, false
	}
	return e, e.Turn != ""
}

func (e *Event) ended(turn rpc.Value) {
	status, _ := turn.Get("status").Text()
	e.Status = Status(status)
	if e.Status == StatusFailed {
		if e.Problem, _ = turn.Get("error").Get("message").Text(); e.Problem == "" {
			e.Problem = "codex app-server turn failed"
		}
	}
	for item := range turn.Get("items").Elements() {
		if item.Get("type").Is("agentMessage") {
			e.Messages = append(e.Messages, readAgentMessage(item))
		}
	}
}

func readAgentMessage(item rpc.Value) (m AgentMessage) {
	m.Item, _ = item.Get("id").Text()
	m.Text, _ = item.Get("text").Text()
	return m
}
