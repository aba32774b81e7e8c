package main

import (
	"bytes"

	"github.com/creachadair/jrpc2/channel"
)

// strict is a channel for libraries that accept only strict JSON-RPC: it adds the version and
// removes the last member of Codex's notifications.
type strict struct{ channel.Channel }

// Recv implements channel.Channel.
func (s strict) Recv() ([]byte, error) {
	line, err := s.Channel.Recv()
	if len(line) == 0 || line[0] != '{' {
		return line, err
	}
	message := append(make([]byte, 0, len(line)+len(version)), "{"+version...)
	return append(message, withoutTime(line[1:])...), err
}

// Send implements channel.Channel.
func (s strict) Send(message []byte) error { return s.Channel.Send(without(message)) }

// withoutTime returns a message without the time at its end.
func withoutTime(message []byte) []byte {
	const name = `,"emittedAtMs":`
	at := bytes.LastIndex(message, []byte(name))
	if at < 0 {
		return message
	}
	digits := bytes.TrimRight(message[at+len(name):], "}")
	if len(bytes.Trim(digits, "0123456789")) > 0 {
		return message
	}
	return append(message[:at], '}')
}
