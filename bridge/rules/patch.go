package rules

import (
	"slices"
	"strings"
	"unicode"
)

// patchStart is the first line of a patch.
const patchStart = "*** Begin Patch"

// patchMarks are the starts of the lines that name a file in a patch. Lines of file content start
// with a blank, + or -.
var patchMarks = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

// PatchedFiles returns the files that a patch names, as the patch spells them. An empty name stands
// for any file: the patch has a name that Codex may read differently.
//
// Measured with Codex 0.169: white space behind a mark belongs to the name, so "*** Add File:  /x",
// with two blanks, is a relative path. White space at the end does not. Codex drops each tab and
// carriage return in a name: .git<tab>hub is .github, and .<tab>./x is ../x.
func PatchedFiles(patch string) []string {
	var files []string
	for line := range strings.Lines(patch) {
		line = strings.TrimLeftFunc(strings.TrimRight(line, "\r\n"), unicode.IsSpace)
		for _, mark := range patchMarks {
			if file, ok := strings.CutPrefix(line, mark); ok {
				if !isPlainFileName(file) {
					file = ""
				}
				files = append(files, file)
			}
		}
	}
	return files
}

// isPlainFileName reports whether every reader of a patch takes a name as it is spelled.
func isPlainFileName(name string) bool {
	return name == strings.TrimSpace(name) && !strings.ContainsFunc(name, unicode.IsControl)
}

// AppliesPatch reports whether Codex may take a patch out of a command line and apply it. Measured
// with Codex 0.169: applypatch is another name of apply_patch.
func AppliesPatch(line string) bool {
	return strings.Contains(line, patchStart) && namesApplyPatch(line)
}

func namesApplyPatch(line string) bool {
	unquoted := unquote.Replace(line)
	return strings.Contains(unquoted, "apply_patch") || strings.Contains(unquoted, "applypatch") || strings.Contains(unquoted, runAsPatchFlag)
}

// LineCache keeps the command line that was read last. Its zero value is empty. It belongs to one goroutine.
type LineCache struct {
	command, shell, cwd, home string
	line                      *line // nil: none was read
}

// readLine reads a command line for a shell, or returns a copy of the line that dirs.Lines has.
func readLine(command, shell string, dirs Dirs) *line {
	c := dirs.Lines
	if c == nil {
		return readNewLine(command, shell, dirs)
	}
	if c.line == nil || c.command != command || c.shell != shell || c.cwd != dirs.Cwd || c.home != dirs.Home {
		*c = LineCache{command, shell, dirs.Cwd, dirs.Home, readNewLine(command, shell, dirs)}
	}
	l := *c.line // what was read does not change any more
	l.relFolder = newLine(dirs).relFolder
	return &l
}

// readNewLine reads a command line for a shell. Codex takes a patch out of a line by its own reading of
// the text, so the files that the text names count besides those that the shell passes on.
func readNewLine(command, shell string, dirs Dirs) *line {
	r := reader{line: newLine(dirs)}
	r.line.hasPatch = strings.Contains(command, patchStart)
	r.line.nodes = r.readText(command, readContext{shell: dialectOf(shell)})
	r.line.finish(command)
	if AppliesPatch(command) {
		for _, file := range PatchedFiles(command) {
			r.line.addPatched(file)
		}
	}
	if r.line.incomplete && namesApplyPatch(command) {
		r.line.addPatched("") // the reader may not see the patch
	}
	return r.line
}

// changesFolderOfPatch reports whether Codex may apply a patch in another folder than that of the
// line. Codex also reads cd where a shell does not, as in "cd<vertical tab>sub".
func changesFolderOfPatch(command string) bool {
	head := command[:max(strings.LastIndex(command, patchStart), 0)]
	return AppliesPatch(command) && strings.Contains(unquote.Replace(head), "cd")
}

// runAsPatchFlag makes Codex's program apply the patch in the next word.
const runAsPatchFlag = "--codex-run-as-apply-patch"

// recordPatch records the files that a command changes by a patch. A patch that is not fully known
// changes any file. A command with an unknown name counts as apply_patch if its line has a patch.
func (r *reader) recordPatch(n *node, c readContext) {
	name, runsAs := &n.words[0], c.stdin != nil && *c.stdin == runAsPatchFlag
	for i := range n.words {
		w := &n.words[i]
		runsAs = runsAs || w.text == runAsPatchFlag || w.prefix == runAsPatchFlag || w.suffix == runAsPatchFlag
	}
	applies := name.kind == known && (name.key() == "apply_patch" || name.key() == "applypatch") || runsAs
	if !applies && (name.kind == known || !r.line.hasPatch) {
		return
	}
	var texts, files []string
	for i := range n.words {
		texts = append(texts, n.words[i].text, n.words[i].prefix, n.words[i].suffix)
	}
	if c.stdin != nil {
		texts = append(texts, *c.stdin)
	}
	for _, text := range texts {
		files = append(files, PatchedFiles(text)...)
	}
	for _, file := range files {
		r.line.addPatched(file)
	}
	if !n.allKnown && applies || runsAs || len(files) == 0 {
		r.line.addPatched("")
	}
}

// addPatched records a file that a patch changes, or any file for an empty name. It records each
// file once, because the patch may be read in several ways.
func (l *line) addPatched(file string) {
	w := fileAccess{text: "a patch of " + file, target: literal(file)}
	if file == "" {
		w = fileAccess{text: "a patch that can't be read", target: word{kind: unknownWords}}
		l.changesAny = true
	}
	if !slices.ContainsFunc(l.accesses, func(other fileAccess) bool { return other.text == w.text }) {
		l.addAccess(w)
	}
}
