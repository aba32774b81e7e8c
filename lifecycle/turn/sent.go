package turn

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// fate is the result of sent input.
type fate uint8

// The fates.
const (
	fatePending   fate = iota // not known yet
	fateDelivered             // it is part of the conversation
	fateLost                  // Codex accepted it and dropped it
)

// sentInput is input that was sent to Codex.
type sentInput struct {
	Turn string // the turn that Codex named

	thread   *Thread
	clientID string // its clientUserMessageId
	opened   bool   // sent by turn/start
	fate     fate   // guarded by thread.mu
}

// currentFate returns the fate of the input, as far as it is known.
func (s *sentInput) currentFate() fate {
	s.thread.mu.Lock()
	defer s.thread.mu.Unlock()
	return s.fate
}

// settle decides the fate of input that Codex has not shown when its turn ends: Codex dropped it.
// Measured: of 460 turns interrupted within milliseconds of turn/started, input that was shown was
// in the history and reached the model; other input did neither. If Codex does not send the ids,
// the input counts as delivered, so that it is not sent twice. So does the input that opened a
// failed turn: it would fail again.
func (s *sentInput) settle(echoes bool, status Status) {
	if s.fate != fatePending {
		return
	}
	s.fate = fateDelivered
	if echoes && (!s.opened || status != StatusFailed) {
		s.fate = fateLost
	}
}

// withClientID returns the parameters of turn/start, which are an object, with a new
// clientUserMessageId.
func withClientID(params json.RawMessage) (_ json.RawMessage, client string, err error) {
	p := make(map[string]json.RawMessage)
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, "", fmt.Errorf("turn/start: %w", err)
	}
	client = newClientID()
	p["clientUserMessageId"] = json.RawMessage(strconv.Quote(client))
	params, err = json.Marshal(p)
	return params, client, err
}

func newClientID() string { return "codex-bridge-" + rand.Text() }

var (
	// errBusy is returned if a turn is running or starting.
	errBusy = errors.New("a turn is running in this thread")
	// errNoTurn is returned if no running turn takes input.
	errNoTurn = errors.New("no turn is running in this thread that takes input")
)

// IsThreadGone reports whether err says that Codex has not loaded the thread or can't find it.
func IsThreadGone(err error) bool {
	return containsText(err, "thread not found:") || containsText(err, "no rollout found for thread id")
}

// isClosedToInput reports whether err says that a review or a compaction is running. The error of
// turn/start has the name from Codex's source.
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
