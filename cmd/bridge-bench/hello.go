//go:build linux

package main

import (
	"bytes"
	"fmt"
)

// greeting opens the conversation; the braces are for the client's capabilities.
const greeting = `{"id":0,"method":"initialize","params":{"clientInfo":{"name":"bridge-bench","title":null,"version":"0.0.0"}%s}}`

// hello is the handshake of the protocol: from here on everything has started.
func (c *chain) hello() error {
	if err := c.send(fmt.Sprintf(greeting, "")); err != nil {
		return err
	}
	_, err := c.line()
	return err
}

// initialized ends the handshake.
const initialized = `{"method":"initialized"}`

// What a client says that works in a thread, in this order. The last has the stand-in write
// its load before the answer, and passes every policy.
const (
	threadStart = `{"id":1,"method":"thread/start","params":{"cwd":"` + workspace + `","approvalPolicy":"on-request","sandbox":"workspace-write"}}`
	turnStart   = `{"id":2,"method":"turn/start","params":{"threadId":"` + thread + `","input":[{"type":"text","text":"Run the tests.","text_elements":[]}]}}`
	list        = `{"id":3,"method":"` + listMethod + `","params":{}}`
	listMethod  = "thread/list"
	listed      = `{"id":3,"result":`
)

// open is the handshake, a thread and a turn. A client that knows the bridge says so.
func (c *chain) open(knows bool) error {
	capabilities := `,"capabilities":{"experimentalApi":true}`
	if knows {
		capabilities = `,"capabilities":{"experimentalApi":true,"bridge":{"version":1,"hooks":["preToolUse","postToolUse","stop"],"tools":true}}`
	}
	if err := c.ask(0, fmt.Sprintf(greeting, capabilities)); err != nil {
		return err
	}
	if err := c.send(initialized); err != nil {
		return err
	}
	if err := c.ask(1, threadStart); err != nil {
		return err
	}
	return c.ask(2, turnStart)
}

// ask sends a request and waits for its result. What the bridge says beside that is read
// over.
func (c *chain) ask(id int, request string) error {
	if err := c.send(request); err != nil {
		return err
	}
	answer := fmt.Appendf(nil, `{"id":%d,`, id)
	for {
		said, err := c.line()
		if err != nil {
			return err
		}
		for line := range bytes.Lines(said) {
			switch {
			case !bytes.HasPrefix(line, answer):
			case !bytes.Contains(line, []byte(`"result":`)):
				return fmt.Errorf("%.80s was answered %s", request, line)
			default:
				return nil
			}
		}
	}
}
