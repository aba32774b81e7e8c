package handlers

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// patchChange is the change of one file, as in Codex's fileChange item.
type patchChange struct {
	Path string    `json:"path"`
	Kind patchKind `json:"kind"`
	Diff string    `json:"diff"` // the content of a file that is added or deleted
}

type patchKind struct {
	Type string `json:"type"`                // add, delete, update
	Move string `json:"move_path,omitempty"` // the new path of a moved file
}

// legacyFileChanges returns the changes in the format of applyPatchApproval, without
// contents.
func legacyFileChanges(list []patchChange) map[string]any {
	all := make(map[string]any)
	for _, c := range list {
		all[c.Path] = map[string]any{"type": c.Kind.Type, "move_path": orNull(c.Kind.Move)}
	}
	return all
}

// The lines that start the parts of a patch.
const (
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
)

// readBudget limits the bytes read and the lines compared for a patch. A model may name a
// long file many times, and many hunks that are not in it.
type readBudget struct{ bytes, lines int }

// parsePatch returns the changes of a patch to the files under cwd, for display. If the
// budget runs out, the rest is shown as the model wrote it.
func parsePatch(patch, cwd string) []patchChange {
	left := readBudget{bytes: 4 << 20, lines: 4_000_000}
	list := []patchChange{}
	var body []string
	flush := func() {
		if len(list) == 0 {
			return
		}
		last := &list[len(list)-1]
		switch last.Kind.Type {
		case "add":
			last.Diff = addedText(body)
		case "delete":
			last.Diff = strings.Join(left.readLines(last.Path), "\n")
		case "update":
			last.Diff = left.unifiedDiff(body, left.readLines(last.Path))
		}
		body = nil
	}
	begin := func(name, path string) {
		flush()
		list = append(list, patchChange{Path: absolute(path, cwd), Kind: patchKind{Type: name}})
	}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
		// Measured with Codex 0.169: white space around the line does not count, but white space
		// behind a mark belongs to the name.
		switch head := strings.TrimSpace(line); {
		case strings.HasPrefix(head, addFile):
			begin("add", head[len(addFile):])
		case strings.HasPrefix(head, updateFile):
			begin("update", head[len(updateFile):])
		case strings.HasPrefix(head, deleteFile):
			begin("delete", head[len(deleteFile):])
		case strings.HasPrefix(head, moveTo) && len(list) > 0:
			list[len(list)-1].Kind.Move = absolute(head[len(moveTo):], cwd)
		case strings.HasPrefix(head, "*** "):
		default:
			body = append(body, line)
		}
	}
	flush()
	return list
}

// absolute returns the path of a file that a patch names. Measured with Codex 0.169: it drops each
// tab and carriage return in a name.
func absolute(path, cwd string) string {
	if path = strings.NewReplacer("\t", "", "\r", "").Replace(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cwd, path)
}

func addedText(body []string) string {
	var text strings.Builder
	for _, line := range body {
		text.WriteString(strings.TrimPrefix(line, "+") + "\n")
	}
	return text.String()
}

// readLines returns the lines of a regular file, or nil if there is none, it is too long,
// or the budget is used up.
func (l *readBudget) readLines(path string) []string {
	const longest = 1 << 20
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(min(longest, l.bytes)) {
		return nil
	}
	f, err := openFile(path)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, info.Size())) // it may grow meanwhile
	if err != nil {
		return nil
	}
	l.bytes -= len(text)
	return strings.Split(string(text), "\n")
}

// unifiedDiff returns the hunks of an update, with line numbers where they are found in the
// file.
func (l *readBudget) unifiedDiff(body, file []string) string {
	var text strings.Builder
	at, moved := 0, 0
	for len(body) > 0 {
		title := ""
		if strings.HasPrefix(body[0], "@@") {
			title, body = strings.TrimSpace(strings.TrimPrefix(body[0], "@@")), body[1:]
		}
		end := 0
		for end < len(body) && !strings.HasPrefix(body[end], "@@") {
			end++
		}
		hunk := body[:end]
		body = body[end:]
		if title != "" { // the hunk starts after a line with this text
			for i := at; i < len(file) && l.lines > 0; i++ {
				l.lines--
				if strings.TrimSpace(file[i]) == title {
					at = i + 1
					break
				}
			}
		}
		old, grows := oldLines(hunk)
		if start, ok := l.find(file, old, at); ok {
			fmt.Fprintf(&text, "@@ -%d,%d +%d,%d @@\n", start+1, len(old), start+1+moved, len(old)+grows)
			at, moved = start+len(old), moved+grows
		} else {
			text.WriteString("@@\n")
		}
		for _, line := range hunk {
			text.WriteString(line + "\n")
		}
	}
	return text.String()
}

// oldLines returns the lines that a hunk replaces, and by how many lines the file grows.
func oldLines(hunk []string) (old []string, grows int) {
	for _, line := range hunk {
		switch {
		case strings.HasPrefix(line, "+"):
			grows++
		case strings.HasPrefix(line, "-"):
			grows--
			old = append(old, line[1:])
		default:
			old = append(old, strings.TrimPrefix(line, " "))
		}
	}
	return old, grows
}

// find returns the index of the lines in the file from at on. Like Codex, it ignores
// trailing white space.
func (l *readBudget) find(file, old []string, at int) (int, bool) {
	for i := at; i+len(old) <= len(file) && l.lines > 0; i++ {
		l.lines--
		same := true
		for j, line := range old {
			l.lines--
			if strings.TrimRight(file[i+j], " \t\r") != strings.TrimRight(line, " \t\r") {
				same = false
				break
			}
		}
		if same {
			return i, len(file) > 0
		}
	}
	return 0, false
}
