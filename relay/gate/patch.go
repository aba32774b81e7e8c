package gate

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// change is one file of a patch, as Codex shows it in an item.
type change struct {
	Path string `json:"path"`
	Kind kind   `json:"kind"`
	Diff string `json:"diff"` // of a file that is added or deleted, its content
}

type kind struct {
	Type string `json:"type"`                // add, delete, update
	Move string `json:"move_path,omitempty"` // of an update: where it goes
}

// files returns the files of a patch by their paths, in the form of a legacy approval, without their
// contents.
func files(list []change) map[string]any {
	all := make(map[string]any)
	for _, c := range list {
		all[c.Path] = map[string]any{"type": c.Kind.Type, "move_path": orNull(c.Kind.Move)}
	}
	return all
}

// The lines that begin the parts of a patch.
const (
	addFile    = "*** Add File: "
	updateFile = "*** Update File: "
	deleteFile = "*** Delete File: "
	moveTo     = "*** Move to: "
)

// look is what may still be read and compared for a patch: a model may name a long file any
// number of times, and any number of hunks that are not in it.
type look struct{ bytes, lines int }

// changes are what a patch does to the files under cwd, for a person to look at. Of one that
// takes too much to look at, the rest is shown as the model wrote it.
func changes(patch, cwd string) []change {
	left := look{bytes: 4 << 20, lines: 4_000_000}
	list := []change{}
	var body []string
	flush := func() {
		if len(list) == 0 {
			return
		}
		last := &list[len(list)-1]
		switch last.Kind.Type {
		case "add":
			last.Diff = added(body)
		case "delete":
			last.Diff = strings.Join(left.file(last.Path), "\n")
		case "update":
			last.Diff = left.unified(body, left.file(last.Path))
		}
		body = nil
	}
	begin := func(name, path string) {
		flush()
		list = append(list, change{Path: absolute(path, cwd), Kind: kind{Type: name}})
	}
	for line := range strings.Lines(patch) {
		line = strings.TrimRight(line, "\r\n")
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

func absolute(path, cwd string) string {
	if path = strings.TrimSpace(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(cwd, path)
}

func added(body []string) string {
	var text strings.Builder
	for _, line := range body {
		text.WriteString(strings.TrimPrefix(line, "+") + "\n")
	}
	return text.String()
}

// file are the lines of a file that is there to look at; nil where there is none. What is
// no plain file, or a long one, is not read.
func (l *look) file(path string) []string {
	const longest = 1 << 20
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > int64(min(longest, l.bytes)) {
		return nil
	}
	f, err := open(path)
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

// unified is the body of an update with the numbers of the lines, as far as its hunks
// are found in the file.
func (l *look) unified(body, file []string) string {
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
		if title != "" { // the hunk lies behind a line that reads so
			for i := at; i < len(file) && l.lines > 0; i++ {
				l.lines--
				if strings.TrimSpace(file[i]) == title {
					at = i + 1
					break
				}
			}
		}
		old, grows := before(hunk)
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

// before is what a hunk wants to find, and by how many lines it makes the file longer.
func before(hunk []string) (old []string, grows int) {
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

// find is where the lines stand in the file from at on. Codex does not regard white
// space at their ends, either.
func (l *look) find(file, old []string, at int) (int, bool) {
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
