package turn

import (
	"codex-bridge/bridge/methods"
	"codex-bridge/rpc"
)

// Kind is what an Event tells.
type Kind uint8

// The kinds.
const (
	Started  Kind = iota + 1 // a turn runs
	Added                    // to the text of an agent message
	Said                     // an agent message is complete
	Heard                    // input has become part of the conversation
	Ended                    // a turn runs no more
	Closed                   // the thread is not loaded any more
	Retrying                 // Codex tries something again that has failed
)

// Methods are the notifications that events are made of.
var Methods = append([]string{"turn/started", "item/agentMessage/delta", "item/started", "item/completed", "turn/completed", "error"}, methods.Unloaded...)

// Event is what a notification of Codex tells of a turn.
type Event struct {
	Kind         Kind
	Thread, Turn string
	Message      Message   // of Added and Said
	Client       string    // of Heard: the id that the sender gave the input
	Echoes       bool      // of Heard: this Codex says that id, if there is one
	Messages     []Message // of Ended
	Status       Status    // of Ended
	Problem      string    // of Ended and Retrying: what failed
}

// Message is an agent message, or a part of one. Item may be empty.
type Message struct{ Item, Text string }

// Status is how a turn ended.
type Status string

// The ends of a turn.
const (
	Completed   Status = "completed"
	Interrupted Status = "interrupted"
	Failed      Status = "failed"
)

// Read reads a notification; ok is false for one that tells nothing of a turn.
func Read(method string, params rpc.Value) (e Event, ok bool) {
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
		e.Kind = Started
	case "thread/closed", "thread/archived", "thread/deleted":
		e.Kind = Closed
		return e, true
	case "item/agentMessage/delta":
		e.Kind = Added
		e.Message.Item, _ = params.Get("itemId").Text()
		e.Message.Text, _ = params.Get("delta").Text()
	case "item/started", "item/completed":
		item := params.Get("item")
		switch {
		case item.Get("type").Is("userMessage"):
			e.Kind = Heard
			e.Client, _ = item.Get("clientId").Text()
			e.Echoes = item.Get("clientId").Exists()
		case item.Get("type").Is("agentMessage") && method == "item/completed":
			e.Kind, e.Message = Said, message(item)
		default:
			return Event{}, false
		}
	case "turn/completed":
		e.Kind = Ended
		e.ended(params.Get("turn"))
	case "error":
		if again, _ := params.Get("willRetry").Bool(); !again {
			return Event{}, false // the end of the turn says it
		}
		e.Kind = Retrying
		e.Problem, _ = params.Get("error").Get("message").Text()
	default:
		return Event{}, false
	}
	return e, e.Turn != ""
}

func (e *Event) ended(turn rpc.Value) {
	status, _ := turn.Get("status").Text()
	e.Status = Status(status)
	if e.Status == Failed {
		if e.Problem, _ = turn.Get("error").Get("message").Text(); e.Problem == "" {
			e.Problem = "codex app-server turn failed"
		}
	}
	for item := range turn.Get("items").Elements() {
		if item.Get("type").Is("agentMessage") {
			e.Messages = append(e.Messages, message(item))
		}
	}
}

func message(item rpc.Value) (m Message) {
	m.Item, _ = item.Get("id").Text()
	m.Text, _ = item.Get("text").Text()
	return m
}
