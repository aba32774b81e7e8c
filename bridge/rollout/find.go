package rollout

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"codex-bridge/bridge/rules"
	"codex-bridge/rpc"
)

// maxTail is how many bytes of the file's end are searched for a call. Codex asks for an approval
// as soon as the call is made, so the call is in the last lines.
const maxTail = 4 << 20

// Call has the data of the model's call of a command.
type Call struct {
	// Escalation is whether the call asked to run outside the sandbox.
	Escalation rules.Escalation
	// Requested reports that each call of the id has sandbox_permissions require_escalated and
	// only known arguments. Other calls are Escalated to be safe: Codex may run them in the
	// sandbox, without an approval.
	Requested bool
	// Shell is the shell that runs the command, "bash", "zsh" or "sh"; "" if unknown.
	Shell string
	// Flags are the shell's flags if the call has the argument login: "-lc" or "-c". Otherwise
	// they are "", and Codex decides.
	Flags string
}

// FindCall returns the model's call with an id. codexHome is CODEX_HOME, path the rollout file of
// the thread. The zero Call means that it is unknown.
//
// A model may use an id twice. Then all calls must be in the sandbox and have the same shell.
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

// isPlainID reports whether an id has only one spelling in JSON, so that its bytes can be searched
// for.
func isPlainID(id string) bool {
	const maxLen = 256
	for _, c := range []byte(id) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '/' {
			return false
		}
	}
	return id != "" && len(id) <= maxLen
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

// parseCall returns the call in a line, or the zero Call if the line has no call with this id.
func parseCall(line []byte, callID string) Call {
	doc, err := rpc.ParseValue(bytes.TrimRight(line, "\r\n"))
	if err != nil {
		return Call{Escalation: rules.Escalated} // the line contains the id, but is invalid
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
