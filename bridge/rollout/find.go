package rollout

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// most is how much of the file's end is looked at. A call is asked about as soon as
// it is made, so that it is among the last lines.
const most = 4 << 20

// Find says whether the model asked for the call of that id to run outside of the
// sandbox. codexHome is CODEX_HOME, path the rollout file of the thread.
//
// A model may use an id twice: all the calls that have it must be plain.
func Find(codexHome, path, callID string) rules.Escalation {
	if codexHome == "" || !filepath.IsAbs(path) || !plainID(callID) {
		return rules.EscalationUnknown
	}
	tail, err := read(codexHome, path)
	if err != nil {
		return rules.EscalationUnknown
	}
	found := rules.EscalationUnknown
	for line := range bytes.Lines(tail) {
		if !bytes.Contains(line, []byte(callID)) {
			continue
		}
		switch judge(line, callID) {
		case rules.Escalated:
			return rules.Escalated
		case rules.Sandboxed:
			found = rules.Sandboxed
		}
	}
	return found
}

// plainID tells whether an id is written in one way only, so that its bytes can be
// looked for.
func plainID(id string) bool {
	const longest = 256
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '/' {
			return false
		}
	}
	return id != "" && len(id) <= longest
}

// read is the end of the file, from the start of a line on.
func read(codexHome, path string) ([]byte, error) {
	f, err := open(codexHome, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errForeign
	}
	start := max(0, info.Size()-most)
	tail := make([]byte, info.Size()-start)
	if _, err := io.ReadFull(io.NewSectionReader(f, start, int64(len(tail))), tail); err != nil {
		return nil, err
	}
	if start > 0 {
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	return tail, nil
}

var errForeign = errors.New("not a rollout file of codex's own")

// open opens a file below codex's folders of sessions, and no other, wherever links
// lead. Anything but a file is not waited for.
func open(codexHome, path string) (*os.File, error) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	for _, name := range [...]string{"sessions", "archived_sessions"} {
		at, err := filepath.EvalSymlinks(filepath.Join(codexHome, name))
		if err != nil {
			continue
		}
		below, err := filepath.Rel(at, folder)
		if err != nil || !filepath.IsLocal(below) {
			continue
		}
		return openIn(at, filepath.Join(below, filepath.Base(path)))
	}
	return nil, errForeign
}

func openIn(folder, name string) (*os.File, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written
	if info, err := root.Lstat(name); err != nil || !info.Mode().IsRegular() {
		return nil, errForeign
	}
	return root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// judge says what a line makes of the call: unknown where it does not speak of it.
func judge(line []byte, callID string) rules.Escalation {
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return rules.Escalated // a line that names the call and can't be read
	}
	item := doc.Root().Get("payload")
	if !doc.Root().Get("type").Is("response_item") || !item.Get("call_id").Is(callID) {
		return rules.EscalationUnknown
	}
	switch kind, _ := item.Get("type").Text(); kind {
	case "function_call_output", "custom_tool_call_output":
		return rules.EscalationUnknown
	case "function_call":
		if plainCall(item) {
			return rules.Sandboxed
		}
	}
	return rules.Escalated
}
