//go:build linux

package main

import (
	"bytes"
	"fmt"
)

// greeting starts the conversation; %s is the client's capabilities.
const greeting = `{"id":0,"method":"initialize","params":{"clientInfo":{"name":"bridge-bench","title":null,"version":"0.0.0"}%s}}`

// hello does the handshake of the protocol: after it all processes have started.
func (c *chain) hello() error {
	if err := c.send(fmt.Sprintf(greeting, "")); err != nil {
		return err
	}
	_, err := c.line()
	return err
}

// initialized ends the handshake.
const initialized = `{"method":"initialized"}`

// The client's messages in a thread, in this order. The last one makes the stand-in write its load
// before the response, and passes every policy.
const (
	threadStart = `{"id":1,"method":"thread/start","params":{"cwd":"` + workspace + `","approvalPolicy":"on-request","sandbox":"workspace-write"}}`
	turnStart   = `{"id":2,"method":"turn/start","params":{"threadId":"` + thread + `","input":[{"type":"text","text":"Run the tests.","text_elements":[]}]}}`
	list        = `{"id":3,"method":"` + listMethod + `","params":{}}`
	listMethod  = "thread/list"
	listed      = `{"id":3,"result":`
)

// open does the handshake and starts a thread and a turn. A client may say that it knows the
// bridge.
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

// ask sends a request and waits for its result. It ignores other messages of the bridge.
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
				return fmt.Errorf("%.80s got the response %s", request, line)
			default:
				return nil
			}
		}
	}
}
