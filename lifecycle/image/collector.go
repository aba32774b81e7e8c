package image

import (
	"context"
	"errors"
	"strings"
	"sync"

	"codex-bridge/rpc"
)

// maxEarly is the maximum number of notifications buffered before SetTurn.
const maxEarly = 10_000

// collector gathers the description from Codex's notifications. The zero value is ready for
// use by several goroutines.
type collector struct {
	mu      sync.Mutex
	thread  string
	turn    string            // "" before SetTurn
	early   []notification    // buffered before SetTurn
	order   []string          // item ids, in the order of their first text
	texts   map[string]string // of the agent's messages, by item id
	ended   bool
	final   string
	failure error
	done    chan struct{} // closed at the end of the turn
}

type notification struct {
	method string
	params rpc.Value
}

// Handle handles a notification from Codex. It ignores those of other turns and threads.
func (c *collector) Handle(method string, params rpc.Value) {
	switch method {
	case "item/agentMessage/delta", "item/completed", "turn/completed", "error":
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != "" {
		c.apply(method, params)
	} else if len(c.early) < maxEarly {
		c.early = append(c.early, notification{method, params})
	}
}

// SetTurn selects the turn of turn/start's response and applies its buffered notifications.
func (c *collector) SetTurn(thread string, turn rpc.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thread = thread
	c.turn, _ = turn.Get("id").Text()
	c.applyStatus(turn)
	for _, n := range c.early {
		c.apply(n.method, n.params)
	}
	c.early = nil
}

func (c *collector) apply(method string, params rpc.Value) {
	turn, ok := params.Get("turnId").Text()
	if !ok || turn == "" {
		turn, _ = params.Get("turn").Get("id").Text()
	}
	if !params.Get("threadId").Is(c.thread) || turn != c.turn {
		return
	}
	switch method {
	case "item/agentMessage/delta":
		item, _ := params.Get("itemId").Text()
		delta, _ := params.Get("delta").Text()
		c.setText(item, c.texts[item]+delta)
	case "item/completed":
		if item := params.Get("item"); item.Get("type").Is("agentMessage") {
			id, _ := item.Get("id").Text()
			text, _ := item.Get("text").Text()
			c.setText(id, text)
		}
	case "turn/completed":
		c.applyStatus(params.Get("turn"))
	case "error":
		if again, _ := params.Get("willRetry").Bool(); !again {
			c.fail(params.Get("error"))
		}
	}
}

func (c *collector) setText(item, text string) {
	if text == "" {
		return
	}
	if c.texts == nil {
		c.texts = make(map[string]string)
	}
	if _, ok := c.texts[item]; !ok {
		c.order = append(c.order, item)
	}
	c.texts[item] = text
}

// applyStatus records the end of the turn, if its status is final.
func (c *collector) applyStatus(turn rpc.Value) {
	switch status, _ := turn.Get("status").Text(); status {
	case "failed":
		c.fail(turn.Get("error"))
		return
	case "completed", "interrupted":
	default:
		return
	}
	var messages []string
	for item := range turn.Get("items").Elements() {
		if item.Get("type").Is("agentMessage") {
			text, _ := item.Get("text").Text()
			messages = append(messages, text)
		}
	}
	c.final = join(messages)
	c.end()
}

func (c *collector) fail(reason rpc.Value) {
	message, _ := reason.Get("message").Text()
	if message == "" {
		message = "the turn failed without an error message"
	}
	c.failure = errors.New(message)
	c.end()
}

func (c *collector) end() {
	if !c.ended {
		c.ended = true
		close(c.signal())
	}
}

func (c *collector) signal() chan struct{} {
	if c.done == nil {
		c.done = make(chan struct{})
	}
	return c.done
}

// Ended returns a channel that is closed when the turn has ended.
func (c *collector) Ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signal()
}

// Text waits for the end of the turn and returns the description. If ctx ends first, it returns ctx's
// cause.
func (c *collector) Text(ctx context.Context) (string, error) {
	select {
	case <-c.Ended():
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failure != nil {
		return "", c.failure
	}
	if c.final != "" {
		return c.final, nil
	}
	messages := make([]string, len(c.order))
	for i, item := range c.order {
		messages[i] = c.texts[item]
	}
	if text := join(messages); text != "" {
		return text, nil
	}
	return "", errors.New("the turn ended without a text")
}

// join joins messages, without blank ones.
func join(messages []string) string {
	var all []string
	for _, text := range messages {
		if text = strings.TrimSpace(text); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}
