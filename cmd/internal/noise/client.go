package noise

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Client adds noise to the messages of an editor, and checks the answers to its noise. Set the exported
// fields before the first use.
type Client struct {
	Source *Source
	Mute   bool         // it only receives
	Params bool         // requests get members in params, too, and not in the message alone
	Fault  func(string) // is called with each wrong answer

	mu      sync.Mutex
	begun   bool
	pending map[string]bool // by id: not answered yet
	asked   int
}

// Say is what is sent in place of a line: the noise before it, whole lines, and the line. It is
// the line alone until hands were shaken.
func (c *Client) Say(method string, line []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.begun {
		c.begun = method == "initialized" && !c.Mute
		return line
	}
	var said []byte
	if n := c.Source.Notification(); n != nil {
		said = append(append(said, n...), '\n')
	}
	if id, r := c.Source.Request(); r != nil {
		if c.pending == nil {
			c.pending = make(map[string]bool)
		}
		c.pending[id] = true
		c.asked++
		said = append(append(said, r...), '\n')
	}
	// The bridge's own methods refuse what they do not know.
	top := !c.Params || bytes.HasPrefix([]byte(method), []byte("bridge/"))
	return append(said, c.Source.Members(line, top)...)
}

// Left are the requests that have no answer yet, and how many were sent.
func (c *Client) Left() (left []string, sent int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.pending)), c.asked
}

// Heard takes a line of the server. It tells whether the line is noise, and the reply to it,
// if it wants one; what is not noise comes back without the members that are.
func (c *Client) Heard(line []byte) (rest, reply []byte, is bool) {
	if !bytes.Contains(line, []byte(Prefix)) {
		return line, nil, false
	}
	var m struct {
		ID     any
		Method string
		Params struct{ Method string }
		Error  *struct{ Code int }
	}
	if json.Unmarshal(line, &m) != nil {
		return Strip(line), nil, false
	}
	id, _ := m.ID.(string)
	switch {
	case Is(m.Method) && m.ID != nil:
		return nil, fmt.Appendf(nil, `{"id":%q,"error":{"code":-32601,"message":"no such method"}}`, id), true
	case Is(m.Method), m.Method == "bridge/policy/applied" && Is(m.Params.Method):
		return nil, nil, true
	case m.Method == "" && Is(id):
		c.answered(id, m.Error != nil, line)
		return nil, nil, true
	}
	return Strip(line), nil, false
}

func (c *Client) answered(id string, refused bool, line []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.pending[id] || !refused {
		c.Fault(fmt.Sprintf("noise: asked once, and no such method: %t; answered %s", c.pending[id], line))
	}
	delete(c.pending, id)
}
