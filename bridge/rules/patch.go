package rules

import (
	"slices"
	"strings"
)

// patchMarks begin the lines of a patch that name a file. The lines of its content begin with a
// blank, + or -.
var patchMarks = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

// PatchedFiles returns the files that a patch names, as it spells them.
func PatchedFiles(patch string) []string {
	var files []string
	for line := range strings.Lines(patch) {
		line = strings.TrimSpace(line)
		for _, mark := range patchMarks {
			if file, ok := strings.CutPrefix(line, mark); ok {
				files = append(files, strings.TrimSpace(file))
			}
		}
	}
	return files
}

// asPatcher has Codex's own program apply the patch in the next word.
const asPatcher = "--codex-run-as-apply-patch"

// patch notes the files that a command changes by a patch. A patch that can't be read changes any
// file. A command whose name is not known is taken for apply_patch if it is given a patch.
func (r *reader) patch(n *node, c context) {
	texts := make([]string, 0, len(n.words))
	for i := range n.words {
		texts = append(texts, n.words[i].text, n.words[i].pre, n.words[i].suf)
	}
	if c.stdin != nil {
		texts = append(texts, *c.stdin)
	}
	name := &n.words[0]
	applies := name.kind == known && (name.key() == "apply_patch" || name.key() == "applypatch") || slices.Contains(texts, asPatcher)
	if !applies && (name.kind == known || !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, "*** Begin Patch") })) {
		return
	}
	known := n.literal && !slices.Contains(texts, asPatcher)
	var files []string
	for _, text := range texts {
		files = append(files, PatchedFiles(text)...)
	}
	for _, file := range files {
		r.line.write(write{text: "a patch of " + file, target: literal(file)})
	}
	if !known || len(files) == 0 {
		r.line.write(write{text: "a patch that can't be read", target: word{kind: many}})
	}
}
