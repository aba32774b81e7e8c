package turn

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
)

// Fate is what became of input.
type Fate uint8

// The fates.
const (
	Open  Fate = iota // nobody knows yet
	Taken             // it is part of the conversation
	Lost              // Codex accepted it and threw it away
)

// Sent is input that was sent to Codex.
type Sent struct {
	Turn string // that has it

	thread *Thread
	client string // the id by which Codex shows it
	opened bool   // by turn/start
	fate   Fate   // guarded by thread.mu
}

// Fate is what became of it, as far as it is known.
func (s *Sent) Fate() Fate {
	s.thread.mu.Lock()
	defer s.thread.mu.Unlock()
	return s.fate
}

// settle decides about input that was not shown until the end of its turn: Codex has thrown
// it away. In 460 turns that were interrupted within milliseconds of turn/started, what had
// not been shown was neither in the history nor ever given to the model, and what had been
// was both (measured). Without the ids nothing can be told, and what was accepted counts as
// taken, so that nothing comes twice. What has opened a turn that failed would fail again.
func (s *Sent) settle(echoes bool, how Status) {
	if s.fate != Open {
		return
	}
	s.fate = Taken
	if echoes && (!s.opened || how != Failed) {
		s.fate = Lost
	}
}

// withClient is params with an id by which Codex shows the input; one that is there stays.
func withClient(params json.RawMessage) (json.RawMessage, string, error) {
	var p map[string]json.RawMessage
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, "", fmt.Errorf("turn/start: %w", err)
	}
	if p == nil {
		return nil, "", errors.New("turn/start: the parameters have to be an object")
	}
	var client string
	if err := json.Unmarshal(orNull(p["clientUserMessageId"]), &client); err == nil && client != "" {
		return params, client, nil
	}
	client = newClient()
	id, err := json.Marshal(client)
	if err != nil {
		return nil, "", err
	}
	p["clientUserMessageId"] = id
	out, err := json.Marshal(p)
	return out, client, err
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func newClient() string { return "codex-bridge-" + rand.Text() }
