package image

import (
	"context"
	"errors"
	"strings"
	"sync"

	"codex-bridge/rpc"
)

// maxEarly is how many notifications are kept before the turn is known.
const maxEarly = 10_000

// collector gathers the description from Codex's notifications. The zero value is ready for
// use by several goroutines.
type collector struct {
	mu      sync.Mutex
	thread  string
	turn    string // "": not known yet
	early   []notification
	order   []string
	texts   map[string]string // of the agent's messages, by item
	ended   bool
	final   string
	failure error
	changed chan struct{}
}

type notification struct {
	method string
	params rpc.Value
}

// Heard takes a notification from Codex. It ignores those of other turns and threads.
func (c *collector) Heard(method string, params rpc.Value) {
	switch method {
	case "item/agentMessage/delta", "item/completed", "turn/completed", "error":
	default:
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != "" {
		c.heard(method, params)
	} else if len(c.early) < maxEarly {
		c.early = append(c.early, notification{method, params})
	}
}

// Started tells which turn it is, as turn/start has answered.
func (c *collector) Started(thread string, turn rpc.Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.thread = thread
	c.turn, _ = turn.Get("id").Text()
	c.over(turn)
	for _, n := range c.early {
		c.heard(n.method, n.params)
	}
	c.early = nil
}

func (c *collector) heard(method string, params rpc.Value) {
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
		c.say(item, c.texts[item]+delta)
	case "item/completed":
		if item := params.Get("item"); item.Get("type").Is("agentMessage") {
			id, _ := item.Get("id").Text()
			text, _ := item.Get("text").Text()
			c.say(id, text)
		}
	case "turn/completed":
		c.over(params.Get("turn"))
	case "error":
		if again, _ := params.Get("willRetry").Bool(); !again {
			c.fail(params.Get("error"))
		}
	}
}

func (c *collector) say(item, text string) {
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

// over notes how a turn stands that may have ended.
func (c *collector) over(turn rpc.Value) {
	switch status, _ := turn.Get("status").Text(); status {
	case "failed":
		c.fail(turn.Get("error"))
		return
	case "completed", "interrupted":
	default:
		return
	}
	var said []string
	for item := range turn.Get("items").Elements() {
		if item.Get("type").Is("agentMessage") {
			text, _ := item.Get("text").Text()
			said = append(said, text)
		}
	}
	c.final = join(said)
	c.end()
}

func (c *collector) fail(reason rpc.Value) {
	message, _ := reason.Get("message").Text()
	if message == "" {
		message = "codex does not say why the turn failed"
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
	if c.changed == nil {
		c.changed = make(chan struct{})
	}
	return c.changed
}

// Ended is closed when the turn has ended.
func (c *collector) Ended() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.signal()
}

// Text is the description, once the turn has ended or ctx has.
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
	said := make([]string, len(c.order))
	for i, item := range c.order {
		said[i] = c.texts[item]
	}
	if text := join(said); text != "" {
		return text, nil
	}
	return "", errors.New("the turn ended without a text")
}

// join makes one text of several messages.
func join(said []string) string {
	var all []string
	for _, text := range said {
		if text = strings.TrimSpace(text); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n\n")
}
