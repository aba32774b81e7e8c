package rollout

import (
	"bytes"

	"codex-bridge.example/rpc"
)

// RunningTurn returns the turn that runs in a thread: Codex has recorded its start, and no end since. It is ""
// if no turn runs, or if that is not known. codexHome is CODEX_HOME, path the rollout file of the thread.
//
// Measured with Codex 0.169 and 0.171: the start is in the file before the first question of the turn. A
// review has the id of its turn/started there, and ends with another one.
func RunningTurn(codexHome, path string) string {
	last := searchTail(codexHome, path, lastTurnEvent)
	if last == nil {
		return ""
	}
	event := last.Root().Get("payload")
	if !event.Get("type").Is(turnStart) {
		return "" // the turn has ended
	}
	turn, _ := event.Get("turn_id").Text()
	return turn
}

const turnStart = "task_started"

// turnEvents are the records of the start and the ends of a turn.
var turnEvents = []string{turnStart, "task_complete", "turn_aborted"}

// lastTurnEvent returns the last record of turnEvents in the end of a file. done reports that nothing before it
// matters.
func lastTurnEvent(tail []byte) (last *rpc.Doc, done bool) {
	for line := range bytes.Lines(tail) {
		if !hasTurnEvent(line) {
			continue
		}
		doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, true // it may be the end of the turn
		}
		if doc.Root().Get("type").Is("event_msg") && isTurnEvent(doc.Root().Get("payload").Get("type")) {
			last = doc
		}
	}
	return last, last != nil
}

func hasTurnEvent(line []byte) bool {
	for _, kind := range turnEvents {
		if bytes.Contains(line, []byte(`"`+kind+`"`)) {
			return true
		}
	}
	return false
}

func isTurnEvent(kind rpc.Value) bool {
	for _, one := range turnEvents {
		if kind.Is(one) {
			return true
		}
	}
	return false
}
