package rollout

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"codex-bridge.example/rpc"
)

// base is the part of another file that a file continues: the records with an ordinal below before.
//
// Measured with Codex 0.169 and 0.171: the file of a fork does not repeat the records of its
// original, nor does the file that Codex writes after thread/revert. The first line of both names the
// earlier file in history_base. Its thread_id is the last id in the name of that file, which after a
// revert is not that of the thread. Ordinals go on from file to file.
type base struct {
	path   string
	before int64
}

const (
	// maxBases is the maximum number of files that one file continues.
	maxBases = 16
	// maxBaseBytes is how many bytes of all these files are read for a setting.
	maxBaseBytes = 256 << 20
)

var errMeta = errors.New("its first line does not describe the thread")

// readBase returns what a file continues, from its first record; nil if it is the whole thread.
func readBase(codexHome string, record rpc.Value) (*base, error) {
	meta := record.Get("payload")
	if !record.Get("type").Is("session_meta") || meta.Kind() != rpc.Object {
		return nil, errMeta
	}
	if from := meta.Get("history_base"); isSet(from) {
		id, isText := from.Get("thread_id").Text()
		return newBase(id, isText, from.Get("end_ordinal_exclusive"), func() (string, error) { return findSegment(codexHome, id) })
	}
	if from := meta.Get("forked_from_id"); isSet(from) {
		id, isText := from.Text()
		return newBase(id, isText, meta.Get("forked_from_ordinal_exclusive"), func() (string, error) { return findFile(codexHome, id) })
	}
	return nil, nil
}

// next returns what the file itself continues, from its first record; nil if nothing.
func (b *base) next(codexHome string, record rpc.Value) (*base, error) {
	next, err := readBase(codexHome, record)
	if next != nil {
		next.before = min(next.before, b.before)
	}
	return next, err
}

func newBase(id string, isText bool, end rpc.Value, find func() (string, error)) (*base, error) {
	if !isText {
		return nil, errMeta
	}
	before, ok := ordinal(end)
	if !ok {
		return nil, fmt.Errorf("it does not state how much of the thread %s it continues", id)
	}
	path, err := find()
	if err != nil {
		return nil, fmt.Errorf("the thread %s that it continues: %w", id, err)
	}
	return &base{path, before}, nil
}

// findSegment finds the rollout file whose name ends with an id. It is an error if there is more than
// one. Codex moves the file of an archived thread.
func findSegment(codexHome, id string) (path string, err error) {
	if codexHome == "" || !threadID().MatchString(id) {
		return "", errNotOne
	}
	found := 0
	for _, folder := range append(dayFolders(codexHome, id), filepath.Join(codexHome, "archived_sessions")) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			continue // no thread was started on that day, or none was archived
		}
		for _, entry := range entries {
			name := strings.TrimSuffix(entry.Name(), compressedSuffix)
			if strings.HasPrefix(name, "rollout-") && (strings.HasSuffix(name, "-"+id+".jsonl") || strings.HasSuffix(name, "_"+id+".jsonl")) {
				path = filepath.Join(folder, entry.Name())
				found++
			}
		}
	}
	if found != 1 {
		return "", errNotOne
	}
	return path, nil
}

// inheritedShell returns the shell that Codex last stated in the files that a file continues; "" if it
// is unknown. Records after the point where the thread branched off do not count.
func inheritedShell(codexHome, path string) string {
	first, err := readFirstLine(codexHome, path)
	if err != nil {
		return ""
	}
	doc, err := rpc.ParseValue(first)
	if err != nil {
		return ""
	}
	from, err := readBase(codexHome, doc.Root())
	remaining := int64(maxBaseBytes)
	for range maxBases {
		if err != nil || from == nil {
			return ""
		}
		var shell string
		var known bool
		if shell, known, from, err = from.shell(codexHome, &remaining); err == nil && known {
			return shell
		}
	}
	return ""
}

// shell returns the shell that Codex last stated in the part of the file, and what the file continues
// itself.
func (b *base) shell(codexHome string, remaining *int64) (shell string, known bool, next *base, err error) {
	f, err := open(codexHome, b.path)
	if err != nil {
		return "", false, nil, err
	}
	defer func() { _ = f.Close() }() // nothing was written
	text, closeText, err := content(f)
	if err != nil {
		return "", false, nil, err
	}
	defer closeText()
	err = eachLine(text, remaining, func(n int, line []byte) (more bool, err error) {
		if n > 0 && !bytes.Contains(line, []byte(worldStateText)) {
			return true, nil
		}
		doc, err := rpc.ParseValue(line)
		if err != nil {
			return false, err
		}
		record := doc.Root()
		if n == 0 {
			next, err = b.next(codexHome, record)
			return err == nil, err
		}
		if !record.Get("type").Is("world_state") {
			return true, nil
		}
		at, ok := ordinal(record.Get("ordinal"))
		if !ok {
			return false, errOrdinal
		}
		if one, is := statedShell(record); is && at < b.before {
			shell, known = one, true
		}
		return at < b.before, nil
	})
	return shell, known, next, err
}

var errOrdinal = errors.New("a record without its number")

// eachLine calls f with each line that Codex has finished, until f returns false or an error. The
// lines have at most *remaining bytes, which eachLine reduces.
func eachLine(text io.Reader, remaining *int64, f func(n int, line []byte) (more bool, err error)) error {
	lines := bufio.NewReaderSize(io.LimitReader(text, *remaining+1), 1<<20)
	for n := 0; ; n++ {
		line, err := lines.ReadBytes('\n')
		if *remaining -= int64(len(line)); *remaining < 0 {
			return errTooLong
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if more, err := f(n, line[:len(line)-1]); err != nil || !more {
			return err
		}
	}
}

var errTooLong = errors.New("it is too long")
