package turn

import (
	"codex-bridge.example/bridge/methods"
	"codex-bridge.example/rpc"
)

// EventKind is the kind of an Event.
type EventKind uint8

// The kinds.
const (
	EventStarted      EventKind = iota + 1 // a turn has started
	EventTextAdded                         // the text of an agent message has grown
	EventMessage                           // an agent message is complete
	EventInput                             // input has become part of the conversation
	EventEnded                             // a turn has ended
	EventThreadClosed                      // Codex has unloaded the thread
	EventRetrying                          // Codex retries a failed step
)

// EventMethods are the notifications that ReadEvent reads.
var EventMethods = append([]string{"turn/started", "item/agentMessage/delta", "item/started", "item/completed", "turn/completed", "error"}, methods.UnloadNotifications...)

// Event is a notification of Codex about a turn or its thread.
type Event struct {
	Kind         EventKind
	Thread, Turn string
	Message      AgentMessage   // of EventTextAdded and EventMessage
	Client       string         // of EventInput: the clientUserMessageId of the request
	Echoes       bool           // of EventInput: this Codex sends clientId
	Messages     []AgentMessage // of EventEnded
	Status       Status         // of EventEnded
	Problem      string         // of EventEnded and EventRetrying: what failed
}

// AgentMessage is a message of the agent, or a delta of one. Item may be empty.
type AgentMessage struct{ Item, Text string }

// Status is the final status of a turn.
type Status string

// The statuses.
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
			return Event{}, false // turn/completed carries the error
		}
		e.Kind = EventRetrying
		e.Problem, _ = params.Get("error").Get("message").Text()
	default:
		return Event{}, false
	}
	return e, e.Turn != ""
}

// ReadTurn reads the turn of a response as an event; ok is false unless the turn has ended.
func ReadTurn(thread string, turn rpc.Value) (e Event, ok bool) {
	e = Event{Kind: EventEnded, Thread: thread}
	e.Turn, _ = turn.Get("id").Text()
	e.ended(turn)
	return e, e.Status == StatusCompleted || e.Status == StatusInterrupted || e.Status == StatusFailed
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
