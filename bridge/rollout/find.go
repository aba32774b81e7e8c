package rollout

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sync/semaphore"

	"codex-bridge.example/bridge/rules"
	"codex-bridge.example/rpc"
)

// maxTail is how many bytes of the file's end are read first. More are read if they do not have the
// start of the turn.
const maxTail = 4 << 20

// Call has the data of the model's call of a command.
type Call struct {
	// Escalation is whether the call asked to run outside the sandbox.
	Escalation rules.Escalation
	// Requested reports that each call of the id has sandbox_permissions require_escalated and
	// only known arguments. Other calls are Escalated to be safe: Codex may run them in the
	// sandbox, without an approval.
	Requested bool
	// Command is the command, if the call has only known arguments.
	Command string
	// Shell is the shell that runs the command, "bash", "zsh" or "sh"; "" if unknown.
	Shell string
	// Flags are the shell's flags if the call has the argument login: "-lc" or "-c". Otherwise
	// they are "", and Codex decides.
	Flags string
	// Terminal reports that the command gets a terminal, into which the model can type later.
	Terminal bool
}

// FindCall returns the model's call with an id in a turn, which Codex has recorded before it runs
// the call. codexHome is CODEX_HOME, path the rollout file of the thread. The zero Call means that
// it is unknown: the file does not have exactly one call of the turn with that id, or not all of the
// turn. If one of several is Escalated, so is the result.
//
// The model's provider writes the calls, and outputs besides. So nothing in the file shows that a
// call has ended.
func FindCall(codexHome, path, turn, callID string) Call {
	if codexHome == "" || !filepath.IsAbs(path) || searchText(callID) == "" || turn == "" || searchText(turn) != turn {
		return Call{}
	}
	for size := int64(maxTail); size <= maxSettingsTail; size *= 4 {
		if call, known := findInTail(codexHome, path, turn, callID, size); known {
			return call
		}
	}
	return Call{}
}

// reading bounds the bytes of files that all calls of FindCall have in memory. Hooks of parallel tool
// calls read at the same time.
var reading = semaphore.NewWeighted(maxSettingsTail)

// findInTail is FindCall in the end of a file. It returns false if the turn may start before it.
func findInTail(codexHome, path, turn, callID string, size int64) (call Call, known bool) {
	_ = reading.Acquire(context.Background(), size) // it has no other end
	defer reading.Release(size)
	tail, head, err := readEnds(codexHome, path, size)
	if err != nil {
		return Call{}, true
	}
	whole := head == nil
	lines, ok := turnLines(tail, turn, whole)
	if !ok {
		return Call{}, whole
	}
	text := searchText(callID)
	count, escalated := 0, false
	for line := range bytes.Lines(lines.turn) {
		if !bytes.HasSuffix(line, []byte{'\n'}) {
			count += 2 // Codex is writing this line, which may be another call with the id
		} else if bytes.Contains(line, []byte(text)) {
			if one, isCall := parseCall(line, callID); isCall {
				call, escalated = one, escalated || one.Escalation == rules.Escalated
				count++
			}
		}
	}
	switch {
	case count == 1 && escalated:
		return call, true
	case escalated:
		return Call{Escalation: rules.Escalated}, true
	case count != 1:
		return Call{}, true
	}
	if call.Shell == "" {
		shell, known := defaultShell(lines.before, lines.turn, head)
		if !known {
			shell = inheritedShell(codexHome, path)
		}
		call.Shell = shellName(shell)
	}
	if call.Shell == unknownShell {
		call.Shell = ""
	}
	if call.Shell == "" {
		call.Flags = ""
	}
	return call, true
}

// turnText is the end of a file, split at the start of a turn.
type turnText struct{ before, turn []byte }

// turnLines splits the end of a file at the first line of a turn. It returns
// false if the turn does not start there. whole is whether the end is all of the file.
//
// Codex creates the id of a turn when the turn starts, so no earlier line can have it.
func turnLines(tail []byte, turn string, whole bool) (lines turnText, ok bool) {
	at := 0
	for line := range bytes.Lines(tail) {
		if bytes.Contains(line, []byte(turn)) && (whole || startsTurn(line, turn)) {
			return turnText{tail[:at], tail[at:]}, true
		}
		at += len(line)
	}
	return turnText{}, false
}

// startsTurn reports whether a line is the first one of a turn.
func startsTurn(line []byte, turn string) bool {
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return false
	}
	event := doc.Root().Get("payload")
	return doc.Root().Get("type").Is("event_msg") && event.Get("type").Is("task_started") && event.Get("turn_id").Is(turn)
}

// searchText returns the longest part of an id that has only one spelling in JSON, so that its bytes
// can be searched for; "" if there is none.
func searchText(id string) (longest string) {
	plain := func(c rune) bool {
		return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '-' || c == '_'
	}
	for part := range strings.FieldsFuncSeq(id, func(c rune) bool { return !plain(c) }) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// maxHead is how many bytes of the file's start are read if the end is not the whole file.
const maxHead = 1 << 20

// readEnds returns the end of the file, at most maxBytes and from the start of a line. If that is
// not the whole file it also returns the start.
func readEnds(codexHome, path string, maxBytes int64) (tail, head []byte, err error) {
	f, err := open(codexHome, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	if isCompressed(f) {
		return compressedEnds(f, maxBytes)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	start := max(0, info.Size()-maxBytes)
	tail = make([]byte, info.Size()-start)
	if _, err := io.ReadFull(io.NewSectionReader(f, start, int64(len(tail))), tail); err != nil {
		return nil, nil, err
	}
	if start > 0 {
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
		head = make([]byte, min(start, maxHead))
		if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(len(head))), head); err != nil {
			return nil, nil, err
		}
	}
	return tail, head, nil
}

var errForeign = errors.New("not a rollout file of codex")

// sessionFolders are the folders of CODEX_HOME in which Codex records threads.
var sessionFolders = [...]string{"sessions", "archived_sessions"}

// open opens a regular file below Codex's session folders, after resolving links. It does not block
// on pipes and other special files. If there is no such file, open tries the file's other name: see
// compressedSuffix. If there is neither, the error is fs.ErrNotExist.
func open(codexHome, path string) (*os.File, error) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, name := range sessionFolders {
		at, err := filepath.EvalSymlinks(filepath.Join(codexHome, name))
		if err != nil {
			continue
		}
		below, err := filepath.Rel(at, folder)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		file := filepath.Join(below, filepath.Base(path))
		f, err := openIn(at, file)
		if errors.Is(err, fs.ErrNotExist) {
			f, err = openIn(at, otherForm(file))
		}
		return f, err
	}
	return nil, errForeign
}

func openIn(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errForeign
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was written
		return nil, errForeign
	}
	return f, nil
}

// parseCall returns the call with an id in a line that may contain the id; false if the line has no
// call with it.
func parseCall(line []byte, callID string) (call Call, isCall bool) {
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return Call{Escalation: rules.Escalated}, true // it is not valid
	}
	item := doc.Root().Get("payload")
	if !doc.Root().Get("type").Is("response_item") || !item.Get("call_id").Is(callID) {
		return Call{}, false
	}
	switch kind, _ := item.Get("type").Text(); kind {
	case "function_call_output", "custom_tool_call_output":
		return Call{}, false
	case "function_call":
		if call, ok := readCall(item); ok {
			return call, true
		}
	}
	return Call{Escalation: rules.Escalated}, true
}
