package rollout

import (
	"bytes"
	"path/filepath"

	"codex-bridge/rpc"
)

// Outputs returns how many outputs of calls with an id the rollout file has in a turn. Codex
// records the output of a call when the call has ended, and before the model sees it. The
// result is too small if the file can't be read, the id has several spellings in JSON, or the
// turn is longer than the part of the file that is read.
//
// It counts only lines behind the first one that names the turn. Codex creates the id of a
// turn when the turn starts, so no earlier text can have it.
func Outputs(codexHome, path, turnID, callID string) (n int) {
	if codexHome == "" || !filepath.IsAbs(path) || !isPlainID(callID) || !isPlainID(turnID) {
		return 0
	}
	tail, _, err := readEnds(codexHome, path, maxTail)
	if err != nil {
		return 0
	}
	started := false
	for line := range bytes.Lines(tail) {
		started = started || bytes.Contains(line, []byte(turnID))
		if started && bytes.Contains(line, []byte(callID)) && isOutput(line, callID) {
			n++
		}
	}
	return n
}

// isOutput reports whether a line has the output of a call with an id.
func isOutput(line []byte, callID string) bool {
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return false
	}
	item := doc.Root().Get("payload")
	kind := item.Get("type")
	return doc.Root().Get("type").Is("response_item") && item.Get("call_id").Is(callID) &&
		(kind.Is("function_call_output") || kind.Is("custom_tool_call_output"))
}
