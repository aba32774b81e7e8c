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
const maxTail = 4 << 20

// Call is what the model's own call of a command says.
type Call struct {
	// Escalation says whether it asked to run outside of the sandbox.
	Escalation rules.Escalation
	// Requested reports that each call of the id has sandbox_permissions require_escalated,
	// and no argument that is not known here. Other calls are Escalated for safety only:
	// Codex may run them inside of the sandbox, without a question.
	Requested bool
	// Shell is the name of the shell that runs it, "bash", "zsh" or "sh"; "" unknown.
	Shell string
	// Flags are what the call says of login shells: "-lc", "-c", or "" where it leaves
	// that to Codex.
	Flags string
}

// Find returns what the model's call of that id says. codexHome is CODEX_HOME, path the
// rollout file of the thread.
//
// A model may use an id twice: all the calls that have it must be plain, and name one
// shell.
func FindCall(codexHome, path, callID string) Call {
	if codexHome == "" || !filepath.IsAbs(path) || !isPlainID(callID) {
		return Call{}
	}
	tail, head, err := readEnds(codexHome, path, maxTail)
	if err != nil {
		return Call{}
	}
	found, escalated, doubtful := Call{}, false, false
	usual, known := "", false
	for line := range bytes.Lines(tail) {
		if bytes.Contains(line, []byte(`"world_state"`)) {
			if shell, ok := defaultShell(line); ok {
				usual, known = shell, true
			}
		}
		if !bytes.Contains(line, []byte(callID)) {
			continue
		}
		switch one := parseCall(line, callID); {
		case one.Escalation == rules.Escalated:
			escalated, doubtful = true, doubtful || !one.Requested
		case one.Escalation == rules.EscalationUnknown:
		case found.Escalation == rules.EscalationUnknown:
			found = one
		case found != one:
			found.Shell, found.Flags = unknownShell, ""
		}
	}
	if escalated {
		return Call{Escalation: rules.Escalated, Requested: !doubtful && found.Escalation == rules.EscalationUnknown}
	}
	if found.Shell == "" && !known {
		for line := range bytes.Lines(head) {
			if shell, ok := defaultShell(line); ok {
				usual = shell
			}
		}
	}
	switch found.Shell {
	case "":
		if found.Escalation != rules.EscalationUnknown {
			found.Shell = shellName(usual)
		}
	case unknownShell:
		found.Shell = ""
	}
	if found.Shell == "" {
		found.Flags = ""
	}
	return found
}

// plainID tells whether an id is written in one way only, so that its bytes can be
// looked for.
func isPlainID(id string) bool {
	const maxLen = 256
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '/' {
			return false
		}
	}
	return id != "" && len(id) <= maxLen
}

// beginning is how much of the file's beginning is read where the end is not all of it.
const maxHead = 1 << 20

// read returns the end of the file, at most that many bytes, from the start of a line on,
// and the beginning if that is not in it.
func readEnds(codexHome, path string, maxBytes int64) (tail, head []byte, err error) {
	f, err := open(codexHome, path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errForeign
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

// judge says what a line makes of the call: the zero Call where it does not speak of it.
func parseCall(line []byte, callID string) Call {
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return Call{Escalation: rules.Escalated} // a line that names the call and can't be read
	}
	item := doc.Root().Get("payload")
	if !doc.Root().Get("type").Is("response_item") || !item.Get("call_id").Is(callID) {
		return Call{}
	}
	switch kind, _ := item.Get("type").Text(); kind {
	case "function_call_output", "custom_tool_call_output":
		return Call{}
	case "function_call":
		if call, ok := readCall(item); ok {
			return call
		}
	}
	return Call{Escalation: rules.Escalated}
}
