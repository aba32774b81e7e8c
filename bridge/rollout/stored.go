package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"

	"codex-bridge.example/rpc"
)

// maxStoredBytes is how many bytes of a thread's files are read for its settings.
const maxStoredBytes = 1 << 30

// The records that have a thread's settings.
const (
	appliedText = "thread_settings_applied"
	contextText = "turn_context"
)

var errSettings = errors.New("a record of its settings can't be read")

// LastFolder returns the folder in which a thread worked last: that of its stored settings, or the one in which it was
// opened if it has none.
func LastFolder(opened string, settings *rpc.Doc) string {
	if settings == nil {
		return opened
	}
	last, _ := settings.Root().Get("cwd").Text()
	return last
}

// StoredSettings returns the settings that Codex restores for the thread of a rollout file, in the
// form of the threadSettings of thread/settings/updated. They are nil if Codex has recorded none and
// takes its defaults. It is an error if that is not certain. If there is no file, the error is
// fs.ErrNotExist. It stops reading when ctx ends.
//
// Measured with Codex 0.169 and 0.171: the last thread_settings_applied counts, also before later
// turns, and also in a file that the thread's file continues, up to where that part ends. The last
// turn_context counts only without one. Codex skips a line that is no JSON, such as one that it was
// killed while it wrote, and reads a last line without an end.
func StoredSettings(ctx context.Context, codexHome, path string) (*rpc.Doc, error) {
	var turn *rpc.Doc
	part, remaining := &base{path, math.MaxInt64}, int64(maxStoredBytes)
	for range maxBases {
		found, err := part.settings(ctx, codexHome, &remaining)
		if err != nil {
			return nil, err
		}
		if found.applied != nil {
			return converted(convertApplied(found.applied.Root().Get("payload").Get("thread_settings")))
		}
		if turn == nil {
			turn = found.turn
		}
		next, err := part.next(codexHome, found.meta.Root())
		if err != nil {
			return nil, err
		}
		if next == nil && turn != nil {
			return converted(convertContext(turn.Root().Get("payload")))
		}
		if next == nil {
			return nil, nil
		}
		part = next
	}
	return nil, errForks
}

func converted(settings *rpc.Doc) (*rpc.Doc, error) {
	if settings == nil {
		return nil, errSettings
	}
	return settings, nil
}

// settingsRecords are records of a file: its first one, and the last ones with settings, nil if there
// are none.
type settingsRecords struct{ meta, applied, turn *rpc.Doc }

// settings returns the records of the part of a file.
func (b *base) settings(ctx context.Context, codexHome string, remaining *int64) (found settingsRecords, err error) {
	f, err := open(codexHome, b.path)
	if err != nil {
		return found, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, closeText, err := content(f)
	if err != nil {
		return found, err
	}
	defer closeText()
	text = io.MultiReader(contextReader{ctx, text}, strings.NewReader("\n")) // ends a last line without an end
	err = eachLine(text, remaining, func(n int, line []byte) (more bool, err error) {
		if n > 0 && !bytes.Contains(line, []byte(appliedText)) && !bytes.Contains(line, []byte(contextText)) {
			return true, nil
		}
		doc, err := rpc.ParseValue(line)
		switch {
		case err != nil && n > 0 && !json.Valid(line):
			return true, nil
		case err != nil && n == 0:
			return false, errMeta
		case err != nil:
			return false, errSettings
		case n == 0:
			found.meta = doc
			return true, nil
		}
		return b.note(doc, &found)
	})
	if err == nil && found.meta == nil {
		err = errMeta
	}
	return found, err
}

// contextReader reads until ctx ends.
type contextReader struct {
	ctx  context.Context
	text io.Reader
}

// Read implements io.Reader.
func (r contextReader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.text.Read(p)
}

// note keeps a record with settings. more is false if it is behind the part.
func (b *base) note(doc *rpc.Doc, found *settingsRecords) (more bool, err error) {
	record := doc.Root()
	applied := record.Get("type").Is("event_msg") && record.Get("payload").Get("type").Is(appliedText)
	if !applied && !record.Get("type").Is(contextText) {
		return true, nil
	}
	if b.before != math.MaxInt64 {
		at, ok := ordinal(record.Get("ordinal"))
		if !ok {
			return false, errOrdinal
		}
		if at >= b.before {
			return false, nil
		}
	}
	if applied {
		found.applied = doc
	} else {
		found.turn = doc
	}
	return true, nil
}
