package rollout

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"codex-bridge/rpc"
)

const (
	// mostHistory is how much of a thread's files is read for its history, and the
	// longest line of them.
	maxHistory = 64 << 20
	// mostForks is how many threads a history may come from.
	maxForks = 16
)

var (
	errMeta    = errors.New("it does not begin with what thread it is of")
	errForks   = errors.New("it comes from too many threads")
	errHistory = fmt.Errorf("it is longer than %d MiB", maxHistory>>20)
)

// History is what the model is told of a thread: raw items of the Responses API, the
// oldest first, without what Codex tells each thread anew when it begins. Of a thread that
// was forked it is that of the thread before, too. What can't be told whole is an error: a
// record of a kind that is not known may have changed what came before.
func History(codexHome, path string) ([]json.RawMessage, error) {
	h := history{codexHome: codexHome, remaining: maxHistory}
	if err := h.readFile(path, -1, 0); err != nil {
		return nil, fmt.Errorf("the history of the thread: %w", err)
	}
	return h.items, nil
}

type history struct {
	codexHome string
	remaining int64
	items     []json.RawMessage
	started   bool // what comes is no longer what every thread begins with
}

// read reads one file, up to the record of that ordinal; -1 is all of it.
func (h *history) readFile(path string, before int64, depth int) error {
	if depth == maxForks {
		return errForks
	}
	f, err := open(h.codexHome, path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // nothing was written
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return errForeign
	}
	if h.remaining -= info.Size(); h.remaining < 0 {
		return errHistory
	}
	return h.readLines(f, info, before, depth)
}

func (h *history) readLines(f *os.File, info os.FileInfo, before int64, depth int) error {
	lines := bufio.NewReaderSize(io.LimitReader(f, info.Size()), 1<<20)
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // half a line is one that codex did not finish
		}
		if err != nil {
			return err
		}
		doc, err := rpc.ParseValue(line[:len(line)-1])
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		if doc.Truncated() {
			return fmt.Errorf("line %d: it has too many values", n+1)
		}
		if at, ok := ordinal(doc.Root().Get("ordinal")); ok && before >= 0 && at >= before {
			return nil
		}
		if n == 0 {
			err = h.readMeta(doc.Root(), depth)
		} else {
			err = h.readRecord(doc.Root())
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
}

// begin reads the first record of a file, which names the thread that it goes on with.
func (h *history) readMeta(record rpc.Value, depth int) error {
	meta := record.Get("payload")
	if !record.Get("type").Is("session_meta") || meta.Kind() != rpc.Object {
		return errMeta
	}
	from := meta.Get("forked_from_id")
	id, forked := from.Text()
	if !forked {
		if from.Exists() && from.Kind() != rpc.Null {
			return errMeta
		}
		return nil
	}
	before, ok := ordinal(meta.Get("forked_from_ordinal_exclusive"))
	if !ok || before < 0 {
		return fmt.Errorf("it does not say how much of the thread %s it goes on with", id)
	}
	path, err := findFile(h.codexHome, id)
	if err != nil {
		return fmt.Errorf("the thread %s that it goes on with: %w", id, err)
	}
	return h.readFile(path, before, depth+1)
}

// record reads another one. Measured with 0.169.0: these are all kinds that there are in
// the files of threads that ran turns, called tools, and were compacted, forked and
// reverted (which writes the file anew).
func (h *history) readRecord(record rpc.Value) error {
	payload := record.Get("payload")
	kind, _ := record.Get("type").Text()
	switch kind {
	case "turn_context":
		h.started = true
	case "response_item":
		if payload.Kind() != rpc.Object {
			return errors.New("an item that is none")
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
			return errors.New("a compaction that does not say what is left")
		}
		h.items = nil
		for item := range list.Elements() {
			h.items = append(h.items, item.Raw())
		}
	case "event_msg":
		if payload.Get("type").Is("thread_rolled_back") {
			return errors.New("turns were taken back")
		}
	case "world_state", "token_usage_record":
	default:
		return fmt.Errorf("a record of the kind %q, which is not known", kind)
	}
	return nil
}

// anew are the beginnings of what Codex tells every thread itself, at its first turn.
var instructionPrefixes = []string{
	"<skills_instructions>", "<permissions instructions>", "<tools>", "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>",
	"<personality_spec>", "<environment_context>", "# AGENTS.md instructions",
}

// ownWords is an item from before the first turn without what Codex tells every thread:
// what is left are the developer's own instructions. nil: nothing is left.
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

// ordinal is a record's place in its file.
func ordinal(v rpc.Value) (int64, bool) {
	n, err := strconv.ParseInt(string(v.Raw()), 10, 64)
	return n, err == nil && n >= 0
}
