package appserver

import (
	"encoding/json"
	"errors"
	"sync"

	"codex-bridge/rpc"
)

// ErrAnswered says that a request has been answered already.
var ErrAnswered = errors.New("the request has been answered already")

// Message is a request or a notification of the server's. It may be kept.
type Message struct {
	Method string
	Params rpc.Value

	id   rpc.ID
	send func(line []byte) error

	mu       sync.Mutex
	answered bool
}

// IsRequest tells whether the server waits for an answer.
func (m *Message) IsRequest() bool { return m.id.IsValid() }

// Answer answers a request. Only the first answer counts.
func (m *Message) Reply(result any) error {
	raw, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return m.reply(rpc.EncodeResult(m.id, raw))
}

// Refuse answers a request with an error, a *rpc.Error or any other. Only the first answer
// counts.
func (m *Message) Refuse(err error) error { return m.reply(rpc.EncodeError(m.id, err)) }

func (m *Message) reply(line []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.answered || !m.IsRequest() {
		return ErrAnswered
	}
	m.answered = true
	return m.send(line)
}
