package answer

import (
	"fmt"
	"unicode/utf8"

	"codex-bridge.example/bridge/display"
	"codex-bridge.example/rpc"
)

// maxDiffs bounds the diffs that PatchLines shows, in bytes.
const maxDiffs = 64 << 10

// PatchLines returns the lines that show what a patch changes: of each file the kind of the change, its path, its new
// path, and its diff. changes are those of an item fileChange. The diffs of a long patch are cut, and the lines say so.
func PatchLines(changes rpc.Value) []string {
	lines := []string{}
	room := maxDiffs
	for change := range changes.Elements() {
		path, _ := change.Get("path").Text()
		kind := change.Get("kind")
		what, _ := kind.Get("type").Text()
		lines = append(lines, fileVerb(what)+display.Exact(path))
		if to := kind.Get("move_path"); to.Exists() && to.Kind() != rpc.Null {
			lines = append(lines, "Move it to: "+display.Exact(plain(to)))
		}
		diff, _ := change.Get("diff").Text()
		shown := display.Start(diff, room)
		room -= len(shown)
		if shown != "" {
			lines = append(lines, display.Block(shown)...)
		}
		if hidden := utf8.RuneCountInString(diff[len(shown):]); hidden > 0 {
			lines = append(lines, fmt.Sprintf("(+%d more characters of this change, which are not shown)", hidden))
		}
	}
	if len(lines) == 0 {
		return []string{"Changes: not known"}
	}
	return lines
}

// fileVerb names the kind of a change in front of its path.
func fileVerb(kind string) string {
	switch kind {
	case "add":
		return "Add file: "
	case "delete":
		return "Delete file: "
	case "update":
		return "Update file: "
	}
	return "Change file (" + display.Exact(kind) + "): "
}
