package turn

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"codex-bridge/rpc"
)

// fate is what became of input.
type fate uint8

// The fates.
const (
	fateOpen  fate = iota // nobody knows yet
	fateTaken             // it is part of the conversation
	fateLost              // Codex accepted it and threw it away
)

// sentInput is input that was sent to Codex.
type sentInput struct {
	Turn string // that has it

	thread *Thread
	client string // the id by which Codex shows it
	opened bool   // by turn/start
	fate   fate   // guarded by thread.mu
}

// currentFate returns what became of the input, as far as it is known.
func (s *sentInput) currentFate() fate {
	s.thread.mu.Lock()
	defer s.thread.mu.Unlock()
	return s.fate
}

// settle decides about input that was not shown until the end of its turn: Codex has thrown
// it away. In 460 turns that were interrupted within milliseconds of turn/started, what had
// not been shown was neither in the history nor ever given to the model, and what had been
// was both (measured). Without the ids nothing can be told, and what was accepted counts as
// taken, so that nothing comes twice. What has opened a turn that failed would fail again.
func (s *sentInput) settle(echoes bool, how Status) {
	if s.fate != fateOpen {
		return
	}
	s.fate = fateTaken
	if echoes && (!s.opened || how != StatusFailed) {
		s.fate = fateLost
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

var (
	// errBusy is returned if a turn is running that the input can't join.
	errBusy = errors.New("a turn is running in this thread")
	// errNoTurn is returned if there is no turn to steer.
	errNoTurn = errors.New("no turn is running in this thread that takes input")
)

// IsThreadGone reports whether err says that Codex does not know the thread: it was never
// loaded here, or is gone.
func IsThreadGone(err error) bool {
	return containsText(err, "thread not found:") || containsText(err, "no rollout found for thread id")
}

// isClosedToInput reports whether err says that a review or a compaction is running. turn/start
// uses the words of Codex's own source.
func isClosedToInput(err error) bool {
	return containsText(err, "cannot steer a ") || containsText(err, "activeturnnotsteerable")
}

// isDoubtful reports whether a request may have succeeded although it returned an error.
func isDoubtful(err error) bool {
	var e *rpc.Error
	return !errors.As(err, &e) || e.Code == rpc.CodeDeadline
}

func containsText(err error, words string) bool {
	return err != nil && strings.Contains(strings.ToLower(err.Error()), words)
}
