package main

import (
	"bytes"

	"github.com/creachadair/jrpc2/channel"
)

// strict is a channel to who takes only messages that are JSON-RPC's to the letter: they get
// the version, and lose the member that Codex ends its notifications with.
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

// withoutTime is a message without the time at its end, at which it was sent.
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
