package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"codex-bridge.example/rpc"
)

// maxHistory is the maximum size of a thread's files.
const maxHistory = 64 << 20

var (
	errForks   = errors.New("it continues too many files")
	errHistory = fmt.Errorf("it is longer than %d MiB", maxHistory>>20)
)

// History returns the model's context of a thread: raw items of the Responses API, from the
// oldest. It omits the items that Codex adds to every thread at its start. For a forked thread it
// includes the history of the original. An incomplete history is an error, and so is an unknown
// kind of record, since it may change earlier items.
func History(codexHome, path string) ([]json.RawMessage, error) {
	h := history{codexHome: codexHome, remaining: maxHistory}
	if err := h.readFile(&base{path, math.MaxInt64}, 0); err != nil {
		if errors.Is(err, errTooLong) {
			err = errHistory
		}
		return nil, fmt.Errorf("the history of the thread: %w", err)
	}
	return h.items, nil
}

type history struct {
	codexHome string
	remaining int64
	items     []json.RawMessage
	started   bool // the items that every thread starts with have ended
}

// readFile reads the part of one file, and first what the file continues.
func (h *history) readFile(part *base, depth int) error {
	if depth == maxBases {
		return errForks
	}
	f, err := open(h.codexHome, part.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, closeText, err := content(f)
	if err != nil {
		return err
	}
	defer closeText()
	return h.readLines(text, part, depth)
}

func (h *history) readLines(text io.Reader, part *base, depth int) error {
	return eachLine(text, &h.remaining, func(n int, line []byte) (more bool, err error) {
		doc, err := rpc.ParseValue(line)
		switch {
		case err != nil:
		case doc.Truncated():
			err = errors.New("it has too many values")
		case n == 0:
			err = h.readMeta(doc.Root(), part, depth)
		default:
			if at, ok := ordinal(doc.Root().Get("ordinal")); ok && at >= part.before {
				return false, nil
			}
			err = h.readRecord(doc.Root())
		}
		if err != nil {
			return false, fmt.Errorf("line %d: %w", n+1, err)
		}
		return true, nil
	})
}

// readMeta reads the first record of a file, and then what the file continues.
func (h *history) readMeta(record rpc.Value, part *base, depth int) error {
	from, err := part.next(h.codexHome, record)
	if err != nil || from == nil {
		return err
	}
	return h.readFile(from, depth+1)
}

// readRecord reads another record. Measured with 0.169.0: these are all kinds in the files of
// threads that ran turns, called tools, and were compacted, forked and reverted (which writes a
// new file).
func (h *history) readRecord(record rpc.Value) error {
	payload := record.Get("payload")
	kind, _ := record.Get("type").Text()
	switch kind {
	case "turn_context":
		h.started = true
	case "response_item":
		if payload.Kind() != rpc.Object {
			return errors.New("an item that is not an object")
		}
		item := payload.Raw()
		if !h.started {
			var err error
			if item, err = withoutInstructions(payload); err != nil || item == nil {
				return err
			}
		}
		h.items = append(h.items, item)
	case "compacted":
		list := payload.Get("replacement_history")
		if list.Kind() != rpc.Array {
			return errors.New("a compaction without the remaining items")
		}
		h.items = nil
		for item := range list.Elements() {
			h.items = append(h.items, item.Raw())
		}
	case "event_msg":
		if payload.Get("type").Is("thread_rolled_back") {
			return errors.New("turns were rolled back")
		}
	case "world_state", "token_usage_record":
	default:
		return fmt.Errorf("a record of the unknown kind %q", kind)
	}
	return nil
}

// instructionPrefixes are the prefixes of texts that Codex adds to every thread at its first turn.
var instructionPrefixes = []string{
	"<skills_instructions>", "<permissions instructions>", "<tools>", "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>",
	"<personality_spec>", "<environment_context>", "# AGENTS.md instructions",
}

// withoutInstructions returns an item from before the first turn without the texts that Codex adds
// to every thread. The rest are the developer's own instructions. It returns nil if there is none.
func withoutInstructions(item rpc.Value) (json.RawMessage, error) {
	content := item.Get("content")
	if content.Kind() != rpc.Array {
		return item.Raw(), nil
	}
	kept := []json.RawMessage{}
	for part := range content.Elements() {
		text, _ := part.Get("text").Text()
		if !slices.ContainsFunc(instructionPrefixes, func(tag string) bool { return strings.HasPrefix(text, tag) }) {
			kept = append(kept, part.Raw())
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	members := make(map[string]json.RawMessage)
	for name, v := range item.Members() {
		members[name] = v.Raw()
	}
	var err error
	if members["content"], err = json.Marshal(kept); err != nil {
		return nil, err
	}
	return json.Marshal(members)
}

// ordinal returns the index of a record in its file.
func ordinal(v rpc.Value) (int64, bool) {
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil && n >= 0
}
